#pragma once
// compare_accuracy: finds where a run in mixed precision deviates from the same run in f32.
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "tandem/nn/module.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// The comparison of two tensors: `a`, the reference, and `b`. Errors are computed in f64 over the elements that are
/// finite in both.
struct AccuracyRow {
  /// The tensor compared, for example "linear", "gemm in the backward of linear", "gradient of input 1 of linear",
  /// "fc1.weight", "fc1.weight.grad"
  std::string what;
  int64_t call_a = -1, call_b = -1;  ///< index of the op in its run, from 0; -1 for parameters
  Dims sizes;
  DType dtype_a = kFloat, dtype_b = kFloat;
  double relative_l2 = 0;  ///< |b - a| / |a| in the Euclidean norm; 0 if both are 0
  double max_error = 0;    ///< max |b - a|
  double cosine = 1;       ///< a.b / (|a| |b|); 1 if both are 0, 0 if one is
  int64_t nonfinite_a = 0, nonfinite_b = 0;

  /// The sort key of rows: inf if `b` has more non-finite elements than `a`, else relative_l2.
  double deviation() const;
};

/// The result of compare_accuracy.
struct AccuracyReport {
  enum class Order { calls, worst };

  std::vector<AccuracyRow> rows;            ///< in the order of run a, or of the parameters of module a
  std::vector<std::string> only_a, only_b;  ///< without a counterpart

  /// The first row that deviates by more than `tolerance`; null if none does.
  const AccuracyRow* first(double tolerance = 0.01) const;
  /// The row that deviates most; null if there are no rows.
  const AccuracyRow* worst() const;
  /// Returns a table of the first `most` rows, in the order of calls or by decreasing deviation, followed by the
  /// tensors without a counterpart.
  std::string table(Order order = Order::worst, size_t most = 20) const;
};

/// Options of compare_accuracy.
struct CompareOptions {
  /// The scale of b's GradScaler: gradients and results of backward passes of `b` are divided by it.
  double loss_scale = 1;
};

/// Runs `run_a`, then `run_b` from the same state of the random generator. Compares the floating results of all ops
/// that both dispatch on this thread (forward, backward and in-place), and the gradients of the ops' inputs. The two
/// sequences are aligned by op, forward op and sizes; conversions (`to`) are skipped. Both runs must start from equal
/// parameters. All results are copied to the host and kept until the end, so this waits for the device and needs the
/// memory of both runs' results. Throws StateError for an empty function or a loss_scale that is not a positive number,
/// and rethrows exceptions of the runs. Source of the idea: Paddle's amp.debugging.compare_accuracy.
AccuracyReport compare_accuracy(const std::function<void()>& run_a, const std::function<void()>& run_b,
                                const CompareOptions& options = {});

/// Compares the parameters and gradients of two modules, matched by name. Throws ShapeError if a pair has different
/// sizes, StateError for an invalid loss_scale.
AccuracyReport compare_accuracy(const nn::Module& a, const nn::Module& b, const CompareOptions& options = {});

/// Writes table().
std::ostream& operator<<(std::ostream& stream, const AccuracyReport& report);

}  // namespace tandem::amp
#pragma GCC visibility pop
