#include "tandem/io/summary_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>

#include "src/io/events.h"
#include "src/io/record_file.h"
#include "src/io/summary_graph.h"
#include "src/io/summary_histogram.h"
#include "src/io/summary_image.h"
#include "src/io/utf8.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::io {
namespace {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "localhost";
  return name;
}

/// runs/Nov27_07-09-22_host and the comment, as PyTorch names it.
std::string default_log_dir(const std::string& comment) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char date[32];
  std::strftime(date, sizeof date, "%b%d_%H-%M-%S", &local);
  return fmt::format("runs/{}_{}{}", date, host_name(), comment);
}

std::string event_file_in(const std::string& folder, const std::string& suffix) {
  static std::atomic<int> count{0};
  return fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}{}", folder, static_cast<int64_t>(std::time(nullptr)),
                     host_name(), getpid(), count++, suffix);
}

std::string without_slashes(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

class SummaryWriter::Impl {
 public:
  Impl(std::string log_dir, const SummaryWriterOptions& options) : log_dir_(std::move(log_dir)), options_(options) {
    const EventFormat& format = events();
    create_folder(log_dir_);
    file_.emplace(event_file_in(log_dir_, options.filename_suffix), O_WRONLY | O_APPEND | O_CREAT | O_EXCL);
    const double now = wall_time_now();
    file_->append(format.version(now));
    if (options.purge_step) file_->append(format.restart(now, *options.purge_step));
  }

  const std::string& log_dir() const { return log_dir_; }

  void write(const std::string& event) {
    const std::lock_guard lock(mutex_);
    check_open();
    file_->append(event);
  }

  /// The writer of one name of add_scalars.
  Impl& child(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    check_open();
    std::unique_ptr<Impl>& child = children_[folder];
    if (!child) child = std::make_unique<Impl>(log_dir_ + "/" + folder, options_);
    return *child;
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    if (file_) file_->sync();
    for (const auto& [folder, child] : children_) {
      if (child) child->flush();
    }
  }

  void close() {
    flush();
    const std::lock_guard lock(mutex_);
    file_.reset();
    for (const auto& [folder, child] : children_) {
      if (child) child->close();
    }
  }

 private:
  void check_open() const {
    TANDEM_CHECK(file_.has_value(), StateError, "the writer of '{}' is closed; create another", log_dir_);
  }

  const std::string log_dir_;
  const SummaryWriterOptions options_;
  std::mutex mutex_;  // of file_ and children_
  std::optional<RecordFile> file_;
  std::map<std::string, std::unique_ptr<Impl>> children_;  // by folder; kept until destruction
};

SummaryWriter::SummaryWriter(const std::string& log_dir, const SummaryWriterOptions& options) {
  const OpScope op("SummaryWriter");
  impl_ = std::make_unique<Impl>(log_dir.empty() ? default_log_dir(options.comment) : log_dir, options);
}
SummaryWriter::~SummaryWriter() = default;
SummaryWriter::SummaryWriter(SummaryWriter&&) noexcept = default;
SummaryWriter& SummaryWriter::operator=(SummaryWriter&&) noexcept = default;

bool SummaryWriter::is_available() { return event_format != nullptr; }
const std::string& SummaryWriter::log_dir() const { return impl_->log_dir(); }

void SummaryWriter::add_scalar(const std::string& tag, double value, int64_t step, std::optional<double> wall_time) {
  const OpScope op("add_scalar");
  impl_->write(events().scalars(wall_time.value_or(wall_time_now()), step, {{tag, value}}));
}

void SummaryWriter::add_scalar(const std::string& tag, const Tensor& value, int64_t step,
                               std::optional<double> wall_time) {
  const OpScope op("add_scalar");
  TANDEM_CHECK(value.defined(), StateError, "the value of '{}' is undefined; give a tensor of one element", tag);
  TANDEM_CHECK(value.numel() == 1, ShapeError, "the value of '{}' is {}, but must be one number; reduce it with mean()",
               tag, checks::show(value));
  const double number = value.item<double>();
  impl_->write(events().scalars(wall_time.value_or(wall_time_now()), step, {{tag, number}}));
}

void SummaryWriter::add_scalars(const std::string& main_tag, const std::map<std::string, double>& values, int64_t step,
                                std::optional<double> wall_time) {
  const OpScope op("add_scalars");
  check_tag(main_tag);
  const double time = wall_time.value_or(wall_time_now());
  for (const auto& [name, value] : values) {
    Impl& child = impl_->child(without_slashes(main_tag) + "_" + without_slashes(name));
    child.write(events().scalars(time, step, {{main_tag, value}}));
  }
}

void SummaryWriter::add_histogram(const std::string& tag, const Tensor& values, int64_t step,
                                  const std::vector<double>& bins, std::optional<double> wall_time) {
  const OpScope op("add_histogram");
  impl_->write(events().histogram(wall_time.value_or(wall_time_now()), step, tag, histogram_of(values, bins)));
}

void SummaryWriter::add_text(const std::string& tag, const std::string& text, int64_t step,
                             std::optional<double> wall_time) {
  const OpScope op("add_text");
  check_tag(tag);
  TANDEM_CHECK(is_utf8(text), StateError, "the text of '{}' is not UTF-8; convert it", tag);
  impl_->write(events().text(wall_time.value_or(wall_time_now()), step, tag + "/text_summary", text));
}

void SummaryWriter::add_image(const std::string& tag, const Tensor& image, int64_t step,
                              std::optional<double> wall_time) {
  const OpScope op("add_image");
  EncodedImage encoded = encode_image(image);
  impl_->write(events().image(wall_time.value_or(wall_time_now()), step, tag, encoded.height, encoded.width,
                              encoded.channels, std::move(encoded.png)));
}

void SummaryWriter::add_graph(const Tensor& output, const OrderedDict<std::string, Tensor>& parameters,
                              std::optional<double> wall_time) {
  const OpScope op("add_graph");
  impl_->write(events().graph(wall_time.value_or(wall_time_now()), graph_of(output, parameters)));
}

void SummaryWriter::flush() {
  const OpScope op("flush");
  impl_->flush();
}

void SummaryWriter::close() {
  const OpScope op("close");
  impl_->close();
}

}  // namespace tandem::io
