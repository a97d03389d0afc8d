#pragma once
// TrainLog: writes loss, scale, skips, gradient norm and throughput of each training step to a file.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/amp/grad_scaler.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// A user-defined value in a TrainLog, with its name: {"accuracy", 0.5}, {"largest", g.abs().max()}.
class LogValue {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> LogValue(std::string name, T value)
      : name_(std::move(name)), number_(static_cast<double>(value)) {}
  /// A tensor of one element. An undefined tensor is not logged.
  LogValue(std::string name, Tensor value) : name_(std::move(name)), tensor_(std::move(value)) {}

  const std::string& name() const { return name_; }
  const std::optional<double>& number() const { return number_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  std::string name_;
  std::optional<double> number_;
  Tensor tensor_;
};

/// The data of one step. Fields that are not set are not written.
struct TrainStep {
  Tensor loss = {};                       ///< one element, unscaled
  const GradScaler* scaler = nullptr;     ///< logs its current scale, which is this step's if logged before update()
  std::optional<StepResult> result = {};  ///< result of scaler.step(): whether the step was skipped
  Tensor grad_norm = {};                  ///< one element, for example the result of clip_grad_norm_
  int64_t samples = 0;                    ///< number of samples in the batch, for the throughput
  std::optional<double> lr = {};          ///< learning rate, for example sgd.param_groups()[0].options().get_lr()
  std::vector<LogValue> values = {};      ///< user-defined values
};

/// Options of a TrainLog.
struct TrainLogOptions {
  bool append = false;     ///< appends to an existing file instead of replacing it
  int64_t first_step = 0;  ///< the number of the first step
  /// Names of further columns of a CSV file (of `values`, or "lr"), for values that the first step does not have.
  std::vector<std::string> columns = {};
};

/// Writes one line per step: JSON lines to files whose names end in .jsonl, CSV with a header to those ending in .csv.
/// To files whose names end in .tfevents it writes scalars for TensorBoard.
///
///   amp::TrainLog log({"run.jsonl", "run.csv", "runs/first/train.tfevents"});
///   ...
///   scaler.scale(loss).backward();
///   auto result = scaler.step(sgd);
///   log.step({.loss = loss, .scaler = &scaler, .result = result, .samples = batch.data.size(0),
///             .lr = sgd.param_groups()[0].options().get_lr(), .values = {{"accuracy", accuracy}}});
///   scaler.update();
///
/// Fields: step, seconds (since the log was opened; with `append`, continued from the file's last value), loss, scale,
/// skipped, grad_norm, samples_per_second (over the time since the previous step), lr, and those of `values`. JSON
/// files contain inf and NaN as the strings "inf", "-inf" and "nan".
///
/// The columns of a CSV file are the fields up to samples_per_second, then lr and the values of the first step, then
/// TrainLogOptions::columns; with `append`, those of the existing file. A cell is empty if a step does not have the
/// value. A value without a column throws StateError.
///
/// An event file (.tfevents) has one event per step, at the time of the call of step(). Its scalars are tagged
/// "train/loss", "train/grad_norm", "train/lr", "train/samples_per_second", "train/seconds", "amp/scale" and
/// "amp/skipped" (0 or 1); values of `values` have the tag "train/<name>", or their name if it contains a slash
/// ("val/loss"). Scalars are f32. TensorBoard shows each folder as one run, so give each log a folder of its own;
/// missing folders are created. io::SummaryWriter adds histograms, texts and images to the same folder.
///
/// step() copies values on the device to the host asynchronously. A step is written, in order, by the first later call
/// that finds its copies complete. step() waits for the device only if kMaxPending steps are pending. Values on the CPU
/// are written at once. Each line is flushed to the operating system as it is written, so a program that crashes loses
/// only steps whose copies were incomplete. Not thread-safe. scripts/plot_log.py plots .jsonl and .csv files.
class TrainLog {
 public:
  static constexpr size_t kMaxPending = 1024;

  /// Throws StateError for a name that ends in none of .jsonl, .csv and .tfevents, for an empty list of files, for a
  /// negative first step, and for a CSV file to append to that lacks a column. Throws IoError if a file cannot be
  /// opened or is not a regular file: folders, devices, FIFOs and sockets are refused; and for an event file to append
  /// to that is damaged. Throws NotImplementedError for an event file where io::SummaryWriter is not available. With
  /// several files to append to, `seconds` continues from the largest value.
  explicit TrainLog(std::vector<std::string> files, const TrainLogOptions& options = {});
  explicit TrainLog(std::initializer_list<std::string> files, const TrainLogOptions& options = {});
  explicit TrainLog(const std::string& file, const TrainLogOptions& options = {});
  /// Flushes. Ignores errors: steps that cannot be written are lost.
  ~TrainLog();
  TrainLog(TrainLog&&) noexcept;
  TrainLog& operator=(TrainLog&&) noexcept;

  /// Logs a step. Throws ShapeError for a loss, norm or value that does not have one element, DTypeError if it is not
  /// floating, and IoError if a file cannot be written. Throws StateError for negative samples, and for a value whose
  /// name is empty, contains a comma, quote or control character, is used twice or by another field, has no column in a
  /// CSV file, or has no tag of its own in an event file.
  void step(const TrainStep& step);
  /// Waits for the device and writes all pending steps.
  void flush();
  /// The number of steps logged but not yet written.
  size_t pending() const;

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace tandem::amp
#pragma GCC visibility pop
