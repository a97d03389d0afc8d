// Loops over the formulas of math/binary.h and math/ternary.h, and where: one per formula and compute type, vectorised
// by the compiler. Contract: y_i depends only on a_i and b_i; results at one SIMD level do not depend on n or
// alignment.
#include "tandem/math/ternary.h"

#include "kernels/cpu/simd/elementwise.h"

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

template <class T>
constexpr BinaryTable<T> table() {
  return {run<T, T>, run<T, bool>, run3<T>, where<T>};
}

}  // namespace

const ByCompute<BinaryTable> binary_tables = {table<float>(), table<double>(), table<int64_t>()};

}  // namespace tandem::cpu::TANDEM_SIMD
