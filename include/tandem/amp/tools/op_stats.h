#pragma once
// OpStats: counts which ops ran in which dtype, and autocast's casts.
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tandem/amp/fp8/losses.h"
#include "tandem/autograd/observer.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Counts for the calls of one op in one dtype.
struct OpCount {
  std::string op;
  /// The float8 dtype of the operands of a product; else the op's dtype argument; else the widest dtype of its floating
  /// inputs after casts; else that of its result.
  DType dtype = kFloat;
  int64_t calls = 0;            ///< forward and backward
  int64_t backward_calls = 0;   ///< of these, calls in the backward pass
  int64_t casts = 0;            ///< tensors that the policy cast for these calls
  int64_t cast_bytes = 0;       ///< bytes written by these casts
  int64_t cache_hits = 0;       ///< casts avoided: a copy of the weight existed
  int64_t cache_misses = 0;     ///< of `casts`, those of weights, which are cached for the region
  int64_t odd_products = 0;     ///< matrix products in f16 or bf16 with a size that is not a multiple of 8
  int64_t result_elements = 0;  ///< number of elements of all results
};

/// What the operands of products in float8 lost by rounding.
struct RoundingCount {
  std::string op, operand;  ///< operand: "input", "weight" or "gradient"
  DType dtype;              ///< float8
  int64_t tensors = 0;      ///< rounded; a weight once per iteration
  Fp8Losses losses;
};

/// During its lifetime, counts the ops of the calling thread, and of threads that get its modes through ThreadContext:
/// forward, backward (which runs on the thread that calls it) and in-place. Not counted are ops inside the body of
/// another op, optimizer steps, and gradients that a kernel computes directly (such as that of linear's weight). Does
/// not wait for the device.
///
///   {
///     amp::OpStats stats(&std::cout);   // prints its table at the end of the scope
///     train_one_step();
///   }
///
/// Source of the idea: Paddle's amp.debugging.collect_operator_stats.
class OpStats {
 public:
  /// The destructor writes the table to `print_at_end`, unless that is null.
  [[nodiscard]] explicit OpStats(std::ostream* print_at_end = nullptr);
  ~OpStats();
  OpStats(const OpStats&) = delete;
  OpStats& operator=(const OpStats&) = delete;

  /// The counts so far, by op and dtype.
  std::vector<OpCount> counts() const;
  /// The roundings to float8 so far, by op, operand and dtype. Waits for the device.
  std::vector<RoundingCount> roundings() const;
  /// The sum over all ops.
  OpCount total() const;
  /// Returns a table with one line per op, by decreasing number of calls: calls in each dtype, and casts. Then follow
  /// the total and, if there are any, a line about odd_products and lines about roundings to float8.
  std::string table() const;
  /// {"ops": [{"op": .., "dtype": .., "calls": .., ...}], "total": {..}, "roundings": [..]}, with the field names of
  /// OpCount, and of RoundingCount and Fp8Losses.
  std::string json() const;
  /// Sets all counts to zero.
  void reset();

 private:
  class Collector;
  std::shared_ptr<Collector> collector_;
  std::ostream* print_at_end_;
  autograd::ObserverGuard guard_;
};

/// Writes table().
std::ostream& operator<<(std::ostream& stream, const OpStats& stats);

}  // namespace tandem::amp
#pragma GCC visibility pop
