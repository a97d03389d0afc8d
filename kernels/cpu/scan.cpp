// cumsum and the other scans. Contract: sums and products of f16, bf16 and f32 are held in f64 and rounded to f32, then
// to y's dtype; f64 in f64, integers modulo 2^64. y may be x.
#include "kernels/scan.h"

#include <algorithm>
#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd/scan.h"

namespace tandem::cpu {
namespace {

using kernels::Scan;

/// The operands of a scan along `dim`. `indices` may be undefined.
struct ScanPlan {
  const Tensor &y, &indices, &x;
  int64_t dim;
  bool reverse;
  Space others;         ///< operands: y, x, indices or y
  int64_t length;       ///< of `dim`
  Dims along{0, 0, 0};  ///< strides of `dim`

  ScanPlan(const Tensor& y, const Tensor& indices, const Tensor& x, int64_t dim, bool reverse)
      : y(y),
        indices(indices),
        x(x),
        dim(dim),
        reverse(reverse),
        others(other_dimensions({&y, &x, &places()}, dim)),
        length(x.numel() / others.numel) {
    if (y.dim() == 0) return;
    along = {y.strides()[static_cast<size_t>(dim)], x.strides()[static_cast<size_t>(dim)],
             places().strides()[static_cast<size_t>(dim)]};
  }
  const Tensor& places() const { return indices.defined() ? indices : y; }
  /// Whether y's memory has longer runs across the scans than along them.
  bool by_columns() const {
    constexpr int64_t kFewColumns = 16;  // fewer do not pay for a call per element of the dimension
    return others.sizes[others.rank - 1] >= kFewColumns && others.strides[0][others.rank - 1] < along[0];
  }
};

/// Scans rows, each presented as a contiguous run.
template <class C>
void scan_rows(const ScanFunctions<C>& scan, const ScanPlan& plan) {
  parallel_for(plan.others.numel, grain_of(4 * plan.length), [&](int64_t begin, int64_t end) {
    std::vector<Rows<C>> in, out;
    std::vector<Rows<int64_t>> places;
    const int64_t together = std::min<int64_t>(scan.together, end - begin);
    for (int64_t r = 0; r < together; ++r) {
      out.emplace_back(plan.y, plan.others, 0, plan.dim);
      in.emplace_back(plan.x, plan.others, 1, plan.dim);
      if (plan.indices.defined()) places.emplace_back(plan.indices, plan.others, 2, plan.dim);
    }
    for (int64_t k = begin; k < end; k += together) {
      const auto count = static_cast<size_t>(std::min(together, end - k));
      ScanRow<C> rows[kScanRows];
      for (size_t r = 0; r < count; ++r) {
        const int64_t row = k + static_cast<int64_t>(r);
        rows[r] = {out[r].target(row), places.empty() ? nullptr : places[r].target(row), in[r].read(row)};
      }
      scan.rows(rows, static_cast<int>(count), plan.length, plan.reverse);
      for (size_t r = 0; r < count; ++r) {
        out[r].commit(k + static_cast<int64_t>(r));
        if (!places.empty()) places[r].commit(k + static_cast<int64_t>(r));
      }
    }
  });
}

/// Scans columns [k, k + columns), neighbours in the innermost of the other dimensions, row after row.
template <class C>
void scan_block(const ScanFunctions<C>& scan, const ScanPlan& plan, int64_t k, int64_t columns) {
  Space block;
  block.rank = 2;
  block.numel = plan.length * columns;
  block.sizes[0] = plan.length;
  block.sizes[1] = columns;
  for (int operand = 0; operand < 3; ++operand) {
    block.strides[operand][0] = plan.along[static_cast<size_t>(operand)];
    block.strides[operand][1] = plan.others.strides[operand][plan.others.rank - 1];
  }
  const auto base = [&](const Tensor& t, int operand) -> void* {
    return static_cast<char*>(t.raw_bytes()) +
           offset_of(plan.others, operand, k) * static_cast<int64_t>(t.element_size());
  };
  TileWriter<C> out(block, 0, plan.y.dtype(), base(plan.y, 0));
  TileReader<C> in(block, 1, plan.x.dtype(), base(plan.x, 1));
  TileWriter<int64_t> places(block, 2, DType::I64, base(plan.places(), 2));

  alignas(64) char states[kScanColumns * kScanState];
  scan.begin(states, columns);
  for (int64_t i = 0; i < plan.length; ++i) {
    const int64_t at = plan.reverse ? plan.length - 1 - i : i;
    const Tile tile = {at * columns, at, 1, 0, columns};
    const ScanRow<C> row = {out.target(tile), plan.indices.defined() ? places.target(tile) : nullptr, in.read(tile)};
    scan.columns(row, states, columns, at);
    out.commit(tile, row.y);
    if (row.indices) places.commit(tile, row.indices);
  }
}

template <class C>
void scan_columns(const ScanFunctions<C>& scan, const ScanPlan& plan) {
  constexpr int64_t kUnit = 64;  // columns: the least that a thread gets
  const int64_t inner = plan.others.sizes[plan.others.rank - 1], per_row = (inner + kUnit - 1) / kUnit;
  const int64_t grain = grain_of(2 * plan.length * std::min(inner, kUnit));
  parallel_for(plan.others.numel / inner * per_row, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin, taken; unit < end; unit += taken) {
      const int64_t first = unit % per_row;
      taken = std::min({end - unit, per_row - first, kScanColumns / kUnit});
      const int64_t columns = std::min(inner - first * kUnit, taken * kUnit);
      scan_block(scan, plan, unit / per_row * inner + first * kUnit, columns);
    }
  });
}

/// Scans with the formulas that select(table) returns.
template <class Select>
void run(const ScanPlan& plan, Select select) {
  kernels::visit_compute(kernels::compute_type(promote_types(plan.y.dtype(), plan.x.dtype())), [&]<class C>(C) {
    const ScanFunctions<C>& scan = select(scan_tables().of<C>());
    plan.by_columns() ? scan_columns(scan, plan) : scan_rows(scan, plan);
  });
}

}  // namespace

void cumsum(const Tensor& y, const Tensor& x, int64_t dim, bool reverse) {
  if (x.numel() == 0) return;
  const Tensor no_indices;
  run(
      ScanPlan(y, no_indices, x, dim, reverse), [](const auto& table) -> const auto& { return table.sum; });
}

void scan(const Tensor& y, const Tensor& indices, Scan op, const Tensor& x, int64_t dim, bool reverse) {
  if (x.numel() == 0) return;
  run(
      ScanPlan(y, indices, x, dim, reverse), [op](const auto& table) -> const auto& {
        switch (op) {
          case Scan::prod:
            return table.prod;
          case Scan::max:
            return table.max;
          case Scan::min:
            return table.min;
          case Scan::logaddexp:
            return table.logaddexp;
        }
        return table.prod;
      });
}

}  // namespace tandem::cpu
