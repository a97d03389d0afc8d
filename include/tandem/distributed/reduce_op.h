#pragma once
// ReduceOp: how a collective combines the tensors of the ranks.
#include <cstdint>

#pragma GCC visibility push(default)
namespace tandem::distributed {

/// Sums and averages of f16 and bf16 are computed in f32, in the order of the ranks, and rounded once. AVG divides the
/// sum by the number of ranks, and accepts floating dtypes only. MAX and MIN return NaN if a rank has NaN. BOR (bitwise
/// or) accepts integers and bools.
enum class ReduceOp : uint8_t { SUM, AVG, MAX, MIN, BOR };

}  // namespace tandem::distributed
#pragma GCC visibility pop
