#pragma once
// What this machine can do at most, measured in this process: the yardsticks beside which kernels are reported.
#include <cstddef>

namespace bench {

/// f32 multiply-adds from registers, in GFLOP/s, with all of OpenMP's threads. Measured at the first call.
double fma_peak_gflops();
/// Copies, or only reads, `bytes` bytes with all of OpenMP's threads.
void stream_copy(void* to, const void* from, size_t bytes);
void stream_read(const void* from, size_t bytes);

}  // namespace bench
