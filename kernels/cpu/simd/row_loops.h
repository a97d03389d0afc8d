#pragma once
// Loops over rows of f32, f64 and bf16, for files under simd/. f32 and f64 are computed as they are. bf16, given as its
// bits, is computed in f32, two numbers at a time: a word of 32 bits is unpacked and packed with fewer instructions
// than single numbers are widened and narrowed. So a loop over bf16 visits the pairs' first and second numbers side by
// side, and then the last number, if n is odd.
#include <cstdint>

#include "kernels/cpu/simd/convert16.h"
#include "kernels/cpu/simd/fold.h"

namespace tandem::cpu::TANDEM_SIMD {

/// The type in which a row of T is computed.
template <class T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<uint16_t> {
  using Type = float;
};
template <class T>
using Compute = typename ComputeOf<T>::Type;

template <class T>
inline constexpr bool kPairs = sizeof(T) == 2;

/// n numbers of T to be read.
template <class T>
struct Row {
  TANDEM_MATH Row(const T* x, int64_t) : x(x) {}
  TANDEM_MATH T first(int64_t i) const { return x[i]; }

  const T* x;
};

using Pair [[gnu::aligned(2), gnu::may_alias]] = uint32_t;

template <>
struct Row<uint16_t> {
  TANDEM_MATH Row(const uint16_t* x, int64_t n) : pairs(reinterpret_cast<const Pair*>(x)), end(x + n) {}
  TANDEM_MATH float first(int64_t i) const { return __builtin_bit_cast(float, pairs[i] << 16); }
  TANDEM_MATH float second(int64_t i) const { return __builtin_bit_cast(float, pairs[i] & 0xffff0000u); }
  TANDEM_MATH float last() const { return BF16::widen(end[-1]); }

  const Pair* pairs;
  const uint16_t* end;
};

/// n results in the order in which a loop over rows of T visits them, for other loops over such rows.
template <class T>
struct Buffer {
  TANDEM_MATH Buffer(T* x, int64_t) : x(x) {}
  TANDEM_MATH T& first(int64_t i) const { return x[i]; }

  T* x;
};

template <>
struct Buffer<uint16_t> {
  TANDEM_MATH Buffer(float* x, int64_t n) : firsts(x), seconds(x + n / 2), end(x + n) {}
  TANDEM_MATH float& first(int64_t i) const { return firsts[i]; }
  TANDEM_MATH float& second(int64_t i) const { return seconds[i]; }
  TANDEM_MATH float& last() const { return end[-1]; }

  float *firsts, *seconds, *end;
};

/// The position in the row of a Buffer's element i.
template <class T>
TANDEM_MATH int64_t position_in_row(int64_t i, int64_t n) {
  if (!kPairs<T> || i >= n / 2 * 2) return i;
  return i < n / 2 ? 2 * i : 2 * (i - n / 2) + 1;
}

/// Calls f(numbers...) for n numbers of each row. Those of a Buffer are references.
template <class T, class F, class... Rows>
TANDEM_MATH void for_row(int64_t n, F f, const Rows&... rows) {
  if constexpr (kPairs<T>) {
#pragma omp simd
    for (int64_t i = 0; i < n / 2; ++i) {
      f(rows.first(i)...);
      f(rows.second(i)...);
    }
    if (n % 2 != 0) f(rows.last()...);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) f(rows.first(i)...);
  }
}

/// y_i = f(numbers...), rounded once. y may be one of the rows.
template <class T, class F, class... Rows>
TANDEM_MATH void map_row(T* y, int64_t n, F f, const Rows&... rows) {
  if constexpr (kPairs<T>) {
    Pair* const pairs = reinterpret_cast<Pair*>(y);
#pragma omp simd
    for (int64_t i = 0; i < n / 2; ++i) {
      pairs[i] = (BF16::round(f(rows.first(i)...)) >> 16) | (BF16::round(f(rows.second(i)...)) & 0xffff0000u);
    }
    if (n % 2 != 0) y[n - 1] = BF16::narrow(f(rows.last()...));
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f(rows.first(i)...);
  }
}

/// The number of steps of a loop over n numbers of T, without a last single one.
template <class T>
TANDEM_MATH int64_t steps(int64_t n) {
  return kPairs<T> ? n / 2 : n;
}

/// Calls f(begin, count) for blocks of steps, of at most 1,024 numbers each.
template <class T, class F>
TANDEM_MATH void for_blocks(int64_t n, F f) {
  constexpr int64_t kBlock = kPairs<T> ? 512 : 1024;
  const int64_t end = steps<T>(n);
  for (int64_t begin = 0; begin < end; begin += kBlock) f(begin, end - begin < kBlock ? end - begin : kBlock);
}

/// The sum of term(numbers...), in blocks of the compute type that are added up in f64, so that the error does not grow
/// with the length of the row.
template <class T, class Term, class... Rows>
TANDEM_MATH double sum_row(int64_t n, Term term, const Rows&... rows) {
  double total = 0;
  for_blocks<T>(n, [&](int64_t begin, int64_t count) {
    total += static_cast<double>(fold_sum<Compute<T>>(count, [&](int64_t i) {
      if constexpr (kPairs<T>) {
        return term(rows.first(begin + i)...) + term(rows.second(begin + i)...);
      } else {
        return term(rows.first(begin + i)...);
      }
    }));
  });
  if constexpr (kPairs<T>) {
    if (n % 2 != 0) total += static_cast<double>(term(rows.last()...));
  }
  return total;
}

/// The sums of two terms: term(a, b, numbers...) adds them to a and b.
template <class T, class Term, class... Rows>
TANDEM_MATH void sum_row_twice(double& first, double& second, int64_t n, Term term, const Rows&... rows) {
  using C = Compute<T>;
  first = second = 0;
  const auto add = [&](C a, C b) {
    first += static_cast<double>(a);
    second += static_cast<double>(b);
  };
  for_blocks<T>(n, [&](int64_t begin, int64_t count) {
    C a, b;
    fold_two_sums(count, a, b, [&](int64_t i, C& p, C& q) {
      term(p, q, rows.first(begin + i)...);
      if constexpr (kPairs<T>) term(p, q, rows.second(begin + i)...);
    });
    add(a, b);
  });
  if constexpr (kPairs<T>) {
    C a = 0, b = 0;
    if (n % 2 != 0) term(a, b, rows.last()...);
    add(a, b);
  }
}

}  // namespace tandem::cpu::TANDEM_SIMD
