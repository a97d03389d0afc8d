// Softmax and cross entropy of a row. Contract: f32 terms are summed in f32 over groups of at most 32, the groups in
// f64; the order depends on n alone. A row of only -inf gives NaN, as in PyTorch.
#include "kernels/cpu/simd/softmax.h"

#include "kernels/cpu/simd/fold.h"
#include "tandem/math/reduce.h"
#include "tandem/math/softmax.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

constexpr int64_t kBlock = 1024;

template <class T, class Term>
TANDEM_MATH T sum(int64_t n, Term term) {
  double total = 0;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t count = n - b < kBlock ? n - b : kBlock;
    total += static_cast<double>(fold_sum<T>(count, [&](int64_t i) { return term(b + i); }));
  }
  return static_cast<T>(total);
}

template <class T>
TANDEM_MATH T max_of(const T* x, int64_t n) {
  return fold<T>(
      n, math::lowest<T>(), [&](int64_t i) { return x[i]; }, [](T p, T q) { return math::maximum(p, q); });
}

template <class T>
void normaliser(T* max_out, T* log_sum, const T* x, int64_t n) {
  const T max = max_of(x, n);
  double total = 0;
  T block[kBlock];
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t count = n - b < kBlock ? n - b : kBlock;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) block[i] = math::softmax_term(x[b + i], max);
    total += static_cast<double>(sum<T>(count, [&](int64_t i) { return block[i]; }));
  }
  *max_out = max;
  *log_sum = static_cast<T>(__builtin_log(total));
}

template <class T>
void forward(T* y, const T* x, int64_t n, bool log) {
  if (log) {
    T max, log_sum;
    normaliser(&max, &log_sum, x, n);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = math::log_softmax(x[i], max, log_sum);
  } else {
    const T max = max_of(x, n);
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

template <class T>
void cross_entropy_backward(T* gx, const T* x, int64_t n, T max, T log_sum, T s) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) gx[i] = math::cross_entropy_backward(x[i], max, log_sum, s);
}

template <class T>
constexpr SoftmaxTable<T> kTable = {forward<T>, backward<T>, normaliser<T>, cross_entropy_backward<T>};

}  // namespace

const SoftmaxTables softmax_tables = {kTable<float>, kTable<double>};

}  // namespace tandem::cpu::TANDEM_SIMD
