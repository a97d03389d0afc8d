#pragma once
// compare_accuracy: where a run in mixed precision departs from the same run in f32.
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tandem/nn/module.h"
#include "tandem/tensor/tensor.h"

namespace tandem::amp {

/// Two tensors that should be equal: `a` the reference, `b` the other. Errors are taken in f64 over the elements that
/// are finite in both.
struct AccuracyRow {
  /// "linear", "gemm in the backward of linear", "gradient of input 1 of linear", "fc1.weight", "fc1.weight.grad"
  std::string what;
  int64_t call_a = -1, call_b = -1;  ///< the op's number in its run, from 0; -1 for parameters
  Dims sizes;
  DType dtype_a = kFloat, dtype_b = kFloat;
  double relative_l2 = 0;  ///< |b - a| / |a| in the Euclidean norm; 0 when both are 0
  double max_error = 0;    ///< max |b - a|
  double cosine = 1;       ///< a.b / (|a| |b|); 1 when both are 0, 0 when one is
  int64_t nonfinite_a = 0, nonfinite_b = 0;

  /// inf when `b` has more non-finite elements than `a`, else relative_l2: what the rows are ordered by.
  double deviation() const;
};

/// What compare_accuracy found.
struct AccuracyReport {
  enum class Order { calls, worst };

  std::vector<AccuracyRow> rows;            ///< in the order of run a, or of a's parameters
  std::vector<std::string> only_a, only_b;  ///< without a counterpart

  /// The first row that deviates by more than `tolerance`; null when none does.
  const AccuracyRow* first(double tolerance = 0.01) const;
  /// The row that deviates most; null when there are none.
  const AccuracyRow* worst() const;
  /// The first `most` rows, in the order of calls or with the worst deviation first; then what has no counterpart.
  std::string table(Order order = Order::worst, size_t most = 20) const;
};

struct CompareOptions {
  /// The results of backward passes, and gradients, of `b` are divided by it: the scale of its GradScaler.
  double loss_scale = 1;
};

/// Runs `run_a`, then `run_b` from the same state of the random generator, and compares the floating result of every op
/// that both have passed through the door on this thread, forward, backward and in-place, and every gradient of an op's
/// input. The two sequences are aligned by op, forward op and sizes; conversions (`to`) are left out. Both runs must
/// start from equal parameters. All results are copied to the host and kept until the end, so it waits for the device
/// and takes the memory of two runs. Throws StateError for an empty function or a loss_scale that is not a positive
/// number; what the runs throw passes. Source of the idea: Paddle's amp.debugging.compare_accuracy.
AccuracyReport compare_accuracy(const std::function<void()>& run_a, const std::function<void()>& run_b,
                                const CompareOptions& options = {});

/// The parameters and gradients of two modules, by name. Throws ShapeError when a pair has different sizes, StateError
/// as above.
AccuracyReport compare_accuracy(const nn::Module& a, const nn::Module& b, const CompareOptions& options = {});

/// Writes table().
std::ostream& operator<<(std::ostream& stream, const AccuracyReport& report);

}  // namespace tandem::amp
