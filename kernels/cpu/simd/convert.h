#pragma once
// Table of conversions between contiguous runs of any dtype and of a compute type.
#include "kernels/cpu/simd/by_compute.h"
#include "tandem/base/dtype.h"

namespace tandem::cpu {

/// Indexed by dtype. Source and destination must not overlap. Rounds once, to nearest even. Floating to integer
/// truncates (out-of-range values give unspecified results). Conversion to bool is x != 0.
template <class C>
struct ConvertTable {
  void (*load[kNumDTypes])(C* dst, const void* src, int64_t n);
  void (*store[kNumDTypes])(void* dst, const C* src, int64_t n);
};
TANDEM_SIMD_TABLE(ByCompute<ConvertTable>, convert_tables)

}  // namespace tandem::cpu
