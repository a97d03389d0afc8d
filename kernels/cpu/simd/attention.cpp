// Steps of attention. Contract: products and sums of at most 256 terms in the type of the blocks.
#include "kernels/cpu/simd/attention.h"

#include "kernels/cpu/simd/attention_bf16.h"
#include "kernels/cpu/simd/fold.h"
#include "kernels/cpu/simd/transpose16.h"
#include "tandem/math/approx.h"
#include "tandem/math/reduce.h"
#include "tandem/math/softmax.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

#if defined(TANDEM_SIMD_avx512)
constexpr int kVectorBytes = 64, kSums = 24;  // of 32 registers
#elif defined(TANDEM_SIMD_avx2)
constexpr int kVectorBytes = 32, kSums = 12;  // of 16 registers
#else
constexpr int kVectorBytes = 16, kSums = 12;
#endif

/// Vectors in registers: GCC does not keep arrays of numbers there.
template <class T>
struct Vector {
  typedef T type __attribute__((vector_size(kVectorBytes)));
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kPerPanel = static_cast<int>(kPanel) / kLanes;
  /// Panels and rows of a tile of the product, whose sums stay in registers.
  static constexpr int kPanels = kPerPanel >= 4 ? 1 : kSums / 6 / kPerPanel;
  static constexpr int kRows = kSums / (kPanels * kPerPanel) > 0 ? kSums / (kPanels * kPerPanel) : 1;
};

template <class T>
TANDEM_MATH typename Vector<T>::type load(const T* p) {
  typename Vector<T>::type v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
TANDEM_MATH void store(T* p, typename Vector<T>::type v) {
  __builtin_memcpy(p, &v, sizeof v);
}

/// Rows x (16 Panels) elements of c.
template <class T, int Rows, int Panels>
void multiply_tile(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t k,
                   bool accumulate) {
  using V = typename Vector<T>::type;
  constexpr int kLanes = Vector<T>::kLanes, kPerPanel = Vector<T>::kPerPanel, kColumns = Panels * kPerPanel;
  V sums[Rows][kColumns];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 32
    for (int j = 0; j < kColumns; ++j) sums[i][j] = accumulate ? load(c + i * c_row + j * kLanes) : V{};
  }
  for (int64_t p = 0; p < k; ++p) {
    V columns[kColumns];
#pragma GCC unroll 32
    for (int j = 0; j < kColumns; ++j) {
      columns[j] = load(b + (j / kPerPanel * k + p) * kPanel + j % kPerPanel * kLanes);
    }
#pragma GCC unroll 32
    for (int i = 0; i < Rows; ++i) {
      const T factor = a[i * a_row + p * a_column];
#pragma GCC unroll 32
      for (int j = 0; j < kColumns; ++j) sums[i][j] += factor * columns[j];
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 32
    for (int j = 0; j < kColumns; ++j) store(c + i * c_row + j * kLanes, sums[i][j]);
  }
}

/// The last `rows` < Rows rows.
template <class T, int Rows, int Panels>
void multiply_rest(int64_t rows, T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b,
                   int64_t k, bool accumulate) {
  if constexpr (Rows > 1) {
    if (rows == Rows - 1) {
      multiply_tile<T, Rows - 1, Panels>(c, c_row, a, a_row, a_column, b, k, accumulate);
    } else {
      multiply_rest<T, Rows - 1, Panels>(rows, c, c_row, a, a_row, a_column, b, k, accumulate);
    }
  }
}

template <class T, int Panels>
void multiply_columns(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t m,
                      int64_t k, bool accumulate) {
  constexpr int kRows = Vector<T>::kRows;
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    multiply_tile<T, kRows, Panels>(c + i * c_row, c_row, a + i * a_row, a_row, a_column, b, k, accumulate);
  }
  multiply_rest<T, kRows, Panels>(m - i, c + i * c_row, c_row, a + i * a_row, a_row, a_column, b, k, accumulate);
}

template <class T>
void multiply(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t m, int64_t n,
              int64_t k, bool accumulate) {
  constexpr int kPanels = Vector<T>::kPanels;
  int64_t j = 0;
  for (; j + kPanels * kPanel <= n; j += kPanels * kPanel) {
    multiply_columns<T, kPanels>(c + j, c_row, a, a_row, a_column, b + j * k, m, k, accumulate);
  }
  for (; j < n; j += kPanel) {
    multiply_columns<T, 1>(c + j, c_row, a, a_row, a_column, b + j * k, m, k, accumulate);
  }
}

template <class T>
void pack(T* panels, const T* x, int64_t row, int64_t k, int64_t n) {
  for (int64_t j = 0; j < n; j += kPanel, panels += k * kPanel) {
    const int64_t columns = n - j < kPanel ? n - j : kPanel;
    for (int64_t i = 0; i < k; ++i) {
      T* const to = panels + i * kPanel;
      const T* const from = x + i * row + j;
      if (columns == kPanel) {
        __builtin_memcpy(to, from, sizeof(T) * kPanel);
      } else {
        for (int64_t q = 0; q < kPanel; ++q) to[q] = q < columns ? from[q] : T(0);
      }
    }
  }
}

template <class T>
void pack_transposed(T* panels, const T* x, int64_t row, int64_t n, int64_t k) {
  for (int64_t j = 0; j < n; j += kPanel, panels += k * kPanel) {
    const int64_t rows = n - j < kPanel ? n - j : kPanel;
    const T* const from = x + j * row;
    if constexpr (sizeof(T) == 4) {
      transpose_rows16(reinterpret_cast<uint32_t*>(panels), from, row * 4, rows, k);
    } else {
      for (int64_t p = 0; p < k; ++p) {
        for (int64_t q = 0; q < kPanel; ++q) panels[p * kPanel + q] = q < rows ? from[q * row + p] : T(0);
      }
    }
  }
}

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
void softmax_backward(T* __restrict g, T* __restrict s, int64_t n, T log_sum, T dot) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    s[i] = math::softmax_weight(s[i], log_sum);
    g[i] = math::softmax_backward(g[i], s[i], dot);
  }
}

template <class T>
constexpr AttentionTable<T> kTable = {
    multiply<T>, pack<T>, pack_transposed<T>, scale<T>,           max<T>, exp_and_sum<T>,
    dot<T>,      add<T>,  select<T>,          softmax_backward<T>};

}  // namespace

const AttentionTables attention_tables = {kTable<float>, kTable<double>, kBf16Table};

}  // namespace tandem::cpu::TANDEM_SIMD
