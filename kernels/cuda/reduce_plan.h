#pragma once
// ReducePlan: the loops of a reduction, divided into those over outputs and those over the terms of one output. Plain
// host code.
#include "kernels/cuda/runs.h"

namespace tandem::cuda {

/// Loops in the order of x's memory. Outputs are numbered by the kept loops, whatever the strides of the other
/// operands.
template <size_t N>
struct ReducePlan {
  Geometry<N> kept;     ///< operand 0: x, the others: outputs
  Geometry<1> reduced;  ///< x
  bool columns;         ///< adjacent elements in memory belong to different outputs

  /// Whether the terms of every output are contiguous, and both their number and their first offset are multiples of
  /// `length`.
  bool in_runs_of(int64_t length) const {
    return reduced.rank == 1 && reduced.strides[0][0] == 1 && reduced.numel % length == 0 &&
           steps_in_runs(kept, 0, static_cast<size_t>(kept.rank), length);
  }
};

/// The terms of an output. A walk drops dimensions in which nothing moves; here each of their elements counts.
inline Geometry<1> reduced_geometry(const Dims& sizes, const Dims& strides) {
  const Geometry<1> moving = make_geometry<1>(kernels::make_walk<1>(sizes, {IntArrayRef(strides)}));
  int64_t repeats = 1;
  for (size_t d = 0; d < sizes.size(); ++d) repeats *= sizes[d] > 1 && strides[d] == 0 ? sizes[d] : 1;
  if (repeats == 1) return moving;
  Geometry<1> all;
  all.append(repeats, {0});
  for (int d = 0; d < moving.rank; ++d) all.append(moving.sizes[d], {moving.strides[0][d]});
  return all;
}

/// x is reduced along the dimensions in which the outputs have size 1. All outputs have x's rank and equal sizes.
template <size_t N>
ReducePlan<N> make_reduce_plan(const Tensor& x, const std::array<const Tensor*, N - 1>& outputs) {
  Dims kept_sizes, reduced_sizes, reduced_strides;
  std::array<Dims, N> kept_strides;
  for (size_t d = 0; d < x.sizes().size(); ++d) {
    const int64_t size = x.sizes()[d];
    if (outputs[0]->sizes()[d] == size) {
      kept_sizes.push_back(size);
      kept_strides[0].push_back(x.strides()[d]);
      for (size_t k = 1; k < N; ++k) kept_strides[k].push_back(outputs[k - 1]->strides()[d]);
    } else {
      reduced_sizes.push_back(size);
      reduced_strides.push_back(x.strides()[d]);
    }
  }
  std::array<IntArrayRef, N> lists;
  for (size_t k = 0; k < N; ++k) lists[k] = kept_strides[k];
  ReducePlan<N> plan;
  plan.kept = make_geometry<N>(kernels::make_walk<N>(kept_sizes, lists));
  plan.reduced = reduced_geometry(reduced_sizes, reduced_strides);
  plan.columns =
      plan.kept.numel > 1 && plan.kept.strides[0][plan.kept.rank - 1] < plan.reduced.strides[0][plan.reduced.rank - 1];
  return plan;
}

}  // namespace tandem::cuda
