// recurrence, recurrence_backward. Contract: one product and one kernel per step. The recurrent products are f32 and
// not rounded before they meet the input products; f16 and bf16 are rounded once when they are stored; c stays in f32
// from step to step. f64 in f64. Deterministic.
#include "kernels/recurrence.h"

#include <algorithm>

#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "tandem/math/recurrence.h"
#include "tandem/math/unary.h"

namespace tandem::cuda {
namespace {

using kernels::StepRows;

/// Rows of one step. A row of gates holds `units` values per gate. T: the dtype of stored values, C: its compute type.
template <class T, class C>
struct ForwardStep {
  int64_t rows, units;
  T* gates;
  const C* recurrent;
  C *c, *kept;  ///< kept: optional
  T *y, *h;     ///< h: optional, the same as y after the step; gru: before the step, too
};

// For more than two blocks on a multiprocessor, the compiler would spill registers on compute capability 8.0, 10
// and 12.
template <Cell kCell, class T>
__global__ void __launch_bounds__(kThreads, 2) recur(ForwardStep<T, typename ComputeOf<T>::type> s) {
  using C = typename ComputeOf<T>::type;
  constexpr int64_t kGates = gates_of(kCell);
  const int64_t n = s.units;
  for (int64_t row = blockIdx.y; row < s.rows; row += gridDim.y) {
    T* const gates = s.gates + row * kGates * n;
    const C* const products = s.recurrent + row * kGates * n;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x) {
      const int64_t at = row * n + i;
      const auto sum = [&](int64_t gate) { return convert<C>(gates[gate * n + i]) + products[gate * n + i]; };
      T y;
      if constexpr (kCell == Cell::tanh || kCell == Cell::relu) {
        y = convert<T>(kCell == Cell::tanh ? math::tanh(sum(0)) : math::relu(sum(0)));
        gates[i] = y;
      } else if constexpr (kCell == Cell::lstm) {
        const math::LstmGates<C> a = math::lstm_gates(sum(0), sum(1), sum(2), sum(3));
        const C before = s.c[at], after = math::lstm_cell_state(a, before);
        if (s.kept) s.kept[at] = before;
        s.c[at] = after;
        y = convert<T>(math::lstm_hidden_state(a, after));
        gates[i] = convert<T>(a.i);
        gates[n + i] = convert<T>(a.f);
        gates[2 * n + i] = convert<T>(a.g);
        gates[3 * n + i] = convert<T>(a.o);
      } else {
        const C product = products[2 * n + i];
        const math::GruGates<C> a = math::gru_gates(sum(0), sum(1), convert<C>(gates[2 * n + i]), product);
        if (s.kept) s.kept[at] = product;
        y = convert<T>(math::gru_hidden_state(a, convert<C>(s.h[at])));
        gates[i] = convert<T>(a.r);
        gates[n + i] = convert<T>(a.z);
        gates[2 * n + i] = convert<T>(a.n);
      }
      s.y[at] = y;
      if (s.h) s.h[at] = y;
    }
  }
}

template <class T, class C>
struct BackwardStep {
  int64_t rows, units;
  const T* gates;
  const C* kept;
  const T* previous;
  const T* gy;  ///< optional
  C *gh, *gc;
  T *ggates, *grecurrent;
};

template <Cell kCell, class T>
__global__ void __launch_bounds__(kThreads) recur_backward(BackwardStep<T, typename ComputeOf<T>::type> s) {
  using C = typename ComputeOf<T>::type;
  constexpr int64_t kGates = gates_of(kCell);
  const int64_t n = s.units;
  for (int64_t row = blockIdx.y; row < s.rows; row += gridDim.y) {
    const T* const gates = s.gates + row * kGates * n;
    T *const ggates = s.ggates + row * kGates * n, *const grecurrent = s.grecurrent + row * kGates * n;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x) {
      const int64_t at = row * n + i;
      const auto gate = [&](int64_t k) { return convert<C>(gates[k * n + i]); };
      const C g = s.gh[at] + (s.gy ? convert<C>(s.gy[at]) : C(0));
      if constexpr (kCell == Cell::tanh) {
        ggates[i] = convert<T>(g * (C(1) - gate(0) * gate(0)));
      } else if constexpr (kCell == Cell::relu) {
        ggates[i] = convert<T>(gate(0) > C(0) ? g : C(0));
      } else if constexpr (kCell == Cell::lstm) {
        const math::LstmGates<C> a{gate(0), gate(1), gate(2), gate(3)};
        const math::LstmGradients<C> d = math::lstm_gradients(a, s.kept[at], g, s.gc[at]);
        ggates[i] = convert<T>(d.i);
        ggates[n + i] = convert<T>(d.f);
        ggates[2 * n + i] = convert<T>(d.g);
        ggates[3 * n + i] = convert<T>(d.o);
        s.gc[at] = d.c;
      } else {
        const math::GruGates<C> a{gate(0), gate(1), gate(2)};
        const math::GruGradients<C> d = math::gru_gradients(a, s.kept[at], convert<C>(s.previous[at]), g);
        ggates[i] = grecurrent[i] = convert<T>(d.r);
        ggates[n + i] = grecurrent[n + i] = convert<T>(d.z);
        ggates[2 * n + i] = convert<T>(d.n);
        grecurrent[2 * n + i] = convert<T>(d.rn);
        s.gh[at] = d.h;
      }
    }
  }
}

/// A matrix as the right factor of many products.
class StepProduct {
 public:
  explicit StepProduct(const Tensor& b) : b_(b) {}
  void operator()(const Tensor& d, const Tensor& a, const Tensor& bias, bool accumulate) const {
    gemm({.d = d, .a = a, .b = b_, .bias = bias, .accumulate = accumulate});
  }

 private:
  Tensor b_;
};

/// Calls f with the cell as a type's constant.
template <class F>
void visit_cell(Cell cell, F f) {
  switch (cell) {
    case Cell::tanh:
      return f(std::integral_constant<Cell, Cell::tanh>());
    case Cell::relu:
      return f(std::integral_constant<Cell, Cell::relu>());
    case Cell::lstm:
      return f(std::integral_constant<Cell, Cell::lstm>());
    case Cell::gru:
      return f(std::integral_constant<Cell, Cell::gru>());
  }
}

/// Blocks along x for the units of a row, along y for rows.
Launch shape_of(int64_t rows, int64_t units) {
  const int64_t most = resident_blocks(kThreads);
  const int64_t columns = std::clamp<int64_t>((units + kThreads - 1) / kThreads, 1, most);
  const int64_t lines = std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, std::min<int64_t>(65535, most / columns)));
  return {dim3(static_cast<unsigned>(columns), static_cast<unsigned>(lines)), dim3(kThreads), 0};
}

/// The first element of a row of a contiguous matrix, or null.
template <class T>
T* row_at(const Tensor& x, int64_t row) {
  return x.defined() ? x.raw<T>() + row * x.sizes()[1] : nullptr;
}

}  // namespace

void recurrence(const RecurrenceCall& call) {
  const DeviceGuard on(call.gates.device());
  const int64_t units = call.w_hh.sizes()[0] / gates_of(call.cell);
  visit_cell(call.cell, [&](auto cell) {
    visit_floating(call.gates.dtype(), [&]<class T>(T) {
      using C = typename ComputeOf<T>::type;
      kernels::run_recurrence<StepProduct>(
          call, kernels::all_samples(call), [&](StepRows rows, const Tensor& recurrent) {
            const bool projected = call.w_hr.defined();
            const ForwardStep<T, C> step{rows.count,
                                         units,
                                         row_at<T>(call.gates, rows.begin),
                                         recurrent.raw<C>(),
                                         row_at<C>(call.c, 0),
                                         row_at<C>(call.kept, rows.begin),
                                         row_at<T>(projected ? call.unprojected : call.y, rows.begin),
                                         projected ? nullptr : row_at<T>(call.h, 0)};
            if (rows.count * units > 0) launch(recur<decltype(cell)::value, T>, shape_of(rows.count, units), step);
          });
    });
  });
}

void recurrence_backward(const RecurrenceBackwardCall& call) {
  const RecurrenceCall& f = call.forward;
  const DeviceGuard on(f.gates.device());
  const int64_t units = f.w_hh.sizes()[0] / gates_of(f.cell);
  visit_cell(f.cell, [&](auto cell) {
    visit_floating(f.gates.dtype(), [&]<class T>(T) {
      using C = typename ComputeOf<T>::type;
      kernels::run_recurrence_backward<StepProduct>(
          call, kernels::all_samples(f), [&](StepRows rows, const Tensor& gh, const Tensor& gy) {
            const BackwardStep<T, C> step{rows.count,
                                          units,
                                          row_at<T>(f.gates, rows.begin),
                                          row_at<C>(f.kept, rows.begin),
                                          row_at<T>(call.previous, rows.begin),
                                          row_at<T>(gy, rows.begin),
                                          gh.raw<C>(),
                                          row_at<C>(call.gc, 0),
                                          row_at<T>(call.ggates, rows.begin),
                                          row_at<T>(call.grecurrent, rows.begin)};
            if (rows.count * units > 0)
              launch(recur_backward<decltype(cell)::value, T>, shape_of(rows.count, units), step);
          });
    });
  });
}

}  // namespace tandem::cuda
