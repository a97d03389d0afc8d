#pragma once
// How tandem computes on this processor: its SIMD level, and the dtypes whose matrix products are fast.
#include <tandem/base/dtype.h>

#include <string>

namespace tools {

/// Returns the SIMD level of tandem's own kernels, "baseline", "avx2" or "avx512": the highest that the build and the
/// processor have, or the one that the environment variable TANDEM_SIMD names.
std::string simd_level();

/// oneDNN, which computes matrix products and convolutions on the CPU.
struct OneDnn {
  std::string version;  ///< of the library that is loaded, such as "3.4.1"
  std::string isa;      ///< the instruction set that it uses at most, by its name for it: "avx512_core_bf16"
};
OneDnn onednn();

/// Whether products of f32, bf16 or f16 use instructions for this dtype. tandem widens the others to f32.
bool multiplies(tandem::DType dtype);

}  // namespace tools
