// Products by oneDNN.
#include <fmt/format.h>
#include <tandem/ops/matmul.h>
#include <tandem/tensor/factories.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "tools/cpu_products.h"

namespace tools {
namespace {

struct Isa {
  dnnl::cpu_isa value;
  const char* name;
};
// From the least to the most.
constexpr Isa kIsas[] = {
    {dnnl::cpu_isa::sse41, "sse41"},
    {dnnl::cpu_isa::avx, "avx"},
    {dnnl::cpu_isa::avx2, "avx2"},
    {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
    {dnnl::cpu_isa::avx2_vnni_2, "avx2_vnni_2"},
    {dnnl::cpu_isa::avx512_core, "avx512_core"},
    {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
    {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
    {dnnl::cpu_isa::avx512_core_fp16, "avx512_core_fp16"},
    {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
    {dnnl::cpu_isa::avx512_core_amx_fp16, "avx512_core_amx_fp16"},
};

/// Returns the bits of the instruction sets that oneDNN uses in this process.
unsigned isa_bits() {
  static const unsigned bits = [] {
    // tandem asks oneDNN for f16 on AMX before its first product, after which the choice is final.
    const tandem::Tensor x = tandem::ones({64, 64});
    tandem::matmul(x, x);
    return static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  }();
  return bits;
}

bool has(dnnl::cpu_isa isa) { return (isa_bits() & static_cast<unsigned>(isa)) == static_cast<unsigned>(isa); }

}  // namespace

ProductLibrary product_library() {
  const dnnl_version_t* v = dnnl_version();
  const char* most = "none";
  for (const Isa& isa : kIsas) {
    if (has(isa.value)) most = isa.name;
  }
  return {"oneDNN", fmt::format("{}.{}.{}", v->major, v->minor, v->patch), most};
}

bool multiplies(tandem::DType dtype) {
  // The rule of kernels/cpu/onednn/primitives.cpp.
  if (dtype == tandem::kBFloat16) return has(dnnl::cpu_isa::avx512_core_bf16);
  if (dtype == tandem::kHalf) return has(dnnl::cpu_isa::avx512_core_fp16);
  return dtype == tandem::kFloat || dtype == tandem::kDouble;
}

}  // namespace tools
