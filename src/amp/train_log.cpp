#include "tandem/amp/train_log.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>

#include "src/amp/late_values.h"
#include "src/amp/text.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::amp {
namespace {

using Clock = std::chrono::steady_clock;

/// A field of a line: its name, and its value as JSON and as CSV has it; both empty when it was not given.
struct Field {
  const char* name;
  std::string json, csv;
};

Field number(const char* name, double value, bool given = true) {
  return given ? Field{name, text::json(value), text::number(value)} : Field{name, {}, {}};
}

class File {
 public:
  File(std::string path, bool append) : path_(std::move(path)) {
    is_json_ = path_.ends_with(".jsonl");
    TANDEM_CHECK(is_json_ || path_.ends_with(".csv"), StateError,
                 "TrainLog: the file '{}' ends in neither .jsonl nor .csv; its ending says what is written", path_);
    file_.reset(std::fopen(path_.c_str(), append ? "a+" : "w"));
    TANDEM_CHECK(file_, IoError, "TrainLog: cannot open '{}' for writing; does its folder exist?", path_);
    std::fseek(file_.get(), 0, SEEK_END);
    is_empty_ = std::ftell(file_.get()) == 0;
    // A program that died may have left half a line: the next one must not continue it.
    if (is_empty_ || !append) return;
    std::fseek(file_.get(), -1, SEEK_END);
    if (std::fgetc(file_.get()) != '\n') put("\n");
  }

  void write(const std::vector<Field>& fields) {
    std::string line, header;
    for (const Field& f : fields) {
      if (is_json_) {
        if (!f.json.empty()) line += fmt::format("{}\"{}\": {}", line.empty() ? "{" : ", ", f.name, f.json);
      } else {
        const char* comma = header.empty() ? "" : ",";
        line += comma + f.csv;
        header += std::string(comma) + f.name;
      }
    }
    if (is_json_) line += '}';
    if (!is_json_ && is_empty_) put(header + '\n');
    put(line + '\n');
    is_empty_ = false;
  }

 private:
  void put(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
    TANDEM_CHECK(written && std::fflush(file_.get()) == 0, IoError, "TrainLog: cannot write '{}'; is the disk full?",
                 path_);
  }

  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  bool is_json_ = false, is_empty_ = true;
};

void check_value(const char* what, const Tensor& x) {
  if (!x.defined()) return;
  checks::floating("TrainLog", what, x);
  TANDEM_CHECK(x.numel() == 1, ShapeError, "TrainLog: {} is {}; give one number: reduce it with mean() or sum()", what,
               checks::show(x));
}

}  // namespace

class TrainLog::Writer {
 public:
  Writer(const std::vector<std::string>& files, const TrainLogOptions& options) : next_step_(options.first_step) {
    TANDEM_CHECK(!files.empty(), StateError, "TrainLog: no file is named; name at least one");
    TANDEM_CHECK(options.first_step >= 0, StateError, "TrainLog: first_step = {}; it must be at least 0",
                 options.first_step);
    for (const std::string& path : files) files_.emplace_back(path, options.append);
  }

  void step(const TrainStep& s) {
    check_value("the loss", s.loss);
    check_value("grad_norm", s.grad_norm);
    TANDEM_CHECK(s.samples >= 0, StateError, "TrainLog: samples = {}; it must be at least 0", s.samples);
    const Clock::time_point now = Clock::now();
    Line line{.step = next_step_++,
              .seconds = seconds(start_, now),
              .samples_per_second = static_cast<double>(s.samples) / seconds(last_, now),
              .has_loss = s.loss.defined(),
              .has_scale = s.scaler && s.scaler->is_enabled(),
              .has_result = s.result.has_value(),
              .has_norm = s.grad_norm.defined(),
              .has_samples = s.samples > 0,
              .first_scale = 0,
              .values = LateValues({s.loss, s.scaler ? s.scaler->scale_tensor() : Tensor(),
                                    s.result ? s.result->found_inf() : Tensor(), s.grad_norm})};
    // Before its first loss a scaler has its scale in its options, not on a device.
    if (line.has_scale && !s.scaler->scale_tensor().defined()) line.first_scale = s.scaler->get_scale();
    last_ = now;
    pending_.push_back(std::move(line));
    if (pending_.size() > kMaxPending) pending_.front().values.wait();
    write_ready();
  }

  void flush() {
    for (const Line& line : pending_) line.values.wait();
    write_ready();
  }

  size_t pending() const { return pending_.size(); }

 private:
  struct Line {
    int64_t step;
    double seconds, samples_per_second;
    bool has_loss, has_scale, has_result, has_norm, has_samples;
    double first_scale;
    LateValues values;
  };

  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  void write_ready() {
    while (!pending_.empty() && pending_.front().values.ready()) {
      const Line line = std::move(pending_.front());
      pending_.pop_front();  // one that cannot be written is not tried again
      write(line);
    }
  }

  void write(const Line& line) {
    const double scale = line.first_scale > 0 ? line.first_scale : line.values[1], found_inf = line.values[2];
    const bool skipped = found_inf != 0 && !std::isnan(found_inf);  // NaN: a scaler that is disabled skips nothing
    const std::vector<Field> fields = {
        {"step", std::to_string(line.step), std::to_string(line.step)},
        number("seconds", line.seconds),
        number("loss", line.values[0], line.has_loss),
        number("scale", scale, line.has_scale),
        line.has_result ? Field{"skipped", skipped ? "true" : "false", skipped ? "1" : "0"} : Field{"skipped", {}, {}},
        number("grad_norm", line.values[3], line.has_norm),
        number("samples_per_second", line.samples_per_second, line.has_samples)};
    for (File& file : files_) file.write(fields);
  }

  std::vector<File> files_;
  int64_t next_step_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  std::deque<Line> pending_;
};

TrainLog::TrainLog(std::vector<std::string> files, const TrainLogOptions& options)
    : writer_(std::make_unique<Writer>(files, options)) {}
TrainLog::TrainLog(const std::string& file, const TrainLogOptions& options)
    : TrainLog(std::vector<std::string>{file}, options) {}
TrainLog::~TrainLog() {
  try {
    if (writer_) writer_->flush();
  } catch (...) {  // a destructor does not throw
  }
}
TrainLog::TrainLog(TrainLog&&) noexcept = default;
TrainLog& TrainLog::operator=(TrainLog&&) noexcept = default;

void TrainLog::step(const TrainStep& step) { writer_->step(step); }
void TrainLog::flush() { writer_->flush(); }
size_t TrainLog::pending() const { return writer_->pending(); }

}  // namespace tandem::amp
