#pragma once
// TrainLog: loss, scale, skips, gradient norm and throughput of a training run, step by step, in a file.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/amp/grad_scaler.h"

namespace tandem::amp {

/// What a TrainLog writes of one step; what is left out is left out there too.
struct TrainStep {
  Tensor loss = {};                       ///< one element, unscaled
  const GradScaler* scaler = nullptr;     ///< its scale now: of this step, when logged before update()
  std::optional<StepResult> result = {};  ///< of scaler.step(): whether the step was skipped
  Tensor grad_norm = {};                  ///< one element: what clip_grad_norm_ returns
  int64_t samples = 0;                    ///< of the batch: gives the throughput
};

/// How a TrainLog writes, set by name.
struct TrainLogOptions {
  bool append = false;     ///< goes on where the file ends, instead of starting it anew
  int64_t first_step = 0;  ///< the number of the first step
};

/// Writes a line per step: JSON lines to a file that ends in .jsonl, CSV with a header to one that ends in .csv.
///
///   amp::TrainLog log({"run.jsonl", "run.csv"});
///   ...
///   scaler.scale(loss).backward();
///   auto result = scaler.step(sgd);
///   log.step({.loss = loss, .scaler = &scaler, .result = result, .samples = batch.data.size(0)});
///   scaler.update();
///
/// Fields: step, seconds (since the log was opened), loss, scale, skipped, grad_norm, samples_per_second (of the time
/// since the step before). inf and NaN stand in JSON as "inf", "-inf" and "nan".
///
/// A step never waits for the device: values on it are copied to the host asynchronously, and a step is written, in
/// order, by the first later call that finds its copies done; should the device fall kMaxPending steps behind, step()
/// waits for the oldest. Values on the CPU are written at once. Every line is handed to the operating system as it is
/// written, so a program that dies loses only what the device still owed. One TrainLog is used by one thread at a time.
/// scripts/plot_log.py draws the files.
class TrainLog {
 public:
  static constexpr size_t kMaxPending = 1024;

  /// Throws StateError for a name that ends in neither .jsonl nor .csv, no name, or a negative first step; IoError when
  /// a file cannot be opened.
  explicit TrainLog(std::vector<std::string> files, const TrainLogOptions& options = {});
  explicit TrainLog(const std::string& file, const TrainLogOptions& options = {});
  /// Flushes. What cannot be written then is lost.
  ~TrainLog();
  TrainLog(TrainLog&&) noexcept;
  TrainLog& operator=(TrainLog&&) noexcept;

  /// Logs a step. Throws ShapeError for a loss or norm that is not one element, DTypeError when it is not floating,
  /// StateError for negative samples, IoError when a file cannot be written.
  void step(const TrainStep& step);
  /// Waits for the device and writes every step that was logged.
  void flush();
  /// Steps logged and not yet written.
  size_t pending() const;

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace tandem::amp
