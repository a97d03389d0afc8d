#pragma once
// Tables of scans over rows and over columns, by the formulas of kernels/scan.h.
#include "kernels/cpu/simd/by_compute.h"

namespace tandem::cpu {

/// Limit of the number of rows that are scanned together.
inline constexpr int kScanRows = 4;
/// Limit of the number of columns that are scanned together.
inline constexpr int64_t kScanColumns = 512;
/// Bytes of a column's state, at most.
inline constexpr int64_t kScanState = 16;

/// y may be x. Only max and min write indices, unless they are null.
template <class C>
struct ScanRow {
  C* y;
  int64_t* indices;
  const C* x;
};

template <class C>
struct ScanFunctions {
  int together;  ///< number of rows that are best scanned together, at most kScanRows
  /// Scans up to `together` rows of n elements.
  void (*rows)(const ScanRow<C>* rows, int count, int64_t n, bool reverse);
  /// Sets the states of columns before their first element.
  void (*begin)(void* states, int64_t columns);
  /// Scans one more element of each column, the one at position `at` of the dimension.
  void (*columns)(const ScanRow<C>& row, void* states, int64_t columns, int64_t at);
};

/// logaddexp is null for i64.
template <class C>
struct ScanTable {
  ScanFunctions<C> sum, prod, max, min, logaddexp;
};
TANDEM_SIMD_TABLE(ByCompute<ScanTable>, scan_tables)

}  // namespace tandem::cpu
