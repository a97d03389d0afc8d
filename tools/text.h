#pragma once
// Numbers as text.
#include <cstdint>
#include <string>
#include <vector>

namespace tools {

/// Returns "512 B", "3.2 MiB", "15.6 GiB".
std::string bytes_text(int64_t bytes);
/// Returns "1 value", "3 values".
std::string count_text(int64_t count, const char* noun);
/// Returns "a, b, c, d, e and 7 more".
std::string some_of(const std::vector<std::string>& names);

}  // namespace tools
