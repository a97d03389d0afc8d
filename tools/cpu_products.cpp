#include "tools/cpu_products.h"

#include <fmt/format.h>
#include <tandem/ops/matmul.h>
#include <tandem/tensor/factories.h>

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

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

std::string simd_level() {
  // The rule of kernels/cpu/simd/dispatch.cpp, which a shared library does not export.
  std::string_view levels[] = {"baseline", "", ""};
#if defined(__x86_64__) && !defined(TANDEM_BASELINE_ONLY)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    levels[1] = "avx2";
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      levels[2] = "avx512";
    }
  }
#endif
  const char* wanted = std::getenv("TANDEM_SIMD");
  std::string_view best;
  for (const std::string_view level : levels) {
    if (level.empty()) break;
    best = level;
    if (wanted && level == wanted) break;
  }
  return std::string(best);
}

OneDnn onednn() {
  const dnnl_version_t* v = dnnl_version();
  OneDnn result{fmt::format("{}.{}.{}", v->major, v->minor, v->patch), "none"};
  for (const Isa& isa : kIsas) {
    if (has(isa.value)) result.isa = isa.name;
  }
  return result;
}

bool multiplies(tandem::DType dtype) {
  // The rule of kernels/cpu/onednn/primitives.cpp.
  if (dtype == tandem::kBFloat16) return has(dnnl::cpu_isa::avx512_core_bf16);
  if (dtype == tandem::kHalf) return has(dnnl::cpu_isa::avx512_core_fp16);
  return dtype == tandem::kFloat || dtype == tandem::kDouble;
}

}  // namespace tools
