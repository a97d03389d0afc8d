// Loops over the formulas of math/binary.h and math/ternary.h, and where: one per formula and compute type, vectorised
// by the compiler. Contract: y_i depends only on a_i and b_i; results at one SIMD level do not depend on n or
// alignment.
#include "tandem/math/ternary.h"

#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/gelu.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class Op, class T, class Y>
[[gnu::noinline]] bool loop(Y* y, const T* a, const T* b, int64_t n, T alpha) {
  if constexpr (requires(Op op) {
                  { op(alpha, alpha, alpha) } -> std::same_as<Y>;
                }) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = Op()(a[i], b[i], alpha);
    return true;
  } else {
    return false;
  }
}

template <class T, class Y>
bool run(Binary op, Y* y, const T* a, const T* b, int64_t n, T alpha) {
  switch (op) {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) \
  case Binary::NAME:                                     \
    return loop<math::binary::NAME>(y, a, b, n, alpha);
#include "tandem/math/binary.inc"
  }
  return false;
}

template <class Op, class T>
[[gnu::noinline]] bool loop3(T* y, const T* a, const T* b, const T* c, int64_t n, T alpha) {
  if constexpr (requires(Op op) { op(alpha, alpha, alpha, alpha); }) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = Op()(a[i], b[i], c[i], alpha);
    return true;
  } else {
    return false;
  }
}

template <class T>
bool run3(Ternary op, T* y, const T* a, const T* b, const T* c, int64_t n, T alpha) {
  switch (op) {
#define TANDEM_TERNARY_IF(CONDITION, NAME, FORMULA) \
  case Ternary::NAME:                               \
    return loop3<math::ternary::NAME>(y, a, b, c, n, alpha);
#include "tandem/math/ternary.inc"
  }
  return false;
}

template <class T>
void where(T* y, const bool* condition, const T* a, const T* b, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? a[i] : b[i];
}

bool run_f32(Binary op, float* y, const float* a, const float* b, int64_t n, float alpha) {
  if (op == Binary::gelu_backward && gelu_backward_row(y, a, b, n)) return true;
  return run(op, y, a, b, n, alpha);
}

template <class T>
constexpr BinaryTable<T> table() {
  return {run<T, T>, run<T, bool>, run3<T>, where<T>};
}

}  // namespace

const ByCompute<BinaryTable> binary_tables = {
    {run_f32, run<float, bool>, run3<float>, where<float>}, table<double>(), table<int64_t>()};

}  // namespace tandem::cpu::TANDEM_SIMD
