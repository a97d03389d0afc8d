// Softmax and cross entropy of a row. Contract: f32 terms are summed in f32 over groups of at most 32, the groups in
// f64; the order depends on n alone. A row of only -inf gives NaN, as in PyTorch.
#include "kernels/cpu/simd/softmax.h"

#include "kernels/cpu/simd/row_loops.h"
#include "tandem/math/reduce.h"
#include "tandem/math/softmax.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

/// Ignores NaN, which makes every result NaN through its own term.
template <class T>
TANDEM_MATH T larger(T p, T q) {
  return p < q ? q : p;
}

template <class T>
TANDEM_MATH Compute<T> max_of(const Row<T>& x, int64_t n) {
  using C = Compute<T>;
  if constexpr (kPairs<T>) {
    const C last = n % 2 != 0 ? x.last() : math::lowest<C>();
    return fold<C>(
        steps<T>(n), last, [&](int64_t i) { return larger(x.first(i), x.second(i)); }, larger<C>);
  } else {
    return fold<C>(
        n, math::lowest<C>(), [&](int64_t i) { return x.first(i); }, larger<C>);
  }
}

/// Sets the terms of the sum, and returns their sum.
template <class T>
TANDEM_MATH double set_terms(const Buffer<T>& terms, const Row<T>& x, int64_t n, Compute<T> max) {
  using C = Compute<T>;
  for_row<T>(
      n, [&](C& term, C x) { term = math::softmax_weight(x, max); }, terms, x);
  return sum_row<T>(
      n, [](C term) { return term; }, terms);
}

/// log(sum exp(x - max)), in blocks that stay in cache.
template <class T>
TANDEM_MATH Compute<T> log_sum_of(const T* x, int64_t n, Compute<T> max) {
  constexpr int64_t kBlock = 1024;
  Compute<T> block[kBlock];
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    total += set_terms(Buffer<T>(block, count), Row<T>(x + begin, count), count, max);
  }
  return static_cast<Compute<T>>(__builtin_log(total));
}

template <class T>
void normaliser(T* max, T* log_sum, const T* x, int64_t n) {
  *max = max_of(Row<T>(x, n), n);
  *log_sum = log_sum_of(x, n, *max);
}

template <class T>
void forward(T* y, const T* x, Compute<T>* work, int64_t n, bool log) {
  using C = Compute<T>;
  const Row<T> in(x, n);
  const C max = max_of(in, n);
  if (log) {
    const C log_sum = log_sum_of(x, n, max);
    map_row(
        y, n, [&](C x) { return math::log_softmax(x, max, log_sum); }, in);
  } else {
    const Buffer<T> terms(work, n);
    const C scale = C(1) / static_cast<C>(set_terms(terms, in, n, max));
    map_row(
        y, n, [&](C term) { return term * scale; }, terms);
  }
}

template <class T>
void backward(T* gx, const T* gy, const T* y, int64_t n, bool log) {
  using C = Compute<T>;
  const Row<T> in_gy(gy, n), in_y(y, n);
  if (log) {
    const C total = static_cast<C>(sum_row<T>(
        n, [](C g) { return g; }, in_gy));
    map_row(
        gx, n, [&](C g, C y) { return math::log_softmax_backward(g, y, total); }, in_gy, in_y);
  } else {
    const C dot = static_cast<C>(sum_row<T>(
        n, [](C g, C y) { return g * y; }, in_gy, in_y));
    map_row(
        gx, n, [&](C g, C y) { return math::softmax_backward(g, y, dot); }, in_gy, in_y);
  }
}

template <class T>
void cross_entropy_backward(T* gx, const T* x, int64_t n, T max, T log_sum, T s) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) gx[i] = math::cross_entropy_backward(x[i], max, log_sum, s);
}

}  // namespace

const SoftmaxTables softmax_tables = {
    {forward<float>, backward<float>},
    {forward<double>, backward<double>},
    {forward<uint16_t>, backward<uint16_t>},
    {normaliser<float>, cross_entropy_backward<float>},
    {normaliser<double>, cross_entropy_backward<double>},
};

}  // namespace tandem::cpu::TANDEM_SIMD
