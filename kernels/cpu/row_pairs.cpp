// row_dots, row_distances and the backward of the latter. Contract: f16 and bf16 are widened to f32, with sums in f64
// over blocks of f32 terms; f64 in f64. Each result is rounded once. Results do not depend on the number of threads.
#include <algorithm>

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd/row_pairs.h"

namespace tandem::cpu {
namespace {

bool any_f64(std::initializer_list<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor* t) { return t->dtype() == DType::F64; });
}

/// Calls f(C{}, begin, end) for ranges of rows.
template <class F>
void for_row_ranges(bool f64, const Space& others, int64_t n, F f) {
  parallel_for(others.numel, grain_of(n),
               [&](int64_t begin, int64_t end) { f64 ? f(double{}, begin, end) : f(float{}, begin, end); });
}

/// Stores one result per row.
class Results {
 public:
  Results(const Tensor& y, const Space& others, int operand) : y_(y), others_(others), operand_(operand) {}
  void set(int64_t k, double value) const {
    const float single = is_reduced_floating_point(y_.dtype()) ? math::round_to_odd(value) : static_cast<float>(value);
    char* at =
        static_cast<char*>(y_.raw_bytes()) + offset_of(others_, operand_, k) * static_cast<int64_t>(y_.element_size());
    const auto dtype = static_cast<size_t>(y_.dtype());
    y_.dtype() == DType::F64 ? convert_tables().of<double>().store[dtype](at, &value, 1)
                             : convert_tables().of<float>().store[dtype](at, &single, 1);
  }

 private:
  const Tensor& y_;
  const Space& others_;
  int operand_;
};

int64_t length_of(const Tensor& x, int64_t dim) { return x.dim() == 0 ? 1 : x.sizes()[static_cast<size_t>(dim)]; }

void fold_pairs(const Tensor& y, const Tensor& a, const Tensor& b, int64_t dim, math::Pair pair, double p) {
  if (y.numel() == 0) return;
  if (a.numel() == 0) return fill(y, 0);  // rows without elements
  const Space others = other_dimensions({&a, &b}, dim, &y);
  const Results results(y, others, 2);
  for_row_ranges(any_f64({&a, &b}), others, length_of(a, dim), [&]<class C>(C, int64_t begin, int64_t end) {
    Rows<C> left(a, others, 0, dim), right(b, others, 1, dim);
    const auto fold = row_pair_table().of<C>().fold;
    for (int64_t k = begin; k < end; ++k) results.set(k, fold(pair, left.read(k), right.read(k), left.size(), p));
  });
}

}  // namespace

void row_dots(const Tensor& y, const Tensor& a, const Tensor& b, int64_t dim) {
  fold_pairs(y, a, b, dim, math::Pair::dot, 0);
}

void row_distances(const Tensor& y, const Tensor& a, const Tensor& b, int64_t dim, double p) {
  fold_pairs(y, a, b, dim, math::distance_pair(p), p);
}

void row_distances_backward(const Tensor& ga, const Tensor& gy, const Tensor& distance, const Tensor& a,
                            const Tensor& b, int64_t dim, double p) {
  if (ga.numel() == 0) return;
  if (a.numel() == 0) return fill(ga, 0);
  const Space others = other_dimensions({&gy, &distance, &a, &b}, dim, &ga);
  const Results results(ga, others, 4);
  for_row_ranges(
      any_f64({&ga, &gy, &distance, &a, &b}), others, length_of(a, dim), [&]<class C>(C, int64_t begin, int64_t end) {
        Rows<C> g(gy, others, 0, dim), d(distance, others, 1, dim), left(a, others, 2, dim), right(b, others, 3, dim);
        const auto gradient = row_pair_table().of<C>().gradient;
        for (int64_t k = begin; k < end; ++k)
          results.set(k,
                      gradient(math::distance_pair(p), g.read(k), d.read(k), left.read(k), right.read(k), g.size(), p));
      });
}

}  // namespace tandem::cpu
