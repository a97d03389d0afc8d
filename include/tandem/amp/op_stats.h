#pragma once
// OpStats: which ops ran in which dtype, and what autocast's casts cost.
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tandem/autograd/observer.h"

namespace tandem::amp {

/// The calls of one op that computed in one dtype.
struct OpCount {
  std::string op;
  DType dtype = kFloat;         ///< of its floating inputs after the policy, the widest; without any: of its result
  int64_t calls = 0;            ///< forward and backward
  int64_t backward_calls = 0;   ///< ... of them in the backward pass
  int64_t casts = 0;            ///< tensors that the policy cast for these calls
  int64_t cast_bytes = 0;       ///< ... and the bytes that this wrote
  int64_t cache_hits = 0;       ///< casts saved: the weight's copy was there
  int64_t cache_misses = 0;     ///< of `casts`: weights, whose copy is kept for the region
  int64_t odd_products = 0;     ///< matrix products of f16 or bf16 with a size that is no multiple of 8
  int64_t result_elements = 0;  ///< in all results together
};

/// Counts the ops of the calling thread, and of threads that ThreadContext carries its modes to, from its making to its
/// end: forward, backward (which runs on the thread that calls it), in-place. Not counted is what is no op: the body of
/// an op, gradients that a backward makes in a kernel of its own (that of linear's weight), optimizer steps. Waits for
/// nothing.
///
///   {
///     amp::OpStats stats(&std::cout);   // prints its table at the end of the scope
///     train_one_step();
///   }
///
/// Source of the idea: Paddle's amp.debugging.collect_operator_stats.
class [[nodiscard]] OpStats {
 public:
  /// `print_at_end` gets the table when this object ends; null: nothing.
  explicit OpStats(std::ostream* print_at_end = nullptr);
  ~OpStats();
  OpStats(const OpStats&) = delete;
  OpStats& operator=(const OpStats&) = delete;

  /// What was counted so far, by op and dtype.
  std::vector<OpCount> counts() const;
  /// The sum over all ops.
  OpCount total() const;
  /// A line per op, the most called first: calls in each dtype, casts; then the total, and what makes AMP slow if there
  /// is some of it.
  std::string table() const;
  /// {"ops": [{"op": .., "dtype": .., "calls": .., ...}], "total": {..}}, with the names of OpCount.
  std::string json() const;
  /// Starts again from nothing.
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
