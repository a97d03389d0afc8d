#include "tools/system_memory.h"

#include <fmt/format.h>

#include <fstream>

namespace tools {

SystemMemory system_memory() {
  SystemMemory memory;
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  for (int64_t kib = 0; info >> key >> kib && std::getline(info, unit);) {
    if (key == "MemTotal:") memory.total = kib << 10;
    if (key == "MemAvailable:") memory.available = kib << 10;
  }
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(file) >> limit && limit < memory.total) memory.limit = limit;
  }
  return memory;
}

std::string bytes_text(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace tools
