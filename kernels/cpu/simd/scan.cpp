// Scans of rows and columns. Each state depends on the one before it, so a single row would wait for the latency of
// every operation; a few rows at a time, or vectors of columns, do not. The order within a row or column is the same.
#include "kernels/cpu/simd/scan.h"

#include "kernels/scan.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

template <class S, int kCount, class C>
TANDEM_MATH void scan_together(const ScanRow<C>* rows, int64_t n, bool reverse) {
  typename S::State states[kCount];
  for (int r = 0; r < kCount; ++r) states[r] = S::identity();
  const bool with_indices = rows[0].indices != nullptr;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = reverse ? n - 1 - i : i;
    for (int r = 0; r < kCount; ++r) {
      states[r] = S::combine(states[r], S::of(rows[r].x[at], at));
      rows[r].y[at] = S::value(states[r]);
      if (with_indices) rows[r].indices[at] = S::index(states[r]);
    }
  }
}

template <class S, class C>
void rows(const ScanRow<C>* rows, int count, int64_t n, bool reverse) {
  if (count == kScanRows) return scan_together<S, kScanRows>(rows, n, reverse);
  for (int r = 0; r < count; ++r) scan_together<S, 1>(rows + r, n, reverse);
}

template <class S>
void begin(void* states, int64_t columns) {
  auto* const s = static_cast<typename S::State*>(states);
  static_assert(sizeof(*s) <= kScanState);
  for (int64_t j = 0; j < columns; ++j) s[j] = S::identity();
}

template <class S, class C>
void columns(const ScanRow<C>& row, void* states, int64_t columns, int64_t at) {
  auto* const s = static_cast<typename S::State*>(states);
  C* const y = row.y;
  const C* const x = row.x;
#pragma omp simd
  for (int64_t j = 0; j < columns; ++j) {
    s[j] = S::combine(s[j], S::of(x[j], at));
    y[j] = S::value(s[j]);
  }
  if (!row.indices) return;
  for (int64_t j = 0; j < columns; ++j) row.indices[j] = S::index(s[j]);
}

template <class S, class C>
constexpr ScanFunctions<C> kFunctions = {rows<S, C>, begin<S>, columns<S, C>};

template <class C>
constexpr ScanTable<C> table() {
  ScanTable<C> t = {kFunctions<kernels::SumScan<C>, C>,
                    kFunctions<kernels::ProductScan<C>, C>,
                    kFunctions<kernels::ExtremeScan<C, true>, C>,
                    kFunctions<kernels::ExtremeScan<C, false>, C>,
                    {}};
  if constexpr (static_cast<C>(0.5) != 0) t.logaddexp = kFunctions<kernels::LogSumExpScan<C>, C>;
  return t;
}

}  // namespace

const ByCompute<ScanTable> scan_tables = {table<float>(), table<double>(), table<int64_t>()};

}  // namespace tandem::cpu::TANDEM_SIMD
