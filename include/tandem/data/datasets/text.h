#pragma once
// Text files as data: tables of numbers (CSV), and lines.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// How a CSV file is read: `CSVOptions().separator(';').header(true)`.
class CSVOptions {
 public:
  /// The character between two numbers.
  CSVOptions& separator(char value) { return separator_ = value, *this; }
  /// Whether the first line has the names of the columns.
  CSVOptions& header(bool value) { return header_ = value, *this; }
  /// The dtype of the numbers: f32 or f64.
  CSVOptions& dtype(DType value) { return dtype_ = value, *this; }

  char separator() const { return separator_; }
  bool header() const { return header_; }
  DType dtype() const { return dtype_; }

 private:
  char separator_ = ',';
  bool header_ = false;
  DType dtype_ = kFloat;
};

/// A table: its numbers, [rows, columns] on the CPU, and the names of the columns, which are empty without a header.
struct CSVTable {
  Tensor values;
  std::vector<std::string> names;
};

/// Reads a table of numbers such as "1.5,-2e3,nan". Spaces around numbers, quotes around numbers and names, empty
/// lines,
/// "\r\n" and a byte-order mark are accepted. Throws IoError, which names the file, the line and the column (both
/// counted from 1), for a cell that is empty or no number and for a line with another number of cells than the first;
/// StateError for a separator that could be part of a number, DTypeError for another dtype.
CSVTable read_csv(const std::string& path, const CSVOptions& options = {});

/// Reads the lines of a text file, without the ends of lines ("\n" or "\r\n"). Throws IoError.
std::vector<std::string> read_lines(const std::string& path);

namespace datasets {

/// Item i is line i of a text file. All lines are held in memory.
class TextLines : public Dataset<TextLines, std::string> {
 public:
  /// Throws IoError if the file cannot be read.
  explicit TextLines(const std::string& path) : lines_(read_lines(path)) {}
  /// Throws IndexError unless `index` is below size().
  std::string get(size_t index) override;
  std::optional<size_t> size() const override { return lines_.size(); }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace datasets
}  // namespace tandem::data
#pragma GCC visibility pop
