// Selects the SIMD level, at the first use.
#include "kernels/cpu/simd/dispatch.h"

#if defined(__linux__) && defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "tandem/base/warn.h"

namespace tandem::cpu {

const char* name(SimdLevel level) {
  constexpr const char* names[] = {"baseline", "avx2", "avx512"};
  return names[static_cast<int>(level)];
}

bool simd_level_available(SimdLevel level) {
#if (defined(__x86_64__) || defined(_M_X64)) && !defined(TANDEM_BASELINE_ONLY)
  switch (level) {
    case SimdLevel::baseline:
      return true;
    case SimdLevel::avx2:  // processors with AVX2 have F16C, which clang 14's __builtin_cpu_supports does not know
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case SimdLevel::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             simd_level_available(SimdLevel::avx2);
  }
  return false;
#else
  return level == SimdLevel::baseline;
#endif
}

namespace {

SimdLevel choose() {
  const char* wanted = std::getenv("TANDEM_SIMD");
  const auto is_wanted = [&](SimdLevel level) { return std::string_view(wanted) == name(level); };
  if (wanted && *wanted && std::none_of(std::begin(kSimdLevels), std::end(kSimdLevels), is_wanted)) {
    std::string names;
    for (const SimdLevel level : kSimdLevels) names += std::string(names.empty() ? "" : ", ") + name(level);
    warn("TANDEM_SIMD is '" + std::string(wanted) + "' and is ignored; its values are " + names);
  }
  SimdLevel best = SimdLevel::baseline;
  for (SimdLevel level : kSimdLevels) {
    if (!simd_level_available(level)) continue;
    best = level;
    if (wanted && is_wanted(level)) break;
  }
  return best;
}

std::atomic<SimdLevel>& current() {
  static std::atomic<SimdLevel> level{choose()};
  return level;
}

}  // namespace

SimdLevel simd_level() { return current().load(std::memory_order_relaxed); }

bool simd_multiplies_bf16() {
#if (defined(__x86_64__) || defined(_M_X64)) && !defined(TANDEM_BASELINE_ONLY)
  static const bool available = [] {
    const char* const wanted = std::getenv("TANDEM_SIMD_BF16");
    return __builtin_cpu_supports("avx512bf16") && !(wanted && std::string_view(wanted) == "0");
  }();
  return available && simd_level() == SimdLevel::avx512;
#else
  return false;
#endif
}

bool simd_has_tiles() {
#if defined(__linux__) && defined(__x86_64__) && !defined(TANDEM_BASELINE_ONLY)
  static const bool available = [] {
    const char* const wanted = std::getenv("TANDEM_SIMD_TILES");
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
    if ((wanted && std::string_view(wanted) == "0") || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    // Linux saves the registers of the tiles for processes that ask for it.
    constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return (d & kBf16) != 0 && (d & kTiles) != 0 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return available && simd_multiplies_bf16();
#else
  return false;
#endif
}

bool simd_rounds_bf16() {
#if defined(__linux__) && defined(__aarch64__) && !defined(__clang__) && !defined(TANDEM_BASELINE_ONLY)
  static const bool available = [] {
    const char* const wanted = std::getenv("TANDEM_SIMD_BF16");
    constexpr unsigned long kBf16 = 1ul << 14;  // HWCAP2_BF16, which old headers lack
    return (getauxval(AT_HWCAP2) & kBf16) != 0 && !(wanted && std::string_view(wanted) == "0");
  }();
  return available;
#else
  return false;
#endif
}

void set_simd_level(SimdLevel level) { current().store(level, std::memory_order_relaxed); }

}  // namespace tandem::cpu
