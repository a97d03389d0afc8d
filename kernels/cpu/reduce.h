#pragma once
// fold_tensor: the traversal used by reduce and var_mean.
//
// Contract: an output's terms are grouped by shapes and strides alone, and groups are combined in a fixed order, so
// results depend on neither the number nor the scheduling of threads.
#include <algorithm>
#include <vector>

#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/tile.h"

namespace tandem::cpu {

/// The kept and the reduced dimensions of x, merged where possible and in the order of x's memory. Outputs are numbered
/// in row-major order of the kept dimensions.
struct ReducePlan {
  Space kept;     ///< operand 0: x, operand 1: y
  Space reduced;  ///< operand 0: x
  bool columns;   ///< adjacent elements in memory belong to different outputs

  /// x is reduced along the dimensions in which `y` has size 1.
  ReducePlan(const Tensor& x, const Tensor& y);
};

namespace detail {

/// Terms per work item when there are too few outputs to keep all threads busy.
inline constexpr int64_t kFoldChunk = 65536;
inline constexpr int64_t kMaxFoldChunks = 64;

/// Folds parts of the reduced dimensions, one output at a time.
template <class C>
class RowFolder {
 public:
  using A = Accumulator<C>;
  RowFolder(Fold fold, const Tensor& x, const ReducePlan& plan)
      : fold_(fold),
        x_(x),
        plan_(plan),
        tiling_(plan.reduced),
        direct_(x.dtype() == dtype_of<C> && plan.reduced.rank == 1 && plan.reduced.strides[0][0] == 1),
        reader_(plan.reduced, 0, x) {}

  /// Folds tiles [begin, end) of output k.
  A run(int64_t k, int64_t begin, int64_t end, A shift) {
    const ReduceTable<C>& table = reduce_tables().of<C>();
    const char* base = static_cast<const char*>(x_.raw_bytes()) +
                       offset_of(plan_.kept, 0, k) * static_cast<int64_t>(x_.element_size());
    if (direct_) {
      const int64_t first = begin * kTile, last = std::min(end * kTile, plan_.reduced.numel);
      return table.row(fold_, reinterpret_cast<const C*>(base) + first, last - first, shift);
    }
    reader_.move_to(plan_.reduced, 0, base);
    A result = table.identity(fold_);
    for (int64_t t = begin; t < end; ++t) {
      const Tile tile = tiling_[t];
      result = table.combine(fold_, result, table.row(fold_, reader_.read(tile), tile.size(), shift));
    }
    return result;
  }

 private:
  Fold fold_;
  const Tensor& x_;
  const ReducePlan& plan_;
  Tiling tiling_;
  bool direct_;
  TileReader<C> reader_;
};

/// Folds rows of a block of adjacent columns; each column is one output.
template <class C>
class ColumnFolder {
 public:
  using A = Accumulator<C>;
  ColumnFolder(Fold fold, const Tensor& x, const ReducePlan& plan)
      : fold_(fold), x_(x), plan_(plan), block_(plan.reduced), reader_(plan.reduced, 0, x) {
    ++block_.rank;
  }

  /// Adds rows [begin, end) of outputs [k, k + columns) to acc.
  void run(A* acc, int64_t k, int64_t columns, int64_t begin, int64_t end, const A* shift) {
    const ReduceTable<C>& table = reduce_tables().of<C>();
    const int inner = block_.rank - 1;
    block_.sizes[inner] = columns;
    block_.strides[0][inner] = plan_.kept.strides[0][plan_.kept.rank - 1];
    const int64_t size = static_cast<int64_t>(x_.element_size());
    const char* base = static_cast<const char*>(x_.raw_bytes()) + offset_of(plan_.kept, 0, k) * size;
    if (x_.dtype() == dtype_of<C> && block_.rank == 2 && block_.strides[0][inner] == 1) {
      const int64_t row_stride = block_.strides[0][0];
      const C* first = reinterpret_cast<const C*>(base) + begin * row_stride;
      return table.columns(fold_, acc, first, end - begin, row_stride, columns, shift);
    }
    reader_.move_to(block_, 0, base);
    const int64_t rows_per_tile = std::max<int64_t>(1, kTile / columns);
    for (int64_t row = begin; row < end; row += rows_per_tile) {
      const Tile tile = {row * columns, row, std::min(rows_per_tile, end - row), 0, columns};
      table.columns(fold_, acc, reader_.read(tile), tile.rows, columns, columns, shift);
    }
  }

 private:
  Fold fold_;
  const Tensor& x_;
  const ReducePlan& plan_;
  Space block_;  // the reduced dimensions and the columns
  TileReader<C> reader_;
};

}  // namespace detail

/// Folds x by the plan. Calls emit(first output, count, accumulators) once for each output, from several threads.
/// `shift`: one number per output, or null.
template <class C, class Emit>
void fold_tensor(Fold fold, const Tensor& x, const ReducePlan& plan, const Accumulator<C>* shift, Emit&& emit) {
  using A = Accumulator<C>;
  const ReduceTable<C>& table = reduce_tables().of<C>();
  const Space& kept = plan.kept;
  const int64_t terms = plan.reduced.numel;
  if (kept.numel == 0) return;
  if (terms == 0) {
    const A nothing = table.identity(fold);
    for (int64_t k = 0; k < kept.numel; ++k) emit(k, int64_t{1}, &nothing);
    return;
  }

  // Work items: blocks of outputs times chunks of terms.
  const int64_t inner = plan.columns ? kept.sizes[kept.rank - 1] : 1;
  const bool direct = x.dtype() == dtype_of<C> && kept.strides[0][kept.rank - 1] == 1;
  const int64_t width = plan.columns ? std::min(inner, direct ? kFoldColumns : kFoldColumns / 4) : 1;
  const int64_t per_row = (inner + width - 1) / width;
  const int64_t blocks = kept.numel / inner * per_row;
  const int64_t units = plan.columns ? terms : Tiling(plan.reduced).count();  // rows, or tiles
  const int64_t chunk = std::max((units + detail::kMaxFoldChunks - 1) / detail::kMaxFoldChunks,
                                 plan.columns ? detail::kFoldChunk / width : detail::kFoldChunk / kTile);
  const int64_t chunks = blocks >= 16 ? 1 : (units + chunk - 1) / chunk;
  std::vector<A> partial(static_cast<size_t>(chunks > 1 ? kept.numel * chunks : 0));

  const int64_t item_terms = terms / chunks * width;
  parallel_for(blocks * chunks, grain_of(item_terms), [&](int64_t begin, int64_t end) {
    const auto run = [&](auto&& fold_block) {
      A acc[kFoldColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / chunks, c = i % chunks;
        const int64_t k = b / per_row * inner + b % per_row * width;
        const int64_t count = std::min(width, inner - b % per_row * width);
        const int64_t first = chunks > 1 ? c * chunk : 0;
        fold_block(acc, k, count, first, chunks > 1 ? std::min(units, first + chunk) : units);
        if (chunks == 1) {
          emit(k, count, acc);
        } else {
          std::copy(acc, acc + count, partial.begin() + c * kept.numel + k);
        }
      }
    };
    if (plan.columns) {
      run([&, folder = detail::ColumnFolder<C>(fold, x, plan)](A* acc, int64_t k, int64_t count, int64_t from,
                                                               int64_t to) mutable {
        std::fill(acc, acc + count, table.identity(fold));
        folder.run(acc, k, count, from, to, shift ? shift + k : nullptr);
      });
    } else {
      run([&, folder = detail::RowFolder<C>(fold, x, plan)](A* acc, int64_t k, int64_t, int64_t from,
                                                            int64_t to) mutable {
        acc[0] = folder.run(k, from, to, shift ? shift[k] : A(0));
      });
    }
  });

  if (chunks == 1) return;
  for (int64_t k = 0; k < kept.numel; ++k) {
    A result = partial[static_cast<size_t>(k)];
    for (int64_t c = 1; c < chunks; ++c) {
      result = table.combine(fold, result, partial[static_cast<size_t>(c * kept.numel + k)]);
    }
    emit(k, int64_t{1}, &result);
  }
}

/// Stores accumulators as `count` elements of y, starting at output k, converted to y's dtype with one rounding.
template <class A>
void store_outputs(const Tensor& y, const Space& kept, int operand, int64_t k, int64_t count, const A* values) {
  const auto store = convert_tables().of<A>().store[static_cast<int>(y.dtype())];
  const int64_t size = static_cast<int64_t>(y.element_size());
  const int64_t stride = kept.strides[operand][kept.rank - 1];
  char* p = static_cast<char*>(y.raw_bytes()) + offset_of(kept, operand, k) * size;
  if (count == 1 || stride == 1) return store(p, values, count);
  for (int64_t i = 0; i < count; ++i) store(p + i * stride * size, values + i, 1);
}

}  // namespace tandem::cpu
