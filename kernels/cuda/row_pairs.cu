// row_dots, row_distances and the backward of the latter. Contract: f16 and bf16 are widened to f32, with sums in f64
// over groups of 8 f32 terms; f64 in f64. Each result is rounded once. Deterministic.
#include "kernels/compute.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rows.h"
#include "tandem/math/distance.h"

namespace tandem::cuda {
namespace {

using math::Pair;

constexpr int kPairThreads = 256;

/// One result per row.
struct PairResults {
  void* data;
  DType dtype;
  explicit PairResults(const Tensor& y) : data(y.raw_bytes()), dtype(y.dtype()) {}
};

template <Pair kPair, class C, bool kColumns>
__global__ void __launch_bounds__(kPairThreads, 2)
    fold_pairs(Geometry<3> others, int64_t length, RowsOf a, RowsOf b, bool packed, PairResults y, double p) {
  using G = Group<kColumns>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const int64_t n = k < others.numel ? length : 0;  // threads without a row still take part in the folds
    int64_t at[3] = {0, 0, 0};
    if (k < others.numel) others.offsets(k, at);
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += int64_t{kPerThread} * G::width()) {
      const Share<kColumns> share{begin, n, packed};
      C left[kPerThread], right[kPerThread];
      share.load(a.data, a.dtype, left, [&](int64_t i) { return at[0] + i * a.stride; });
      share.load(b.data, b.dtype, right, [&](int64_t i) { return at[1] + i * b.stride; });
      C part = 0;
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) {
        const C term = math::pair_term<kPair>(left[e], right[e], static_cast<C>(p));
        if (share.has(e)) part = math::combine_pair<kPair>(part, term);
      }
      if (std::is_same_v<C, float> && !math::is_exact_pair<kPair>(static_cast<double>(part))) {
        for (int e = 0; e < kPerThread; ++e) {
          const double term = math::pair_term<kPair>(static_cast<double>(left[e]), static_cast<double>(right[e]), p);
          if (share.has(e)) total = math::combine_pair<kPair>(total, term);
        }
        continue;
      }
      total = math::combine_pair<kPair>(total, static_cast<double>(part));
    }
    total = G::fold(total, [](double u, double v) { return math::combine_pair<kPair>(u, v); });
    if (k < others.numel && G::thread() == 0) store<double>(y.data, y.dtype, at[2], math::finish_pair<kPair>(total, p));
  }
}

template <Pair kPair, class C>
__global__ void __launch_bounds__(kPairThreads, 2)
    distance_gradients(Geometry<5> others, int64_t length, RowsOf gy, RowsOf distance, RowsOf a, RowsOf b,
                       PairResults ga, double p) {
  using G = Group<false>;
  for (int64_t first = G::first_row(); first < others.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const int64_t n = k < others.numel ? length : 0;
    int64_t at[5] = {0, 0, 0, 0, 0};
    if (k < others.numel) others.offsets(k, at);
    double total = 0;
    for (int64_t i = G::thread(); i < n; i += G::width()) {
      const C d = load<C>(a.data, a.dtype, at[2] + i * a.stride) - load<C>(b.data, b.dtype, at[3] + i * b.stride);
      const C slope = math::distance_slope<kPair>(
          d, load<C>(distance.data, distance.dtype, at[1] + i * distance.stride), static_cast<C>(p));
      total += static_cast<double>(load<C>(gy.data, gy.dtype, at[0] + i * gy.stride) * slope);
    }
    total = G::sum(total);
    if (k < others.numel && G::thread() == 0) store<double>(ga.data, ga.dtype, at[4], total);
  }
}

/// Calls f with the pair as a type's constant.
template <class F>
void visit_pair(Pair pair, F f) {
  switch (pair) {
    case Pair::dot:
      return f(std::integral_constant<Pair, Pair::dot>());
    case Pair::count:
      return f(std::integral_constant<Pair, Pair::count>());
    case Pair::sum:
      return f(std::integral_constant<Pair, Pair::sum>());
    case Pair::squares:
      return f(std::integral_constant<Pair, Pair::squares>());
    case Pair::largest:
      return f(std::integral_constant<Pair, Pair::largest>());
    case Pair::powers:
      return f(std::integral_constant<Pair, Pair::powers>());
  }
}

/// Whether the elements of a row are apart in memory, so that threads should work on adjacent rows instead.
bool is_apart(const Tensor& x, int64_t dim) { return x.dim() > 1 && x.strides()[static_cast<size_t>(dim)] > 1; }

void run_fold(const Tensor& y, const Tensor& a, const Tensor& b, int64_t dim, Pair pair, double p) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const RowPlan<3> plan({&a, &b, &y}, dim, 1);
  const bool apart = plan.n > 1 && is_apart(a, dim) && is_apart(b, dim);
  const GroupShape shape = make_group_shape(plan.others.numel, plan.n, apart, kPairThreads);
  visit_pair(pair, [&](auto kind) {
    kernels::visit_floating_compute(promote_types(a.dtype(), b.dtype()), [&]<class C>(C) {
      const auto kernel = apart ? fold_pairs<kind.value, C, true> : fold_pairs<kind.value, C, false>;
      launch(kernel, launch_of(shape), plan.others, plan.n, RowsOf(a, dim), RowsOf(b, dim), plan.packed && !apart,
             PairResults(y), p);
    });
  });
}

}  // namespace

void row_dots(const Tensor& y, const Tensor& a, const Tensor& b, int64_t dim) { run_fold(y, a, b, dim, Pair::dot, 0); }

void row_distances(const Tensor& y, const Tensor& a, const Tensor& b, int64_t dim, double p) {
  run_fold(y, a, b, dim, math::distance_pair(p), p);
}

void row_distances_backward(const Tensor& ga, const Tensor& gy, const Tensor& distance, const Tensor& a,
                            const Tensor& b, int64_t dim, double p) {
  if (ga.numel() == 0) return;
  const DeviceGuard on(ga.device());
  const RowPlan<5> plan({&gy, &distance, &a, &b, &ga}, dim, 1);
  const GroupShape shape = make_group_shape(plan.others.numel, plan.n, false, kPairThreads);
  visit_pair(math::distance_pair(p), [&](auto kind) {
    kernels::visit_floating_compute(plan.f64 ? DType::F64 : DType::F32, [&]<class C>(C) {
      launch(distance_gradients<kind.value, C>, launch_of(shape), plan.others, plan.n, RowsOf(gy, dim),
             RowsOf(distance, dim), RowsOf(a, dim), RowsOf(b, dim), PairResults(ga), p);
    });
  });
}

}  // namespace tandem::cuda
