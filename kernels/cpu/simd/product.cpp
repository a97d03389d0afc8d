// Products of blocks. Contract: products and sums in the type of the blocks; each element of c is summed in the order
// of k.
#include "kernels/cpu/simd/product.h"

#include "kernels/cpu/simd/transpose16.h"
#include "kernels/cpu/simd/vector.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

#if defined(TANDEM_SIMD_avx512)
constexpr int kSums = 24;  // of 32 registers
#else
constexpr int kSums = 12;  // of 16 registers
#endif

/// The part of a product whose sums stay in registers.
template <class T>
struct Block {
  static constexpr int kPerPanel = static_cast<int>(kPanel) / kLanes<T>;  ///< vectors
  static constexpr int kPanels = kPerPanel >= 4 ? 1 : kSums / 6 / kPerPanel;
  static constexpr int rows(int panels) {
    const int rows = kSums / (panels * kPerPanel);
    return rows > 12 ? 12 : rows > 0 ? rows : 1;  // 12: enough to hide the latency of a sum
  }
};

/// Rows x (16 Panels) elements of c.
template <class T, int Rows, int Panels>
void multiply_tile(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t k,
                   bool accumulate) {
  using V = Vector<T>;
  constexpr int kWidth = kLanes<T>, kPerPanel = Block<T>::kPerPanel, kColumns = Panels * kPerPanel;
  V sums[Rows][kColumns];
#pragma GCC unroll 32
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 32
    for (int j = 0; j < kColumns; ++j) sums[i][j] = accumulate ? load(c + i * c_row + j * kWidth) : V{};
  }
  for (int64_t p = 0; p < k; ++p) {
    V columns[kColumns];
#pragma GCC unroll 32
    for (int j = 0; j < kColumns; ++j) {
      columns[j] = load(b + (j / kPerPanel * k + p) * kPanel + j % kPerPanel * kWidth);
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
    for (int j = 0; j < kColumns; ++j) store(c + i * c_row + j * kWidth, sums[i][j]);
  }
}

/// A tile of `rows` <= Rows rows.
template <class T, int Rows, int Panels>
void multiply_rows(int64_t rows, T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b,
                   int64_t k, bool accumulate) {
  if constexpr (Rows > 0) {
    if (rows == Rows) {
      multiply_tile<T, Rows, Panels>(c, c_row, a, a_row, a_column, b, k, accumulate);
    } else {
      multiply_rows<T, Rows - 1, Panels>(rows, c, c_row, a, a_row, a_column, b, k, accumulate);
    }
  }
}

/// The rows in tiles of about equal size: a tile of few rows would wait for its few sums.
template <class T, int Panels>
void multiply_columns(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t m,
                      int64_t k, bool accumulate) {
  constexpr int kRows = Block<T>::rows(Panels);
  for (int64_t i = 0, tiles = (m + kRows - 1) / kRows; i < m; --tiles) {
    const int64_t rows = (m - i + tiles - 1) / tiles;
    multiply_rows<T, kRows, Panels>(rows, c + i * c_row, c_row, a + i * a_row, a_row, a_column, b, k, accumulate);
    i += rows;
  }
}

/// The last `panels` <= Panels panels.
template <class T, int Panels>
void multiply_last_columns(int64_t panels, T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b,
                           int64_t m, int64_t k, bool accumulate) {
  if constexpr (Panels > 0) {
    if (panels == Panels) {
      multiply_columns<T, Panels>(c, c_row, a, a_row, a_column, b, m, k, accumulate);
    } else {
      multiply_last_columns<T, Panels - 1>(panels, c, c_row, a, a_row, a_column, b, m, k, accumulate);
    }
  }
}

template <class T>
void multiply(T* c, int64_t c_row, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t m, int64_t n,
              int64_t k, bool accumulate) {
  constexpr int kPanels = Block<T>::kPanels;
  int64_t j = 0;
  for (; j + kPanels * kPanel <= n; j += kPanels * kPanel) {
    multiply_columns<T, kPanels>(c + j, c_row, a, a_row, a_column, b + j * k, m, k, accumulate);
  }
  multiply_last_columns<T, kPanels - 1>((n - j) / kPanel, c + j, c_row, a, a_row, a_column, b + j * k, m, k,
                                        accumulate);
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
constexpr ProductTable<T> kTable = {multiply<T>, pack<T>, pack_transposed<T>};

}  // namespace

const ProductTables product_tables = {kTable<float>, kTable<double>};

}  // namespace tandem::cpu::TANDEM_SIMD
