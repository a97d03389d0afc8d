// arg_reduce. Contract: returns the first of equal values. NaN beats every number, for max and min; the first NaN wins.
// Values are exact. The dimension has at least one element.
#include <optional>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/reduce.h"

namespace tandem::cpu {
namespace {

/// The best element of an output so far.
template <class C>
struct Best {
  Accumulator<C> value{};
  int64_t index = -1;
};

template <class C>
bool beats(C x, C best, bool largest) {
  return (largest ? x > best : x < best) || (x != x && best == best);
}

/// One output: finds each tile's extreme value with vector code, then its first position.
template <class C>
Best<C> scan_row(TileReader<C>& reader, const Space& reduced, bool largest) {
  const ReduceTable<C>& table = reduce_tables().of<C>();
  const Tiling tiling(reduced);
  Best<C> best;
  for (int64_t t = 0; t < tiling.count(); ++t) {
    const Tile tile = tiling[t];
    const C* x = reader.read(tile);
    const C extreme = static_cast<C>(table.row(largest ? Fold::max : Fold::min, x, tile.size(), 0));
    if (best.index >= 0 && !beats(extreme, static_cast<C>(best.value), largest)) continue;
    int64_t i = 0;
    while (x[i] != extreme && x[i] == x[i]) ++i;
    best = {static_cast<Accumulator<C>>(extreme), tile.begin + i};
  }
  return best;
}

/// Adjacent outputs, processed together row by row.
template <class C>
void scan_columns(TileReader<C>& reader, int64_t rows, int64_t columns, bool largest, Accumulator<C>* values,
                  int64_t* indices) {
  C best[kFoldColumns];
  for (int64_t r = 0; r < rows; ++r) {
    const C* x = reader.read({r * columns, r, 1, 0, columns});
    for (int64_t j = 0; j < columns; ++j) {
      const bool better = r == 0 || beats(x[j], best[j], largest);
      best[j] = better ? x[j] : best[j];
      indices[j] = better ? r : indices[j];
    }
  }
  std::copy(best, best + columns, values);
}

}  // namespace

void arg_reduce(const Tensor& values, const Tensor& indices, bool largest, const Tensor& x, int64_t) {
  const ReducePlan plan(x, indices);
  const Space& kept = plan.kept;
  if (kept.numel == 0) return;
  std::optional<ReducePlan> values_plan;
  if (values.defined()) values_plan.emplace(x, values);
  const int64_t inner = plan.columns ? kept.sizes[kept.rank - 1] : 1;
  const int64_t width = std::min(inner, kFoldColumns);
  const int64_t per_row = (inner + width - 1) / width;
  const int64_t rows = plan.reduced.numel;

  visit_compute(compute_type(x.dtype()), [&](auto zero) {
    using C = decltype(zero);
    parallel_for(kept.numel / inner * per_row, grain_of(rows * width), [&](int64_t begin, int64_t end) {
      Space space = plan.reduced;
      if (plan.columns) space.strides[0][space.rank++] = kept.strides[0][kept.rank - 1];
      TileReader<C> reader(plan.reduced, 0, x);
      Accumulator<C> best_values[kFoldColumns];
      int64_t best_indices[kFoldColumns];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t k = i / per_row * inner + i % per_row * width;
        const int64_t count = std::min(width, inner - i % per_row * width);
        if (plan.columns) space.sizes[space.rank - 1] = count;
        reader.move_to(
            space, 0,
            static_cast<const char*>(x.raw_bytes()) + offset_of(kept, 0, k) * static_cast<int64_t>(x.element_size()));
        if (plan.columns) {
          scan_columns(reader, rows, count, largest, best_values, best_indices);
        } else {
          const Best<C> best = scan_row(reader, space, largest);
          best_values[0] = best.value;
          best_indices[0] = best.index;
        }
        store_outputs(indices, kept, 1, k, count, best_indices);
        if (values_plan) store_outputs(values, values_plan->kept, 1, k, count, best_values);
      }
    });
  });
}

}  // namespace tandem::cpu
