#pragma once
// Products by OpenBLAS.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <limits>
#if defined(TANDEM_OPENBLAS)
#include <cblas.h>
#endif

#include "tandem/tensor/threads.h"

namespace tandem::cpu::openblas {

/// A row-major f32 matrix, or the transpose of one.
struct Matrix {
  float* data = nullptr;
  int64_t step = 0;  ///< elements between the rows in memory
  bool transposed = false;
};

/// Whether this build has OpenBLAS and all sizes fit in its 32-bit integers.
inline bool takes([[maybe_unused]] std::initializer_list<int64_t> sizes) {
#if defined(TANDEM_OPENBLAS)
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n <= std::numeric_limits<int>::max(); });
#else
  return false;
#endif
}

/// d = a b, or d += a b, with d of m rows and n columns, row-major. Sizes that takes() accepts.
inline void multiply([[maybe_unused]] const Matrix& d, [[maybe_unused]] const Matrix& a,
                     [[maybe_unused]] const Matrix& b, [[maybe_unused]] int64_t m, [[maybe_unused]] int64_t n,
                     [[maybe_unused]] int64_t k, [[maybe_unused]] bool accumulate) {
#if defined(TANDEM_OPENBLAS)
  // OpenBLAS has its own threads: it is told when their number changes.
  static std::atomic<int> threads{0};
  if (const int wanted = get_num_threads(); threads.exchange(wanted) != wanted) openblas_set_num_threads(wanted);
  const auto transpose = [](const Matrix& x) { return x.transposed ? CblasTrans : CblasNoTrans; };
  const auto size = [](int64_t x) { return static_cast<int>(x); };
  cblas_sgemm(CblasRowMajor, transpose(a), transpose(b), size(m), size(n), size(k), 1, a.data, size(a.step), b.data,
              size(b.step), accumulate ? 1.0f : 0.0f, d.data, size(d.step));
#endif
}

}  // namespace tandem::cpu::openblas
