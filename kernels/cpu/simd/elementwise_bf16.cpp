// Loops over the formulas of math/unary.h and math/binary.h from bf16 to bf16. Contract: each element is computed in
// f32 and rounded once, as if it were widened and narrowed apart from the formula.
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/gelu.h"
#include "kernels/cpu/simd/row_loops.h"
#include "tandem/math/binary.h"
#include "tandem/math/unary.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class Op>
[[gnu::noinline]] bool loop(uint16_t* y, const uint16_t* x, int64_t n, float a, float b) {
  if constexpr (requires(Op op) {
                  { op(a, a, b) } -> std::same_as<float>;
                }) {
    map_row(
        y, n, [a, b](float x) { return Op()(x, a, b); }, Row<uint16_t>(x, n));
    return true;
  } else {
    return false;
  }
}

bool unary(Unary op, uint16_t* y, const uint16_t* x, int64_t n, float a, float b) {
  if (op == Unary::gelu && gelu_row(y, x, n)) return true;
  if (op == Unary::sin || op == Unary::cos || op == Unary::tan) return false;  // large arguments need other formulas
  switch (op) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) \
  case Unary::NAME:                               \
    return loop<math::unary::NAME>(y, x, n, a, b);
#include "tandem/math/unary.inc"
  }
  return false;
}

template <class Op>
[[gnu::noinline]] bool loop2(uint16_t* y, const uint16_t* a, const uint16_t* b, int64_t n, float alpha) {
  if constexpr (requires(Op op) {
                  { op(alpha, alpha, alpha) } -> std::same_as<float>;
                }) {
    map_row(
        y, n, [alpha](float a, float b) { return Op()(a, b, alpha); }, Row<uint16_t>(a, n), Row<uint16_t>(b, n));
    return true;
  } else {
    return false;
  }
}

bool binary(Binary op, uint16_t* y, const uint16_t* a, const uint16_t* b, int64_t n, float alpha) {
  if (op == Binary::gelu_backward && gelu_backward_row(y, a, b, n)) return true;
  switch (op) {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) \
  case Binary::NAME:                                     \
    return loop2<math::binary::NAME>(y, a, b, n, alpha);
#include "tandem/math/binary.inc"
  }
  return false;
}

}  // namespace

const Bf16Table bf16_table = {unary, binary};

}  // namespace tandem::cpu::TANDEM_SIMD
