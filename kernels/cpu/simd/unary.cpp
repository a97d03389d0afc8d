// Loops over the unary formulas of math/unary.h: one per formula and compute type, vectorised by the compiler.
// Contract: y_i depends only on x_i; results at one SIMD level do not depend on n or alignment.
#include "tandem/math/unary.h"

#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/gelu.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class Op, class T, class Y>
[[gnu::noinline]] bool loop(Y* y, const T* x, int64_t n, T a, T b) {
  if constexpr (requires(Op op) {
                  { op(a, a, b) } -> std::same_as<Y>;
                }) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = Op()(x[i], a, b);
    return true;
  } else {
    return false;
  }
}

template <class T, class Y>
bool run(Unary op, Y* y, const T* x, int64_t n, T a, T b) {
  switch (op) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) \
  case Unary::NAME:                               \
    return loop<math::unary::NAME>(y, x, n, a, b);
#include "tandem/math/unary.inc"
  }
  return false;
}

/// sin, cos and tan of arguments outside the range of their vector formulas. Returns false if there are none.
bool large_trig(Unary op, float* y, const float* x, int64_t n) {
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) {
    const float magnitude = math::abs(x[i]);
    largest = magnitude > largest ? magnitude : largest;
  }
  if (largest <= math::kMaxTrigArgument) return false;
  for (int64_t i = 0; i < n; ++i) {
    y[i] = op == Unary::sin ? __builtin_sinf(x[i]) : (op == Unary::cos ? __builtin_cosf(x[i]) : __builtin_tanf(x[i]));
  }
  return true;
}

bool run_f32(Unary op, float* y, const float* x, int64_t n, float a, float b) {
  if (op == Unary::gelu && gelu_row(y, x, n)) return true;
  if ((op == Unary::sin || op == Unary::cos || op == Unary::tan) && large_trig(op, y, x, n)) return true;
  return run(op, y, x, n, a, b);
}

}  // namespace

const ByCompute<UnaryTable> unary_tables = {
    {run_f32, run<float, bool>}, {run<double, double>, run<double, bool>}, {run<int64_t, int64_t>, run<int64_t, bool>}};

}  // namespace tandem::cpu::TANDEM_SIMD
