// reduce, var_mean. Contract as on the CPU: sums of f16, bf16 and f32 are in f64 over groups of 8 f32 terms (products,
// squares and sums beyond the range of f32 in f64 throughout), of f64 in f64, of integers in i64 (wrapping); each
// result is rounded once. max, min and norm_inf: NaN wins. Without terms: 0 for sums and norms, 1 for prod, NaN for
// mean. Deterministic.
//
// Why not math::Sum: squares of f32 terms, and f32 terms that later cancel, exceed the range of f32.
#include "kernels/compute.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce_plan.h"
#include "kernels/fold.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

using kernels::Accumulator;
using kernels::combine;
using kernels::Fold;

/// Whether the terms that a thread reads at a time are combined in the accumulator's type rather than in C.
template <class Op, class C>
inline constexpr bool kWideLane = std::is_same_v<Op, math::fold::prod> || std::is_same_v<Op, math::fold::sum_squares> ||
                                  std::is_same_v<Op, math::fold::squared_deviation>;

/// Combines `result` with the terms v for which has(e) holds.
template <class Op, class C, class Has>
__device__ __forceinline__ Accumulator<C> add_terms(Accumulator<C> result, const C (&v)[kPerThread],
                                                    Accumulator<C> shift, Has has) {
  using Lane = std::conditional_t<kWideLane<Op, C>, Accumulator<C>, C>;
  const Lane lane_shift = static_cast<Lane>(shift);
  Lane lane = Op::map(Op::padding(lane_shift), lane_shift);
#pragma unroll
  for (int e = 0; e < kPerThread; ++e) {
    if (has(e)) lane = Op::combine(lane, Op::map(static_cast<Lane>(v[e]), lane_shift));
  }
  if constexpr (!std::is_same_v<Lane, Accumulator<C>>) {
    if (!(lane - lane == 0)) {  // the sum may be beyond the range of f32
      for (int e = 0; e < kPerThread; ++e) {
        if (has(e)) result = Op::combine(result, Op::map(static_cast<Accumulator<C>>(v[e]), shift));
      }
      return result;
    }
  }
  return Op::combine(result, static_cast<Accumulator<C>>(lane));
}

/// The final operation on an output's accumulator.
enum class Finish : uint8_t { none, divide, root };

struct Sink {
  void* y;
  DType dtype;
  Finish finish = Finish::none;
  double divisor = 1;
  double* exact = nullptr;  ///< optional, [outputs]: the values before rounding to y's dtype

  template <class A>
  __device__ void put(int64_t output, int64_t offset, A value) const {
    if (finish == Finish::none) return store<A>(y, dtype, offset, value);
    const double v = static_cast<double>(value);
    const double finished = finish == Finish::divide ? v / divisor : math::sqrt(v);
    if (exact) exact[output] = finished;
    store<double>(y, dtype, offset, finished);
  }
};

/// Folds the terms of each output, or one chunk of them into `partial` [outputs, splits]. The fold is selected at run
/// time, once for many terms: one kernel per fold would take minutes to compile. Here and below, the second bound keeps
/// the compiler from making room for more blocks and spilling registers on compute capability 10 and 12.
template <class C, bool kColumns>
__global__ void __launch_bounds__(256, 1)
    fold_terms(Fold fold, Geometry<2> kept, Geometry<1> reduced, const void* x, DType dtype, bool packed, int64_t chunk,
               const Accumulator<C>* shifts, Accumulator<C>* partial, Sink sink) {
  using G = Group<kColumns>;
  using A = Accumulator<C>;
  const int64_t begin = int64_t{blockIdx.y} * chunk, end = min(reduced.numel, begin + chunk);
  const int64_t step = int64_t{kPerThread} * G::width();
  for (int64_t first = G::first_row(); first < kept.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    const bool is_output = k < kept.numel;
    int64_t at[2] = {0, 0};
    if (is_output) kept.offsets(k, at);
    const A shift = shifts && is_output ? shifts[k] : A(0);
    A result = kernels::fold_of_nothing(fold, shift);
    for (int64_t i = begin; is_output && i < end; i += step) {
      const Share<kColumns> share{i, end, packed};
      C v[kPerThread];
      share.template load<Dtypes::all>(x, dtype, v, [&](int64_t term) {
        int64_t offset[1];
        reduced.offsets(term, offset);
        return at[0] + offset[0];
      });
      switch (fold) {
#define TANDEM_CASE(NAME)                                                                           \
  case Fold::NAME:                                                                                  \
    result = add_terms<math::fold::NAME, C>(result, v, shift, [&](int e) { return share.has(e); }); \
    break;
        TANDEM_FOLDS(TANDEM_CASE)
#undef TANDEM_CASE
      }
    }
    result = G::fold(result, [fold](A a, A b) { return combine(fold, a, b); });
    if (!is_output || G::thread() != 0) continue;
    if (partial) {
      partial[k * gridDim.y + blockIdx.y] = result;
    } else {
      sink.put(k, at[1], result);
    }
  }
}

/// Folds partial [outputs, splits], one warp per output.
template <class C>
__global__ void __launch_bounds__(256, 4)
    fold_partial(Fold fold, Geometry<2> kept, int64_t splits, const Accumulator<C>* partial, Sink sink) {
  using G = Group<false>;
  using A = Accumulator<C>;
  for (int64_t first = G::first_row(); first < kept.numel; first += G::row_step()) {
    const int64_t k = first + G::row();
    A result = kernels::fold_of_nothing(fold, A(0));
    for (int64_t s = G::thread(); k < kept.numel && s < splits; s += G::width())
      result = combine(fold, result, partial[k * splits + s]);
    result = G::fold(result, [fold](A a, A b) { return combine(fold, a, b); });
    if (k >= kept.numel || G::thread() != 0) continue;
    int64_t at[2];
    kept.offsets(k, at);
    sink.put(k, at[1], result);
  }
}

template <class C>
void fold_tensor(Fold fold, const Tensor& x, const ReducePlan<2>& plan, const Accumulator<C>* shifts,
                 const Sink& sink) {
  using A = Accumulator<C>;
  const int64_t terms = plan.reduced.numel, outputs = plan.kept.numel;
  const GroupShape shape = split_rows(make_group_shape(outputs, terms, plan.columns), terms);
  const bool packed = !plan.columns && plan.in_runs_of(kPerThread) && is_aligned(x);
  Tensor partial;
  if (shape.splits > 1) partial = empty({outputs * shape.splits}, TensorOptions(dtype_of<A>).device(x.device()));
  A* const partial_data = partial.defined() ? partial.raw<A>() : nullptr;
  const auto kernel = plan.columns ? fold_terms<C, true> : fold_terms<C, false>;
  launch(kernel, launch_of(shape), fold, plan.kept, plan.reduced, x.raw_bytes(), x.dtype(), packed, shape.chunk, shifts,
         partial_data, sink);
  if (!partial_data) return;
  const GroupShape warps = make_group_shape(outputs, 32 * kPerThread, false);
  launch(fold_partial<C>, launch_of(warps), fold, plan.kept, shape.splits, partial_data, sink);
}

}  // namespace

void reduce(const Tensor& y, Reduction op, const Tensor& x) {
  if (y.numel() == 0) return;
  const DeviceGuard on(x.device());
  const ReducePlan<2> plan = make_reduce_plan<2>(x, {&y});
  Sink sink{y.raw_bytes(), y.dtype()};
  if (op == Reduction::norm2) sink.finish = Finish::root;
  if (kernels::is_mean(op)) sink.finish = Finish::divide;
  sink.divisor = static_cast<double>(plan.reduced.numel);
  kernels::visit_compute(kernels::compute_type(kernels::operands_of(op, x.dtype(), y.dtype())),
                         [&](auto zero) { fold_tensor<decltype(zero)>(kernels::fold_of(op), x, plan, nullptr, sink); });
}

void var_mean(const Tensor& var, const Tensor& mean, const Tensor& x, double correction) {
  if (var.numel() == 0) return;
  const DeviceGuard on(x.device());
  // Two passes: the mean, then the squared deviations from it. Both plans number the outputs in the same way.
  const ReducePlan<2> mean_plan = make_reduce_plan<2>(x, {&mean}), var_plan = make_reduce_plan<2>(x, {&var});
  const double n = static_cast<double>(var_plan.reduced.numel);
  const Tensor means = empty({var.numel()}, TensorOptions(kDouble).device(x.device()));
  const Sink mean_sink{mean.raw_bytes(), mean.dtype(), Finish::divide, n, means.raw<double>()};
  const Sink var_sink{var.raw_bytes(), var.dtype(), Finish::divide, std::max(0.0, n - correction)};
  const auto run = [&](auto zero) {
    using C = decltype(zero);
    fold_tensor<C>(Fold::sum, x, mean_plan, nullptr, mean_sink);
    fold_tensor<C>(Fold::squared_deviation, x, var_plan, means.raw<double>(), var_sink);
  };
  x.dtype() == DType::F64 ? run(double{}) : run(float{});
}

}  // namespace tandem::cuda
