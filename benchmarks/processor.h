#pragma once
// Which processor the numbers are from.
#include <string>

namespace bench {

/// Name, family and model, and the instruction sets that matter to mixed precision:
/// "AMD EPYC (family 26 model 2; avx512f avx512_bf16)".
std::string processor();
/// True when matrix products of f16 need not be widened to f32 (AVX512-FP16 or AMX-FP16).
bool computes_f16();

}  // namespace bench
