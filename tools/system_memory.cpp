#include "tools/system_memory.h"

#include <fstream>
#include <string>

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

}  // namespace tools
