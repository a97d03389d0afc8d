// Softmax of a row. Contract: f32 terms are summed in f32 over groups of at most 32, the groups in f64; the order
// depends on n alone. A row of -inf only gives NaN, as in PyTorch.
#include "kernels/cpu/simd/softmax.h"

#include "tandem/math/reduce.h"
#include "tandem/math/softmax.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

constexpr int kLanes = 32;
constexpr int64_t kBlock = 1024;

/// combine over i < n of term(i), in lanes that stay in registers; `nothing` is what changes nothing.
template <class T, class Term, class Combine>
TANDEM_MATH T fold(int64_t n, T nothing, Term term, Combine combine) {
  T lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = nothing;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] = combine(lanes[l], term(i + l));
  }
  for (int l = 0; i + l < n; ++l) lanes[l] = combine(lanes[l], term(i + l));
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = combine(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

template <class T, class Term>
TANDEM_MATH T sum(int64_t n, Term term) {
  double total = 0;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t count = n - b < kBlock ? n - b : kBlock;
    total += static_cast<double>(fold<T>(
        count, T(0), [&](int64_t i) { return term(b + i); }, [](T p, T q) { return p + q; }));
  }
  return static_cast<T>(total);
}

template <class T>
void forward(T* y, const T* x, int64_t n, bool log) {
  const T max = fold<T>(
      n, math::lowest<T>(), [&](int64_t i) { return x[i]; }, [](T p, T q) { return math::maximum(p, q); });
  if (log) {
    // The terms only live in a block at a time: y may be x, which the result still needs.
    double total = 0;
    T block[kBlock];
    for (int64_t b = 0; b < n; b += kBlock) {
      const int64_t count = n - b < kBlock ? n - b : kBlock;
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) block[i] = math::softmax_term(x[b + i], max);
      total += static_cast<double>(sum<T>(count, [&](int64_t i) { return block[i]; }));
    }
    const T log_sum = static_cast<T>(__builtin_log(total));
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = math::log_softmax(x[i], max, log_sum);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = math::softmax_term(x[i], max);
    const T total = sum<T>(n, [&](int64_t i) { return y[i]; });
    const T scale = T(1) / total;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

template <class T>
void backward(T* gx, const T* gy, const T* y, int64_t n, bool log) {
  if (log) {
    const T total = sum<T>(n, [&](int64_t i) { return gy[i]; });
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) gx[i] = math::log_softmax_backward(gy[i], y[i], total);
  } else {
    const T dot = sum<T>(n, [&](int64_t i) { return gy[i] * y[i]; });
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) gx[i] = math::softmax_backward(gy[i], y[i], dot);
  }
}

}  // namespace

const SoftmaxTables softmax_tables = {{forward<float>, backward<float>}, {forward<double>, backward<double>}};

}  // namespace tandem::cpu::TANDEM_SIMD
