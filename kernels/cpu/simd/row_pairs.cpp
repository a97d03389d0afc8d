// Products and distances of two rows, by the formulas of math/distance.h. Terms are combined in blocks of the row's
// type, and the blocks in f64, so the error does not grow with the length of the row.
#include "kernels/cpu/simd/row_pairs.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

using math::Pair;

constexpr int64_t kBlock = 1024;

TANDEM_MATH int64_t end_of_block(int64_t begin, int64_t n) { return n - begin < kBlock ? n : begin + kBlock; }

/// The terms of a block, combined in C.
template <Pair kPair, class C, class T>
double fold_block(const T* a, const T* b, int64_t n, double p) {
  const C power = static_cast<C>(p);
  C block = 0;
  const auto term = [&](int64_t i) __attribute__((always_inline)) {
    return math::pair_term<kPair>(static_cast<C>(a[i]), static_cast<C>(b[i]), power);
  };
  if constexpr (kPair == Pair::largest) {
    for (int64_t i = 0; i < n; ++i) block = math::combine_pair<kPair>(block, term(i));
  } else {
#pragma omp simd reduction(+ : block)
    for (int64_t i = 0; i < n; ++i) block += term(i);
  }
  return static_cast<double>(block);
}

template <Pair kPair, class T>
double fold_of(const T* a, const T* b, int64_t n, double p) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = end_of_block(begin, n) - begin;
    double block = fold_block<kPair, T>(a + begin, b + begin, count, p);
    if (!std::is_same_v<T, double> && !math::is_exact_pair<kPair>(block)) {
      block = fold_block<kPair, double>(a + begin, b + begin, count, p);
    }
    total = math::combine_pair<kPair>(total, block);
  }
  return math::finish_pair<kPair>(total, p);
}

template <Pair kPair, class T>
double gradient_of(const T* gy, const T* distance, const T* a, const T* b, int64_t n, double p) {
  const T power = static_cast<T>(p);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = end_of_block(begin, n);
    T block = 0;
#pragma omp simd reduction(+ : block)
    for (int64_t i = begin; i < end; ++i) block += gy[i] * math::distance_slope<kPair>(a[i] - b[i], distance[i], power);
    total += static_cast<double>(block);
  }
  return total;
}

template <class T>
double fold(Pair pair, const T* a, const T* b, int64_t n, double p) {
  switch (pair) {
    case Pair::dot:
      return fold_of<Pair::dot>(a, b, n, p);
    case Pair::count:
      return fold_of<Pair::count>(a, b, n, p);
    case Pair::sum:
      return fold_of<Pair::sum>(a, b, n, p);
    case Pair::squares:
      return fold_of<Pair::squares>(a, b, n, p);
    case Pair::largest:
      return fold_of<Pair::largest>(a, b, n, p);
    case Pair::powers:
      return fold_of<Pair::powers>(a, b, n, p);
  }
  return 0;
}

template <class T>
double gradient(Pair pair, const T* gy, const T* distance, const T* a, const T* b, int64_t n, double p) {
  switch (pair) {
    case Pair::sum:
      return gradient_of<Pair::sum>(gy, distance, a, b, n, p);
    case Pair::squares:
      return gradient_of<Pair::squares>(gy, distance, a, b, n, p);
    case Pair::largest:
      return gradient_of<Pair::largest>(gy, distance, a, b, n, p);
    case Pair::powers:
      return gradient_of<Pair::powers>(gy, distance, a, b, n, p);
    default:
      return 0;  // a product, or a number of elements
  }
}

}  // namespace

const RowPairTable row_pair_table = {{fold<float>, gradient<float>}, {fold<double>, gradient<double>}};

}  // namespace tandem::cpu::TANDEM_SIMD
