#pragma once
// Text output of the tools in amp/: aligned tables and JSON. Internal.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::amp::text {

/// Rows of cells in aligned columns: the first column left-aligned, the others right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string str() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// A JSON string: quoted and escaped.
std::string json(std::string_view s);
/// A JSON number with all digits; inf and NaN, which JSON lacks, as "inf", "-inf" and "nan".
std::string json(double x);
/// The shortest digits that read back as the same number; "inf", "-inf", "nan".
std::string number(double x);
/// "12 B", "3.4 MiB"
std::string bytes(int64_t n);

}  // namespace tandem::amp::text
