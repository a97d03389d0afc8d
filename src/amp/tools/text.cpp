#include "src/amp/tools/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tandem::amp::text {

std::string Table::str() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string json(std::string_view s) {
  std::string text = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string number(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }
std::string json(double x) { return std::isfinite(x) ? number(x) : json(std::string_view(number(x))); }

std::string bytes(int64_t n) {
  if (n < 1024) return fmt::format("{} B", n);
  if (n < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(n) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(n) / (1024 * 1024));
}

}  // namespace tandem::amp::text
