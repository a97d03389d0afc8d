// Text files: CSV tables and lines.
#include "tandem/data/datasets/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <string_view>

#include "src/data/files.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::data {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{1} << 34;

/// Removes the next line, without its end, from `text`.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
  return cell;
}

/// Calls `visit(cell)` with each cell of a line.
template <class Visit>
void for_each_cell(std::string_view line, char separator, Visit visit) {
  while (true) {
    size_t end = 0;
    for (bool quoted = false; end < line.size() && (quoted || line[end] != separator); ++end) {
      if (line[end] == '"') quoted = !quoted;
    }
    visit(trimmed(line.substr(0, end)));
    if (end == line.size()) return;
    line.remove_prefix(end + 1);
  }
}

/// The beginning of a cell for a message: without control characters, which would garble it.
std::string shown(std::string_view cell) {
  std::string text(cell.substr(0, 40));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return text;
}

std::string_view text_of(const std::vector<uint8_t>& bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

/// The value of a number outside of f64's range.
double zero_or_infinity(std::string_view number) {
  std::istringstream in{std::string(number)};
  in.imbue(std::locale::classic());
  double value = 0;
  in >> value;
  return in.fail() ? std::copysign(std::numeric_limits<double>::infinity(), value) : value;
}

}  // namespace

CSVTable read_csv(const std::string& path, const CSVOptions& options) {
  const OpScope op("read_csv");
  const char separator = options.separator();
  TANDEM_CHECK(std::string_view("+-.\"\r\n").find(separator) == std::string_view::npos &&
                   !(separator >= '0' && separator <= '9') && !(separator >= 'a' && separator <= 'z') &&
                   !(separator >= 'A' && separator <= 'Z') && separator != '\0',
               StateError, "the separator is '{}'; it must not be part of a number or a quote", separator);
  TANDEM_CHECK(options.dtype() == kFloat || options.dtype() == kDouble, DTypeError,
               "dtype is {}; it must be f32 or f64", tandem::name(options.dtype()));
  const std::vector<uint8_t> bytes = read_file(path, kMostTextBytes);
  std::string_view text = text_of(bytes);
  CSVTable table;
  std::vector<double> values;
  size_t columns = 0, rows = 0;
  bool header = options.header();
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = next_line(text);
    if (trimmed(line).empty()) continue;
    size_t column = 0;
    for_each_cell(line, separator, [&](std::string_view cell) {
      ++column;
      if (header) {
        table.names.emplace_back(cell);
        return;
      }
      double value = 0;
      const std::string_view digits = cell.starts_with('+') ? cell.substr(1) : cell;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error == std::errc::result_out_of_range) value = zero_or_infinity(digits);
      const bool infinite = std::isinf(options.dtype() == kFloat ? static_cast<float>(value) : value);
      TANDEM_CHECK(!infinite || (std::isinf(value) && error == std::errc()), IoError,
                   "{}: line {}, column {}: '{}' is out of the range of {}{}", path, line_number, column, shown(cell),
                   tandem::name(options.dtype()), std::isinf(value) ? "" : "; use CSVOptions().dtype(kDouble)");
      TANDEM_CHECK((error == std::errc() || error == std::errc::result_out_of_range) &&
                       end == digits.data() + digits.size() && !(cell.starts_with('+') && digits.starts_with('-')),
                   IoError, "{}: line {}, column {}: '{}' is not a number{}", path, line_number, column, shown(cell),
                   rows == 0 ? "; if the first line has names, use CSVOptions().header(true)" : "");
      values.push_back(value);
    });
    if (columns == 0) columns = column;
    TANDEM_CHECK(column == columns, IoError, "{}: line {} has {} cells, but the lines before it have {}", path,
                 line_number, column, columns);
    if (!header) ++rows;
    header = false;
  }
  table.values =
      empty({static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, TensorOptions(options.dtype()).device(kCPU));
  if (options.dtype() == kDouble) {
    std::copy(values.begin(), values.end(), table.values.raw<double>());
  } else {
    std::transform(values.begin(), values.end(), table.values.raw<float>(),
                   [](double v) { return static_cast<float>(v); });
  }
  return table;
}

std::vector<std::string> read_lines(const std::string& path) {
  const OpScope op("read_lines");
  const std::vector<uint8_t> bytes = read_file(path, kMostTextBytes);
  std::string_view text = text_of(bytes);
  std::vector<std::string> lines;
  while (!text.empty()) lines.emplace_back(next_line(text));
  return lines;
}

std::string datasets::TextLines::get(size_t index) {
  const OpScope op("TextLines");
  TANDEM_CHECK(index < lines_.size(), IndexError, "index {} is out of range for {} lines; use a lower one", index,
               lines_.size());
  return lines_[index];
}

}  // namespace tandem::data
