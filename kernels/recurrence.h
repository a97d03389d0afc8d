#pragma once
// The loops over the steps of a recurrent layer, for both backends. A backend supplies the products and the kernels of
// one step.
#include <algorithm>
#include <vector>

#include "tandem/backend.h"
#include "tandem/math/binary.h"
#include "tandem/tensor/factories.h"

namespace tandem::kernels {

/// Some samples of one step: `count` rows from `begin` on, and of the states from `first` on.
struct StepRows {
  int64_t begin, count, first;
};

/// A range of the samples of a batch: [begin, end).
struct Samples {
  int64_t begin, end;
};
inline Samples all_samples(const RecurrenceCall& call) {
  return {0, call.batch_sizes.empty() ? 0 : call.batch_sizes[0]};
}

/// The steps of these samples in the order of the forward pass.
inline std::vector<StepRows> steps_of(const RecurrenceCall& call, Samples samples) {
  std::vector<StepRows> steps;
  int64_t begin = 0;
  for (const int64_t count : call.batch_sizes) {
    const int64_t some = std::min(count, samples.end) - samples.begin;
    if (some > 0) steps.push_back({begin + samples.begin, some, samples.begin});
    begin += count;
  }
  if (call.reverse) std::reverse(steps.begin(), steps.end());
  return steps;
}

/// `count` rows of a contiguous matrix.
inline Tensor rows_from(const Tensor& x, int64_t begin, int64_t count) {
  const int64_t columns = x.sizes()[1];
  return make_view(x, {count, columns}, {columns, 1}, x.storage_offset() + begin * columns);
}
inline Tensor rows_of(const Tensor& x, StepRows rows) { return rows_from(x, rows.begin, rows.count); }
inline Tensor state_rows(const Tensor& x, StepRows rows) { return rows_from(x, rows.first, rows.count); }
inline Tensor transposed_matrix(const Tensor& x) {
  return make_view(x, {x.sizes()[1], x.sizes()[0]}, {1, x.sizes()[1]}, x.storage_offset());
}

/// `Product(w)` prepares a matrix [k, n] as the right factor of many products; product(d, a, bias, accumulate) then is
/// GemmCall's product. step(rows, recurrent) applies the cell to the rows of one step, given the recurrent products
/// [count, G H]: it writes gates, kept, c, and either unprojected or both y and h.
template <class Product, class Step>
void run_recurrence(const RecurrenceCall& call, Samples samples, Step&& step) {
  const DType wide = call.gates.dtype() == kDouble ? kDouble : kFloat;
  const Product product(transposed_matrix(call.w_hh));
  const Tensor products = empty({samples.end - samples.begin, call.w_hh.sizes()[0]}, call.gates.options().dtype(wide));
  if (!call.w_hr.defined()) {
    for (const StepRows rows : steps_of(call, samples)) {
      const Tensor recurrent = rows_from(products, 0, rows.count);
      product(recurrent, state_rows(call.h, rows), call.b_hh, false);
      step(rows, recurrent);
    }
    return;
  }
  const Product projection(transposed_matrix(call.w_hr));
  for (const StepRows rows : steps_of(call, samples)) {
    const Tensor h = state_rows(call.h, rows), y = rows_of(call.y, rows),
                 recurrent = rows_from(products, 0, rows.count);
    product(recurrent, h, call.b_hh, false);
    step(rows, recurrent);
    projection(y, rows_of(call.unprojected, rows), Tensor(), false);
    backend(y).copy(h, y);
  }
}

/// step(rows, gh, gy) computes the gradients of one step from gh [count, H] and gy (optional, [N, H]): it writes
/// ggates, grecurrent and gc; for gru also gh, as far as it does not come from the recurrent products.
template <class Product, class Step>
void run_recurrence_backward(const RecurrenceBackwardCall& call, Samples samples, Step&& step) {
  const RecurrenceCall& f = call.forward;
  const Product product(f.w_hh);
  std::vector<StepRows> steps = steps_of(f, samples);
  std::reverse(steps.begin(), steps.end());
  const bool accumulate = f.cell == Cell::gru;
  if (!f.w_hr.defined()) {
    for (const StepRows rows : steps) {
      const Tensor gh = state_rows(call.gh, rows);
      step(rows, gh, call.gy);
      product(gh, rows_of(call.grecurrent, rows), Tensor(), accumulate);
    }
    return;
  }
  const Product projection(f.w_hr);
  const Tensor unprojected = empty({samples.end - samples.begin, f.w_hr.sizes()[1]}, call.gh.options());
  for (const StepRows rows : steps) {
    const Tensor gh = state_rows(call.gh, rows), total = rows_of(call.gprojected, rows);
    if (call.gy.defined()) {
      backend(gh).binary(total, kernels::Binary::add, gh, rows_of(call.gy, rows), 1);
    } else {
      backend(gh).copy(total, gh);
    }
    const Tensor gy = rows_from(unprojected, 0, rows.count);
    projection(gy, total, Tensor(), false);
    step(rows, gy, Tensor());
    product(gh, rows_of(call.grecurrent, rows), Tensor(), accumulate);
  }
}

}  // namespace tandem::kernels
