// The switch of separable_fma.h: masks that the kernels read, for the elements of a register that each instruction
// computes.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "cuda_emulated/emulator.h"

extern "C" {
/// All ones if products and sums are rounded separately, zero if they are fused.
alignas(32) uint32_t tandem_separate_ss[4], tandem_separate_sd[4], tandem_separate_ps[8], tandem_separate_pd[8];
/// The bits of the signs.
alignas(32) extern const uint64_t tandem_sign_ss[2] = {0x80000000u, 0}, tandem_sign_sd[2] = {uint64_t{1} << 63, 0},
                                  tandem_sign_ps[4] = {0x8000000080000000u, 0x8000000080000000u, 0x8000000080000000u,
                                                       0x8000000080000000u},
                                  tandem_sign_pd[4] = {uint64_t{1} << 63, uint64_t{1} << 63, uint64_t{1} << 63,
                                                       uint64_t{1} << 63};
}

namespace tandem::cuda::emulated {

bool fuse_multiply_adds(bool fuse) {
  const bool before = tandem_separate_ss[0] == 0;
  const uint32_t mask = fuse ? 0 : ~0u;
  tandem_separate_ss[0] = mask;
  std::fill_n(tandem_separate_sd, 2, mask);
  std::fill(std::begin(tandem_separate_ps), std::end(tandem_separate_ps), mask);
  std::fill(std::begin(tandem_separate_pd), std::end(tandem_separate_pd), mask);
  return before;
}

}  // namespace tandem::cuda::emulated
