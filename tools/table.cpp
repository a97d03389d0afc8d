#include "tools/table.h"

#include <algorithm>

namespace tools {
namespace {

/// Returns the number of characters of UTF-8 text.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    std::replace_if(
        cell.begin(), cell.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == 'r' ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace tools
