#pragma once
// Selects the instruction set, among those that kernels/cpu/simd/ is compiled for, to use on this processor.
//
// A file under simd/ is compiled once per level (cmake/simd.cmake) and defines a table of functions:
//
//   // simd/optim.h                                         // simd/optim.cpp
//   struct OptimTable { void (*sgd)(...); };                namespace tandem::cpu::TANDEM_SIMD {
//   TANDEM_SIMD_TABLE(OptimTable, optim_table)              const OptimTable optim_table = {sgd};
//                                                           }
//
// Other files call `cpu::optim_table().sgd(...)`.
//
// In files under simd/, everything that may be compiled out of line must be in the namespace TANDEM_SIMD or in an
// unnamed namespace inside it. The linker merges equal names, and a copy compiled for AVX-512 must not be used on an
// older processor. So these files use no std:: templates, and from headers only functions marked TANDEM_MATH (always
// inlined).
#include <cstdint>

namespace tandem::cpu {

enum class SimdLevel : uint8_t { baseline, avx2, avx512 };
inline constexpr SimdLevel kSimdLevels[] = {SimdLevel::baseline, SimdLevel::avx2, SimdLevel::avx512};

/// Whether this build and this processor can run the level.
bool simd_level_available(SimdLevel level);
/// The level in use: the highest available one, or the one named by the environment variable TANDEM_SIMD (baseline,
/// avx2 or avx512), if that is available.
SimdLevel simd_level();
/// Whether the level in use is avx512 and the processor has the bf16 products of AVX512_BF16, which single files use
/// beyond the level. TANDEM_SIMD_BF16=0 in the environment turns them off.
bool simd_multiplies_bf16();
/// Whether, beyond that, the processor multiplies bf16 on the tiles of AMX, and the system lets this process use them.
/// TANDEM_SIMD_TILES=0 in the environment turns them off.
bool simd_has_tiles();
/// Whether the processor is a 64-bit ARM with the instruction that rounds f32 to bf16 (FEAT_BF16), which single files
/// use beyond the baseline. TANDEM_SIMD_BF16=0 turns it off. Always false in a build with clang.
bool simd_rounds_bf16();
/// For tests: changes the level, which must be available. Must not be called while kernels run.
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
