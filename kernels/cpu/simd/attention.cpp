// Steps of attention. Contract: sums of at most 256 terms in the type of the blocks.
#include "kernels/cpu/simd/attention.h"

#include "kernels/cpu/simd/attention_bf16.h"
#include "kernels/cpu/simd/fold.h"
#include "tandem/math/approx.h"
#include "tandem/math/reduce.h"
#include "tandem/math/softmax.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class T>
void scale(T* y, int64_t n, T factor) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] *= factor;
}

template <class T>
T max(const T* s, int64_t n) {
  return fold<T>(
      n, s[0], [&](int64_t i) { return s[i]; }, [](T p, T q) { return math::maximum(p, q); });
}

template <class T>
T exp_and_sum(T* s, int64_t n, T max) {
  return fold_sum<T>(n, [&](int64_t i) { return s[i] = math::softmax_weight(s[i], max); });
}

template <class T>
T dot(const T* x, const T* y, int64_t n) {
  return fold_sum<T>(n, [&](int64_t i) { return x[i] * y[i]; });
}

template <class T>
void add(T* s, const T* mask, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) s[i] += mask[i];
}

template <class T>
void select(T* s, const bool* kept, int64_t n, T value) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) s[i] = kept[i] ? s[i] : value;
}

template <class T>
void softmax_backward(T* __restrict g, T* __restrict s, int64_t n, T max, T log_sum, T dot) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    s[i] = math::softmax_weight(s[i] - max, log_sum);
    g[i] = math::softmax_backward(g[i], s[i], dot);
  }
}

template <class T>
constexpr AttentionTable<T> kTable = {scale<T>, max<T>, exp_and_sum<T>, dot<T>, add<T>, select<T>, softmax_backward<T>};

}  // namespace

const AttentionTables attention_tables = {kTable<float>, kTable<double>, kBf16Table, kTilesTable};

}  // namespace tandem::cpu::TANDEM_SIMD
