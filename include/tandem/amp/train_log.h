#pragma once
// TrainLog: loss, scale, skips, gradient norm and throughput of a training run, step by step, in a file.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/amp/grad_scaler.h"

namespace tandem::amp {

/// A number of the program's own in a TrainLog, and its name: {"accuracy", 0.5}, {"largest", g.abs().max()}.
class LogValue {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> LogValue(std::string name, T value)
      : name_(std::move(name)), number_(static_cast<double>(value)) {}
  /// A tensor of one element; an undefined one is left out.
  LogValue(std::string name, Tensor value) : name_(std::move(name)), tensor_(std::move(value)) {}

  const std::string& name() const { return name_; }
  const std::optional<double>& number() const { return number_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  std::string name_;
  std::optional<double> number_;
  Tensor tensor_;
};

/// What a TrainLog writes of one step; what is left out is left out there too.
struct TrainStep {
  Tensor loss = {};                       ///< one element, unscaled
  const GradScaler* scaler = nullptr;     ///< its scale now: of this step, when logged before update()
  std::optional<StepResult> result = {};  ///< of scaler.step(): whether the step was skipped
  Tensor grad_norm = {};                  ///< one element: what clip_grad_norm_ returns
  int64_t samples = 0;                    ///< of the batch: gives the throughput
  std::optional<double> lr = {};          ///< learning rate: sgd.param_groups()[0].options().get_lr()
  std::vector<LogValue> values = {};      ///< your own, each under its name
};

/// How a TrainLog writes, set by name.
struct TrainLogOptions {
  bool append = false;     ///< goes on where the file ends, instead of starting it anew
  int64_t first_step = 0;  ///< the number of the first step
  /// Names of `values`, or "lr", for which a CSV file has a column even where the first step does not give them.
  std::vector<std::string> columns = {};
};

/// Writes a line per step: JSON lines to a file that ends in .jsonl, CSV with a header to one that ends in .csv.
///
///   amp::TrainLog log({"run.jsonl", "run.csv"});
///   ...
///   scaler.scale(loss).backward();
///   auto result = scaler.step(sgd);
///   log.step({.loss = loss, .scaler = &scaler, .result = result, .samples = batch.data.size(0),
///             .lr = sgd.param_groups()[0].options().get_lr(), .values = {{"accuracy", accuracy}}});
///   scaler.update();
///
/// Fields: step, seconds (since the log was opened; with `append`, on from the file's last value), loss, scale,
/// skipped, grad_norm, samples_per_second (of the time since the step before), lr, and those of `values`. inf and NaN
/// stand in JSON as "inf", "-inf" and "nan".
///
/// The columns of a CSV file are those fields up to samples_per_second, then lr and the values of the first step, then
/// TrainLogOptions::columns; with `append` they are those of the file. A cell is empty where a step does not give its
/// value; a value without a column is refused.
///
/// A step never waits for the device: values on it are copied to the host asynchronously, and a step is written, in
/// order, by the first later call that finds its copies done; should the device fall kMaxPending steps behind, step()
/// waits for the oldest. Values on the CPU are written at once. Every line is handed to the operating system as it is
/// written, so a program that dies loses only what the device still owed. One TrainLog is used by one thread at a time.
/// scripts/plot_log.py draws the files.
class TrainLog {
 public:
  static constexpr size_t kMaxPending = 1024;

  /// Throws StateError for a name that ends in neither .jsonl nor .csv, no name, a negative first step, or a CSV file
  /// to append to that lacks a column; IoError when a file cannot be opened. Of several files to append to, the latest
  /// `seconds` counts.
  explicit TrainLog(std::vector<std::string> files, const TrainLogOptions& options = {});
  explicit TrainLog(std::initializer_list<std::string> files, const TrainLogOptions& options = {});
  explicit TrainLog(const std::string& file, const TrainLogOptions& options = {});
  /// Flushes. What cannot be written then is lost.
  ~TrainLog();
  TrainLog(TrainLog&&) noexcept;
  TrainLog& operator=(TrainLog&&) noexcept;

  /// Logs a step. Throws ShapeError for a loss, norm or value that is not one element, DTypeError when it is not
  /// floating, IoError when a file cannot be written; StateError for negative samples, and for a value whose name is
  /// empty, has a comma, quote or control character, is given twice or is another field's, or has no column in a CSV
  /// file.
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
