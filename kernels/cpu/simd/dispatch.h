#pragma once
// Which of the instruction sets that kernels/cpu/simd/ is compiled for runs on this processor.
//
// A file under simd/ is compiled once per level (cmake/simd.cmake) and defines a table of functions:
//
//   // optim_table.h                                        // simd/optim.cpp
//   struct OptimTable { void (*sgd)(...); };                namespace tandem::cpu::TANDEM_SIMD {
//   TANDEM_SIMD_TABLE(OptimTable, optim_table)              const OptimTable optim_table = {sgd};
//                                                           }
//
// and other files call `cpu::optim_table().sgd(...)`.
//
// In files under simd/, whatever may be compiled out of line must lie in the namespace TANDEM_SIMD or in an unnamed one
// inside it: the linker merges equal names, and a copy compiled for AVX-512 must not serve an older processor. So no
// std:: templates there, and from headers only what is marked TANDEM_MATH (always inlined).
#include <cstdint>

namespace tandem::cpu {

enum class SimdLevel : uint8_t { baseline, avx2, avx512 };
inline constexpr SimdLevel kSimdLevels[] = {SimdLevel::baseline, SimdLevel::avx2, SimdLevel::avx512};

/// True when this build and this processor can run the level.
bool simd_level_available(SimdLevel level);
/// The level in use: the highest available, or the one that the environment variable TANDEM_SIMD names (baseline, avx2
/// or avx512), if that is available.
SimdLevel simd_level();
/// For tests: changes the level; it must be available. Not to be called while kernels run.
void set_simd_level(SimdLevel level);
/// "baseline", "avx2" or "avx512".
const char* name(SimdLevel level);

}  // namespace tandem::cpu

#if (defined(__x86_64__) || defined(_M_X64)) && !defined(TANDEM_BASELINE_ONLY)
#define TANDEM_SIMD_TABLE(TYPE, NAME)                                                                          \
  namespace baseline {                                                                                         \
  extern const TYPE NAME;                                                                                      \
  }                                                                                                            \
  namespace avx2 {                                                                                             \
  extern const TYPE NAME;                                                                                      \
  }                                                                                                            \
  namespace avx512 {                                                                                           \
  extern const TYPE NAME;                                                                                      \
  }                                                                                                            \
  inline const TYPE& NAME() {                                                                                  \
    const SimdLevel level = simd_level();                                                                      \
    return level == SimdLevel::avx512 ? avx512::NAME : level == SimdLevel::avx2 ? avx2::NAME : baseline::NAME; \
  }
#else
#define TANDEM_SIMD_TABLE(TYPE, NAME) \
  namespace baseline {                \
  extern const TYPE NAME;             \
  }                                   \
  inline const TYPE& NAME() { return baseline::NAME; }
#endif
