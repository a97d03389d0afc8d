#pragma once
// What the CPU backend uses of this processor.
#include <string>

#include "tandem/base/dtype.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the instruction sets of tandem's own CPU kernels: "baseline", "avx2" or "avx512". That is the highest level
/// that the build and the processor have, or a lower one that the environment variable TANDEM_SIMD names.
std::string get_cpu_capability();

/// Whether matrix products and convolutions on the CPU use instructions for the dtype. If not, f16 and bf16 are widened
/// to f32: autocast to them then saves memory, but no time.
bool cpu_multiplies(DType dtype);

/// The library that computes matrix products and convolutions on the CPU.
struct CpuProductLibrary {
  std::string name;     ///< "oneDNN", "OpenBLAS", or "none": tandem's own loops
  std::string version;  ///< of the library that is loaded, such as "3.4.1"; empty if it does not say
  std::string isa;      ///< the highest instruction set that it uses, by its own name: "avx512_core_bf16"; may be empty
};
/// Returns the library of this build.
CpuProductLibrary cpu_product_library();

}  // namespace tandem
#pragma GCC visibility pop
