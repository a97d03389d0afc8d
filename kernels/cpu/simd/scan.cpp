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
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = reverse ? n - 1 - i : i;
    for (int r = 0; r < kCount; ++r) {
      states[r] = S::combine(states[r], S::of(rows[r].x[at], at));
      rows[r].y[at] = S::value(states[r]);
    }
  }
}

template <class S, class C>
void number_rows(const ScanRow<C>* rows, int count, int64_t n, bool reverse) {
  if (count == kScanRows) return scan_together<S, kScanRows>(rows, n, reverse);
  for (int r = 0; r < count; ++r) scan_together<S, 1>(rows + r, n, reverse);
}

/// Extremes rarely change, so most runs of a row repeat the last one.
template <class S, class C>
void extreme_row(const ScanRow<C>* rows, int, int64_t n, bool reverse) {
  const ScanRow<C>& row = rows[0];
  constexpr int64_t kRun = 32;
  C* const y = row.y;
  int64_t* const indices = row.indices;
  typename S::State state = S::identity();
  for (int64_t i = 0; i < n; i += kRun) {
    const int64_t count = n - i < kRun ? n - i : kRun, from = reverse ? n - i - count : i;
    const C* const x = row.x + from;
    int changes = count < kRun || state.index < 0;
    if (!changes) {
#pragma omp simd reduction(| : changes)
      for (int64_t j = 0; j < kRun; ++j) changes |= S::wins(state, x[j]);
    }
    if (!changes) {
      for (int64_t j = 0; j < kRun; ++j) y[from + j] = state.value;
      if (!indices) continue;
      for (int64_t j = 0; j < kRun; ++j) indices[from + j] = state.index;
      continue;
    }
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at = reverse ? from + count - 1 - j : from + j;
      state = S::combine(state, S::of(row.x[at], at));
      y[at] = state.value;
      if (indices) indices[at] = state.index;
    }
  }
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
constexpr ScanFunctions<C> kNumbers = {kScanRows, number_rows<S, C>, begin<S>, columns<S, C>};
template <class S, class C>
constexpr ScanFunctions<C> kExtremes = {1, extreme_row<S, C>, begin<S>, columns<S, C>};

template <class C>
constexpr ScanTable<C> table() {
  ScanTable<C> t = {kNumbers<kernels::SumScan<C>, C>,
                    kNumbers<kernels::ProductScan<C>, C>,
                    kExtremes<kernels::ExtremeScan<C, true>, C>,
                    kExtremes<kernels::ExtremeScan<C, false>, C>,
                    {}};
  if constexpr (static_cast<C>(0.5) != 0) t.logaddexp = kNumbers<kernels::LogSumExpScan<C>, C>;
  return t;
}

}  // namespace

const ByCompute<ScanTable> scan_tables = {table<float>(), table<double>(), table<int64_t>()};

}  // namespace tandem::cpu::TANDEM_SIMD
