#include "tandem/tensor/cpu_capability.h"

#include "kernels/cpu/products.h"
#include "kernels/cpu/simd/dispatch.h"

namespace tandem {

std::string get_cpu_capability() { return cpu::name(cpu::simd_level()); }

bool cpu_multiplies(DType dtype) { return dtype == kDouble || cpu::products::computes_in(dtype); }

CpuProductLibrary cpu_product_library() { return cpu::products::describe(); }

}  // namespace tandem
