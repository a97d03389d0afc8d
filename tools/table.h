#pragma once
// Tables of text.
#include <string>
#include <vector>

namespace tools {

/// Rows of cells. The first row has the headings.
class Table {
 public:
  /// `left`: one character per column, 'l' or 'r', for the side to which it is aligned.
  explicit Table(std::string alignment) : alignment_(std::move(alignment)) {}
  /// Adds a row with one cell for each column. Control characters, which a file's names may contain, become "?".
  void add(std::vector<std::string> cells);
  /// Returns the rows as lines, with two spaces between columns.
  std::string text() const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tools
