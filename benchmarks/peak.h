#pragma once
// The limits of this machine, measured in this process, for comparison with kernels.
#include <cstddef>

namespace bench {

/// Returns the rate of f32 multiply-adds from registers in GFLOP/s, with all OpenMP threads. The first call measures
/// it.
double fma_peak_gflops();
/// Copy or only read `bytes` bytes with all OpenMP threads.
void stream_copy(void* to, const void* from, size_t bytes);
void stream_read(const void* from, size_t bytes);

}  // namespace bench
