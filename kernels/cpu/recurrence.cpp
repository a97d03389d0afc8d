// Recurrent layers.
// Contract: the weights are packed once per call, for this backend's products in f32 and f64 and for the library's in
// f16 and bf16, whose f32 sums are not rounded before they meet the input products. f16 and bf16 are widened to f32 for
// each step and rounded once when they are stored; c stays in f32 from step to step. A dtype without fast products on
// this processor has its weights widened to f32 once per call. f64 in f64.
#include "kernels/recurrence.h"

#include <cstring>
#include <optional>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/panel_matrix.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/products.h"
#include "kernels/cpu/row_access.h"
#include "kernels/cpu/simd/recurrence.h"

namespace tandem::cpu {
namespace {

using kernels::StepRows;

Tensor in_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype && x.is_contiguous()) return x;
  const Tensor y = empty(x.sizes(), x.options().dtype(dtype));
  copy(y, x);
  return y;
}

/// A matrix as the right factor of many products.
class StepProduct {
 public:
  explicit StepProduct(const Tensor& b)
      : dtype_(products::computes_in(b.dtype()) || b.dtype() == kDouble ? b.dtype() : kFloat),
        b_(b.dtype() == dtype_ ? b : in_dtype(b, dtype_)) {
    if (dtype_ == kFloat) f32_.emplace(b_);
    if (dtype_ == kDouble) f64_.emplace(b_);
  }

  void operator()(const Tensor& d, const Tensor& a, const Tensor& bias, bool accumulate) const {
    const Tensor factor = in_dtype(a, dtype_);
    const bool in_place = d.dtype() == dtype_ || d.dtype() == kFloat;
    const Tensor result = in_place ? d : empty(d.sizes(), d.options().dtype(dtype_));
    multiply(result, factor, bias, accumulate);
    if (!in_place) copy(d, result);
  }

 private:
  void multiply(const Tensor& d, const Tensor& a, const Tensor& bias, bool accumulate) const {
    if (f32_) return multiply(*f32_, d, a, bias, accumulate);
    if (f64_) return multiply(*f64_, d, a, bias, accumulate);
    if (a.numel() > 0 && d.numel() > 0 &&
        products::matmul_packed(products::array_of(d), products::array_of(a), products::array_of(b_),
                                products::array_of(bias), accumulate, packed_)) {
      return;
    }
    gemm({.d = d, .a = a, .b = b_, .bias = bias, .accumulate = accumulate});
  }

  template <class T>
  void multiply(const PanelMatrix<T>& b, const Tensor& d, const Tensor& a, const Tensor& bias, bool accumulate) const {
    const Tensor offset = bias.defined() ? in_dtype(bias, dtype_) : bias;
    b.multiply(d.raw<T>(), a.raw<T>(), offset.defined() ? offset.raw<T>() : nullptr, a.sizes()[0], accumulate);
  }

  DType dtype_;
  Tensor b_;
  std::optional<PanelMatrix<float>> f32_;
  std::optional<PanelMatrix<double>> f64_;
  mutable products::PackedMatrix packed_;
};

/// Calls f(begin, end) for parts of the step's rows.
template <class F>
void for_rows_of(StepRows rows, int64_t units, F&& f) {
  // A unit evaluates several exponentials, which take about as long as 32 simple elements.
  parallel_for(rows.count, grain_of(32 * units), f);
}

/// The row of a contiguous tensor in the compute type, which is the tensor's dtype.
template <class T>
T* row_at(const Tensor& x, int64_t row) {
  return x.raw<T>() + row * x.sizes()[1];
}

/// Copies a row between contiguous tensors of one dtype.
void copy_row(const Tensor& y, int64_t to, const Tensor& x, int64_t from) {
  const size_t bytes = static_cast<size_t>(x.sizes()[1]) * x.element_size();
  std::memcpy(static_cast<char*>(y.raw_bytes()) + static_cast<size_t>(to) * bytes,
              static_cast<const char*>(x.raw_bytes()) + static_cast<size_t>(from) * bytes, bytes);
}

template <class T>
void forward_step(const RecurrenceCall& call, StepRows rows, const Tensor& recurrent, const RecurrenceRows<T>& table) {
  const int64_t units = call.w_hh.sizes()[0] / gates_of(call.cell);
  for_rows_of(rows, units, [&](int64_t begin, int64_t end) {
    const RowAccess<T> gates(call.gates, units * gates_of(call.cell));
    const RowAccess<T> y(call.w_hr.defined() ? call.unprojected : call.y, units), h(call.h, units);
    const Scratch<T> unused(call.kept.defined() ? 0 : units);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = rows.begin + i;
      T* const g = gates.update(row);
      T* const kept = call.kept.defined() ? row_at<T>(call.kept, row) : unused.data();
      T* const out = y.target(row);
      const T* const products = row_at<T>(recurrent, i);
      switch (call.cell) {
        case Cell::tanh:
          table.tanh(g, products, out, units);
          break;
        case Cell::relu:
          table.relu(g, products, out, units);
          break;
        case Cell::lstm:
          table.lstm(g, products, row_at<T>(call.c, rows.first + i), kept, out, units);
          break;
        case Cell::gru:
          table.gru(g, products, h.read(rows.first + i), kept, out, units);
          break;
      }
      gates.commit(row);
      y.commit(row);
      if (!call.w_hr.defined()) copy_row(call.h, rows.first + i, call.y, row);
    }
  });
}

template <class T>
void backward_step(const RecurrenceBackwardCall& call, StepRows rows, const Tensor& gh, const Tensor& gy,
                   const RecurrenceRows<T>& table) {
  const RecurrenceCall& f = call.forward;
  const int64_t count = gates_of(f.cell), units = f.w_hh.sizes()[0] / count;
  for_rows_of(rows, units, [&](int64_t begin, int64_t end) {
    const RowAccess<T> gates(f.gates, units * count), ggates(call.ggates, units * count),
        grecurrent(call.grecurrent, units * count);
    const RowAccess<T> out(gy.defined() ? gy : call.ggates, units),
        previous(f.cell == Cell::gru ? call.previous : call.ggates, units);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = rows.begin + i;
      const T* const a = gates.read(row);
      const T* const outer = gy.defined() ? out.read(row) : nullptr;
      T* const g = ggates.target(row);
      T* const later = row_at<T>(gh, i);
      switch (f.cell) {
        case Cell::tanh:
          table.tanh_backward(g, a, later, outer, units);
          break;
        case Cell::relu:
          table.relu_backward(g, a, later, outer, units);
          break;
        case Cell::lstm:
          table.lstm_backward(g, a, row_at<T>(f.kept, row), later, outer, row_at<T>(call.gc, rows.first + i), units);
          break;
        case Cell::gru:
          table.gru_backward(g, grecurrent.target(row), a, row_at<T>(f.kept, row), previous.read(row), later, outer,
                             units);
          grecurrent.commit(row);
          break;
      }
      ggates.commit(row);
    }
  });
}

/// The fewest samples for which a thread runs all steps by itself: below, its products would read the weights for too
/// few rows.
constexpr int64_t kSamplesOfThread = 8;

/// Calls run(samples) for the parts of the batch. The samples do not depend on each other, so threads that run all
/// steps of some samples need not wait for each other after each step. Small batches run as one part, whose products
/// and steps are each divided between the threads.
template <class F>
void for_parts_of(const RecurrenceCall& call, F&& run) {
  const kernels::Samples all = kernels::all_samples(call);
  if (all.end == 0 || call.gates.numel() == 0) return;
  if (all.end < kSamplesOfThread * get_num_threads()) return run(all);
  parallel_for(all.end, kSamplesOfThread, [&](int64_t begin, int64_t end) { run(kernels::Samples{begin, end}); });
}

}  // namespace

void recurrence(const RecurrenceCall& call) {
  for_parts_of(call, [&](kernels::Samples samples) {
    kernels::run_recurrence<StepProduct>(call, samples, [&](StepRows rows, const Tensor& recurrent) {
      if (recurrent.dtype() == kDouble) {
        forward_step<double>(call, rows, recurrent, recurrence_table().f64);
      } else {
        forward_step<float>(call, rows, recurrent, recurrence_table().f32);
      }
    });
  });
}

void recurrence_backward(const RecurrenceBackwardCall& call) {
  for_parts_of(call.forward, [&](kernels::Samples samples) {
    kernels::run_recurrence_backward<StepProduct>(call, samples,
                                                  [&](StepRows rows, const Tensor& gh, const Tensor& gy) {
                                                    if (gh.dtype() == kDouble) {
                                                      backward_step<double>(call, rows, gh, gy, recurrence_table().f64);
                                                    } else {
                                                      backward_step<float>(call, rows, gh, gy, recurrence_table().f32);
                                                    }
                                                  });
  });
}

}  // namespace tandem::cpu
