#include "tandem/amp/tools/train_log.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>

#include "src/amp/tools/late_values.h"
#include "src/amp/tools/text.h"
#include "src/amp/tools/train_log_events.h"
#include "src/io/events.h"
#include "src/io/regular_file.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::amp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLr = "lr";
/// The columns that every CSV file has.
const std::vector<std::string>& standard_columns() {
  static const std::vector<std::string> names = {"step",      "seconds",           "loss", "scale", "skipped",
                                                 "grad_norm", "samples_per_second"};
  return names;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A field of a line: its name and its value in JSON, in CSV and in event files. The values are empty if the field was
/// not given.
struct Field {
  std::string name;
  std::string json = {}, csv = {};
  std::optional<double> number = {};
};

Field number(std::string name, double value, bool given = true) {
  if (!given) return {std::move(name)};
  return {std::move(name), text::json(value), text::number(value), value};
}

/// The cells between the commas.
std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const size_t comma = line.find(',');
    cells.emplace_back(line.substr(0, comma));
    if (comma == line.npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name;
  return all;
}

std::optional<double> parse(const std::string& number) {
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  return end != number.c_str() && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Returns the result of `value_of` for the last line where it returns a value, or 0. Reads the end of the file first
/// and more only if necessary. Ignores an incomplete last line.
double last_value(const io::RegularFile& file,
                  const std::function<std::optional<double>(const std::string&)>& value_of) {
  const uint64_t size = file.size();
  if (size == 0) return 0;
  for (uint64_t length = std::min<uint64_t>(size, 1 << 16);; length = std::min(size, length * 8)) {
    std::string text(length, '\0');
    file.read(size - length, text.data(), length);
    for (size_t end = text.rfind('\n'); end != text.npos;) {
      const size_t before = end == 0 ? text.npos : text.rfind('\n', end - 1);
      if (before == text.npos && length < size) break;  // the line may begin before the part that was read
      const size_t begin = before == text.npos ? 0 : before + 1;
      if (const auto value = value_of(text.substr(begin, end - begin))) return *value;
      end = before;
    }
    if (length == size) return 0;
  }
}

class File {
 public:
  File(std::string path, const TrainLogOptions& options) : path_(std::move(path)), wanted_(options.columns) {
    is_json_ = path_.ends_with(".jsonl");
    TANDEM_CHECK(is_json_ || path_.ends_with(".csv"), StateError,
                 "the file name '{}' ends in none of .jsonl, .csv and .tfevents; the ending selects the format", path_);
    file_.emplace(path_, (options.append ? O_RDWR : O_WRONLY) | O_APPEND | O_CREAT);
    if (!options.append) file_->truncate(0);
    const uint64_t size = file_->size();
    is_empty_ = size == 0;
    if (is_empty_) return;
    if (!is_json_) read_header();
    // A crashed program may have left an incomplete line: the next line must not continue it.
    char last = 0;
    file_->read(size - 1, &last, 1);
    if (last != '\n') put("\n");
  }

  /// The `seconds` value of the last line.
  double last_seconds() const {
    if (is_empty_) return 0;
    if (is_json_) {
      return last_value(*file_, [](const std::string& line) -> std::optional<double> {
        constexpr std::string_view key = "\"seconds\": ";
        const size_t at = line.find(key);
        return at == line.npos || !line.ends_with('}') ? std::nullopt : parse(line.substr(at + key.size()));
      });
    }
    const auto column = static_cast<size_t>(std::find(columns_.begin(), columns_.end(), "seconds") - columns_.begin());
    return last_value(*file_, [&](const std::string& line) -> std::optional<double> {
      const std::vector<std::string> cells = split(line);
      return cells.size() == columns_.size() ? parse(cells[column]) : std::nullopt;
    });
  }

  /// Throws StateError if a field of the next line has no column. The first line determines the columns.
  void check(const std::vector<std::string>& given) {
    if (is_json_) return;
    if (columns_.empty()) {
      columns_ = standard_columns();
      std::vector<std::string> names = given;
      names.insert(names.end(), wanted_.begin(), wanted_.end());
      for (const std::string& name : names) {
        if (!contains(columns_, name)) columns_.push_back(name);
      }
    }
    for (const std::string& name : given) check_column(name);
  }

  void write(const std::vector<Field>& fields) {
    std::string line;
    if (is_json_) {
      for (const Field& f : fields) {
        if (!f.json.empty()) line += fmt::format("{}{}: {}", line.empty() ? "{" : ", ", text::json(f.name), f.json);
      }
      line += '}';
    } else {
      for (const std::string& column : columns_) {
        if (&column != &columns_[0]) line += ',';
        const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == column; });
        if (field != fields.end()) line += field->csv;
      }
      if (is_empty_) line = joined(columns_) + '\n' + line;
    }
    put(line + '\n');
    is_empty_ = false;
  }

 private:
  void read_header() {
    const std::string header = first_line();
    columns_ = split(header);
    TANDEM_CHECK(contains(columns_, "step") && contains(columns_, "seconds"), StateError,
                 "cannot append to '{}': its first line '{}' lacks the columns step and seconds; use another file, or "
                 "omit append",
                 path_, header);
    for (const std::string& name : wanted_) check_column(name);
  }

  void check_column(const std::string& name) const {
    TANDEM_CHECK(contains(columns_, name), StateError,
                 "'{}' has no column for '{}', only {}; the first step fixes the columns: list later ones in "
                 "TrainLogOptions::columns, start another file, or log to a .jsonl file",
                 path_, name, joined(columns_));
  }

  std::string first_line() const {
    constexpr size_t kBlock = 4096;
    std::string text;
    for (const uint64_t size = file_->size(); text.size() < size;) {
      const size_t begin = text.size();
      text.resize(std::min<uint64_t>(size, begin + kBlock));
      file_->read(begin, text.data() + begin, text.size() - begin);
      if (const size_t end = text.find('\n', begin); end != text.npos) return text.substr(0, end);
    }
    return text;
  }

  void put(const std::string& text) {
    const uint64_t end = file_->size();
    if (io::write_bytes(file_->descriptor(), text.data(), text.size())) return;
    const int reason = errno;
    file_->truncate(end);  // the next line must not continue a part of this one
    TANDEM_THROW(IoError, "{}: cannot write the file: {}; is the disk full?", path_, std::strerror(reason));
  }

  std::string path_;
  std::vector<std::string> wanted_;   // TrainLogOptions::columns
  std::vector<std::string> columns_;  // of a CSV file; empty before its first line
  std::optional<io::RegularFile> file_;
  bool is_json_ = false, is_empty_ = true;
};

/// Throws StateError for a name that a CSV header cannot hold or that is a standard field.
void check_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return c != ',' && c != '"' && static_cast<unsigned char>(c) >= 0x20; });
  TANDEM_CHECK(
      !name.empty() && plain, StateError,
      "{} is not a valid name for a value; a name must not be empty or contain commas, quotes or control characters",
      text::json(name));
  TANDEM_CHECK(!contains(standard_columns(), name), StateError,
               "the name '{}' is taken by a field of every step; use another name", name);
}

void check_value(const std::string& what, const Tensor& x) {
  if (!x.defined()) return;
  checks::floating(what.c_str(), x);
  TANDEM_CHECK(x.numel() == 1, ShapeError, "{} is {}, but must be one number; reduce it with mean() or sum()", what,
               checks::show(x));
}

}  // namespace

class TrainLog::Writer {
 public:
  Writer(const std::vector<std::string>& files, const TrainLogOptions& options) : next_step_(options.first_step) {
    const OpScope op("TrainLog");
    TANDEM_CHECK(!files.empty(), StateError, "no file was given; give at least one");
    TANDEM_CHECK(options.first_step >= 0, StateError, "first_step = {}; it must be at least 0", options.first_step);
    for (const std::string& name : options.columns) {
      if (name != kLr) check_name(name);
    }
    for (const std::string& path : files) {
      const double last_seconds = is_event_log(path) ? event_logs_.emplace_back(path, options.append).last_seconds()
                                                     : files_.emplace_back(path, options).last_seconds();
      if (options.append) seconds_before_ = std::max(seconds_before_, last_seconds);
    }
  }

  void step(const TrainStep& s) {
    const OpScope op("TrainLog");
    check_value("the loss", s.loss);
    check_value("grad_norm", s.grad_norm);
    TANDEM_CHECK(s.samples >= 0, StateError, "samples = {}; it must be at least 0", s.samples);
    check_fields(s);
    std::vector<Tensor> late = {s.loss, s.scaler ? s.scaler->scale_tensor() : Tensor(),
                                s.result ? s.result->found_inf() : Tensor(), s.grad_norm};
    for (const LogValue& value : s.values) late.push_back(value.tensor());
    const Clock::time_point now = Clock::now();
    Line line{.step = next_step_++,
              .seconds = seconds_before_ + seconds(start_, now),
              .samples_per_second = static_cast<double>(s.samples) / seconds(last_, now),
              .wall_time = event_logs_.empty() ? 0 : io::wall_time_now(),
              .has_loss = s.loss.defined(),
              .has_scale = s.scaler && s.scaler->is_enabled(),
              .has_result = s.result.has_value(),
              .has_norm = s.grad_norm.defined(),
              .has_samples = s.samples > 0,
              .first_scale = 0,
              .lr = s.lr,
              .own = s.values,
              .values = LateValues(late)};
    // Before its first loss, a scaler has its scale only in its options, not on a device.
    if (line.has_scale && !s.scaler->scale_tensor().defined()) line.first_scale = s.scaler->get_scale();
    last_ = now;
    pending_.push_back(std::move(line));
    if (pending_.size() > kMaxPending) pending_.front().values.wait();
    write_ready();
  }

  void flush() {
    const OpScope op("TrainLog");
    for (const Line& line : pending_) line.values.wait();
    write_ready();
  }

  size_t pending() const { return pending_.size(); }

 private:
  struct Line {
    int64_t step;
    double seconds, samples_per_second, wall_time;
    bool has_loss, has_scale, has_result, has_norm, has_samples;
    double first_scale;
    std::optional<double> lr;
    std::vector<LogValue> own;
    LateValues values;  // loss, scale, found_inf, grad_norm, then one value for each of `own`
  };

  /// Throws if one of the program's own values cannot be written.
  void check_fields(const TrainStep& s) {
    std::vector<std::string> given = {"step", "seconds"};
    const std::pair<const char*, bool> fields[] = {{"loss", s.loss.defined()},
                                                   {"scale", s.scaler && s.scaler->is_enabled()},
                                                   {"skipped", s.result.has_value()},
                                                   {"grad_norm", s.grad_norm.defined()},
                                                   {"samples_per_second", s.samples > 0},
                                                   {kLr, s.lr.has_value()}};
    for (const auto& [name, is_given] : fields) {
      if (is_given) given.emplace_back(name);
    }
    for (const LogValue& value : s.values) {
      check_name(value.name());
      TANDEM_CHECK(!contains(given, value.name()), StateError, "a step has two values named '{}'", value.name());
      check_value(value.name(), value.tensor());
      given.push_back(value.name());
    }
    for (File& file : files_) file.check(given);
    if (!event_logs_.empty()) EventLog::check(given);
  }

  static constexpr size_t kOwn = 4;
  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  void write_ready() {
    while (!pending_.empty() && pending_.front().values.ready()) {
      const Line line = std::move(pending_.front());
      pending_.pop_front();  // popped first: a line that fails to write is not retried
      write(line);
    }
  }

  void write(const Line& line) {
    const double scale = line.first_scale > 0 ? line.first_scale : line.values[1], found_inf = line.values[2];
    const bool skipped = found_inf != 0 && !std::isnan(found_inf);  // NaN: a disabled scaler, which skips nothing
    std::vector<Field> fields = {
        {"step", std::to_string(line.step), std::to_string(line.step), {}},
        number("seconds", line.seconds),
        number("loss", line.values[0], line.has_loss),
        number("scale", scale, line.has_scale),
        line.has_result ? Field{"skipped", skipped ? "true" : "false", skipped ? "1" : "0", skipped ? 1.0 : 0.0}
                        : Field{"skipped"},
        number("grad_norm", line.values[3], line.has_norm),
        number("samples_per_second", line.samples_per_second, line.has_samples)};
    if (line.lr) fields.push_back(number(kLr, *line.lr));
    for (size_t i = 0; i < line.own.size(); ++i) {
      const LogValue& value = line.own[i];
      const bool is_tensor = value.tensor().defined();
      fields.push_back(number(value.name(), is_tensor ? line.values[kOwn + i] : value.number().value_or(0),
                              is_tensor || value.number().has_value()));
    }
    for (File& file : files_) file.write(fields);
    if (event_logs_.empty()) return;
    io::TaggedNumbers numbers;
    for (const Field& f : fields) {
      if (f.number) numbers.emplace_back(f.name, *f.number);
    }
    for (EventLog& log : event_logs_) log.write(line.wall_time, line.step, numbers);
  }

  std::vector<File> files_;
  std::vector<EventLog> event_logs_;
  int64_t next_step_;
  double seconds_before_ = 0;  // seconds already in the files appended to
  Clock::time_point start_ = Clock::now(), last_ = start_;
  std::deque<Line> pending_;
};

TrainLog::TrainLog(std::vector<std::string> files, const TrainLogOptions& options)
    : writer_(std::make_unique<Writer>(files, options)) {}
TrainLog::TrainLog(std::initializer_list<std::string> files, const TrainLogOptions& options)
    : TrainLog(std::vector<std::string>(files), options) {}
TrainLog::TrainLog(const std::string& file, const TrainLogOptions& options)
    : TrainLog(std::vector<std::string>{file}, options) {}
TrainLog::~TrainLog() {
  try {
    if (writer_) writer_->flush();
  } catch (...) {  // destructors must not throw
  }
}
TrainLog::TrainLog(TrainLog&&) noexcept = default;
TrainLog& TrainLog::operator=(TrainLog&&) noexcept = default;

void TrainLog::step(const TrainStep& step) { writer_->step(step); }
void TrainLog::flush() { writer_->flush(); }
size_t TrainLog::pending() const { return writer_->pending(); }

}  // namespace tandem::amp
