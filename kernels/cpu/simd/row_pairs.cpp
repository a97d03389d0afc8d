// Products and distances of two rows, by the formulas of math/distance.h. Terms are combined in blocks of the row's
// type, and the blocks in f64, so the error does not grow with the length of the row.
#include "kernels/cpu/simd/row_pairs.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

using math::Pair;

constexpr int64_t kBlock = 1024;

TANDEM_MATH int64_t end_of_block(int64_t begin, int64_t n) { return n - begin < kBlock ? n : begin + kBlock; }

template <Pair kPair, class T>
double fold_of(const T* a, const T* b, int64_t n, double p) {
  const T power = static_cast<T>(p);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = end_of_block(begin, n);
    T block = 0;
    if constexpr (kPair == Pair::largest) {
      for (int64_t i = begin; i < end; ++i)
        block = math::combine_pair<kPair>(block, math::pair_term<kPair>(a[i], b[i], power));
    } else {
#pragma omp simd reduction(+ : block)
      for (int64_t i = begin; i < end; ++i) block += math::pair_term<kPair>(a[i], b[i], power);
    }
    total = math::combine_pair<kPair>(total, static_cast<double>(block));
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
