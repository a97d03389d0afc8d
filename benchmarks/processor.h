#pragma once
// The processor on which the numbers were measured.
#include <string>

namespace bench {

/// Returns the name, family and model, and the instruction sets that matter to mixed precision:
/// "AMD EPYC (family 26 model 2; avx512f avx512_bf16)".
std::string processor();
/// Returns whether f16 matrix products need no widening to f32 (AVX512-FP16 or AMX-FP16).
bool computes_f16();

}  // namespace bench
