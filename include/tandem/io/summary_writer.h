#pragma once
// SummaryWriter: writes scalars, histograms, texts and images for TensorBoard.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/ordered_dict.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::io {

/// Options of a SummaryWriter. The names are those of torch.utils.tensorboard.SummaryWriter.
struct SummaryWriterOptions {
  std::string comment = {};                ///< end of the folder's name, if log_dir is empty
  std::optional<int64_t> purge_step = {};  ///< TensorBoard drops earlier events of the folder from this step on
  std::string filename_suffix = {};        ///< end of the file's name
};

/// Writes an event file that TensorBoard shows, like torch.utils.tensorboard.SummaryWriter:
///
///   io::SummaryWriter writer("runs/first");
///   writer.add_scalar("train/loss", loss.item<double>(), step);
///   writer.add_histogram("weight", net->weight, step);
///
///   $ tensorboard --logdir runs
///
/// The file is log_dir/events.out.tfevents.<seconds since 1970>.<host>.<process>.<n>. Each folder below --logdir with
/// such files is one run. TensorBoard groups values by the part of their tag before the first slash.
///
/// Each call hands its event to the operating system before it returns, so a program that crashes loses none. Calls
/// from several threads are safe. `wall_time` is the time of the event in seconds since 1970, by default now.
///
/// All functions that write throw IoError if the file cannot be written, and StateError after close() and for a tag
/// that is empty or not UTF-8. Where is_available() is false, the constructor throws NotImplementedError. amp::TrainLog
/// writes the usual values of a training step without further code.
class SummaryWriter {
 public:
  /// Creates the folder `log_dir` and a file in it. An empty `log_dir` stands for runs/<date>_<time>_<host><comment>.
  /// Throws IoError if either cannot be created.
  explicit SummaryWriter(const std::string& log_dir = {}, const SummaryWriterOptions& options = {});
  /// Closes the file.
  ~SummaryWriter();
  SummaryWriter(SummaryWriter&&) noexcept;
  SummaryWriter& operator=(SummaryWriter&&) noexcept;

  /// Returns whether the program is linked with tandem::io and that was built with Protocol Buffers.
  static bool is_available();

  const std::string& log_dir() const;

  /// Adds a number. Event files hold scalars as f32.
  void add_scalar(const std::string& tag, double value, int64_t step = 0, std::optional<double> wall_time = {});
  /// Adds the value of a tensor of one element; waits for its device. Throws ShapeError for more elements.
  void add_scalar(const std::string& tag, const Tensor& value, int64_t step = 0, std::optional<double> wall_time = {});

  /// Adds numbers that TensorBoard draws in one chart, titled `main_tag`. Each name becomes a run of its own, in the
  /// folder log_dir/<main_tag>_<name>, where slashes become underscores.
  void add_scalars(const std::string& main_tag, const std::map<std::string, double>& values, int64_t step = 0,
                   std::optional<double> wall_time = {});

  /// Adds a histogram of the finite elements of a tensor of any dtype and device; inf and NaN are left out. A tensor on
  /// a device is copied to the host once, and the host counts, in f64. A bucket contains its lower edge. The default
  /// buckets have the edges 0, +-1e-12 * 1.1^i below 1e20, and +-DBL_MAX, as in TensorFlow and PyTorch; their widths
  /// are 10 % of the value. `bins`, if not empty, are the edges, in ascending order; elements outside them are in no
  /// bucket. Throws ShapeError for a tensor without elements.
  void add_histogram(const std::string& tag, const Tensor& values, int64_t step = 0,
                     const std::vector<double>& bins = {}, std::optional<double> wall_time = {});

  /// Adds a text, which TensorBoard shows as Markdown. Its tag becomes <tag>/text_summary, as in PyTorch. Throws
  /// StateError for a text that is not UTF-8.
  void add_text(const std::string& tag, const std::string& text, int64_t step = 0,
                std::optional<double> wall_time = {});

  /// Adds a picture [C, H, W] with 1 (grey), 3 (RGB) or 4 (RGBA) channels, as PNG. Floating values are multiplied by
  /// 255, limited to [0, 255] and rounded towards 0, as in PyTorch; NaN becomes 0. u8 values are taken as they are.
  /// Throws ShapeError and DTypeError for other tensors, and NotImplementedError where
  /// data::can_read_png() is false.
  void add_image(const std::string& tag, const Tensor& image, int64_t step = 0, std::optional<double> wall_time = {});

  /// Adds the graph of the ops from which `output` was computed, as recorded for its backward, with the shapes of their
  /// results. Leaves that are in `parameters`, such as net->named_parameters(), have the name there. Tensors that need
  /// no gradient, such as the network's input, are not in the graph. Throws StateError if `output` has no graph.
  /// PyTorch's add_graph takes a module and its input instead.
  void add_graph(const Tensor& output, const OrderedDict<std::string, Tensor>& parameters = {},
                 std::optional<double> wall_time = {});

  /// Waits until the file system has stored all events.
  void flush();
  /// Flushes and closes the file. Further calls of close() and flush() do nothing.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::io
#pragma GCC visibility pop
