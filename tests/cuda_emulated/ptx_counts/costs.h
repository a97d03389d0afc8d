#pragma once
// The costs of the kernels that a piece of a program launches: instructions of nvcc's PTX, counted while they run on
// the emulated device, and what their accesses of memory cost.
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tandem::ptx_counts {

struct Costs {
  uint64_t launches = 0;
  /// Executed by warps; those of a lane whose guard is false, or that waits for others of its warp, count as well.
  uint64_t instructions = 0, f64_instructions = 0, matrix_products = 0;
  uint64_t sectors = 0, least_sectors = 0;  ///< ptx::Count has these four
  uint64_t wavefronts = 0, least_wavefronts = 0;

  Costs& operator+=(const Costs& other);
};

/// Runs `body`, and returns the costs of its kernels by their names, such as softmax_rows<float, false, true>.
std::map<std::string, Costs> costs_of(const std::function<void()>& body);

}  // namespace tandem::ptx_counts
