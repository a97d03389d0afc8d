#pragma once
// The memory of this machine.
#include <cstdint>
#include <optional>

namespace tools {

struct SystemMemory {
  int64_t total = 0, available = 0;  ///< bytes, from /proc/meminfo; 0 if it cannot be read
  std::optional<int64_t> limit;      ///< bytes that the control group allows, if fewer than `total`
};
SystemMemory system_memory();

}  // namespace tools
