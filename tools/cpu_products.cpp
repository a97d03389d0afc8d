#include "tools/cpu_products.h"

#include <cstdlib>
#include <string_view>

namespace tools {

std::string simd_level() {
  // The rule of kernels/cpu/simd/dispatch.cpp, which a shared library does not export.
  std::string_view levels[] = {"baseline", "", ""};
#if defined(__x86_64__) && !defined(TANDEM_BASELINE_ONLY)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    levels[1] = "avx2";
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      levels[2] = "avx512";
    }
  }
#endif
  const char* wanted = std::getenv("TANDEM_SIMD");
  std::string_view best;
  for (const std::string_view level : levels) {
    if (level.empty()) break;
    best = level;
    if (wanted && level == wanted) break;
  }
  return std::string(best);
}

}  // namespace tools
