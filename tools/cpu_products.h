#pragma once
// How tandem computes on this processor: its SIMD level, and the dtypes whose matrix products are fast.
#include <tandem/base/dtype.h>

#include <string>

namespace tools {

/// Returns the SIMD level of tandem's own kernels, "baseline", "avx2" or "avx512": the highest that the build and the
/// processor have, or the one that the environment variable TANDEM_SIMD names.
std::string simd_level();

/// The library that computes matrix products and convolutions on the CPU.
struct ProductLibrary {
  std::string name;     ///< "oneDNN", "OpenBLAS", or "none": plain loops
  std::string version;  ///< of oneDNN: of the library that is loaded, such as "3.4.1"
  std::string isa;      ///< of oneDNN: the instruction set that it uses at most, by its name for it: "avx512_core_bf16"
};
ProductLibrary product_library();

/// Whether products of f32, bf16 or f16 use instructions for this dtype. tandem widens the others to f32.
bool multiplies(tandem::DType dtype);

}  // namespace tools
