#pragma once
// One layer of a recurrent network in one direction: an op with eight inputs, three outputs and one autograd node.
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/check.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/cast_operands.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/join.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/matmul_forms-inl.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// The weights of a layer in one direction; biases and projection are optional.
struct RecurrentWeights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

/// What an op of one layer captures. The steps are those of RecurrenceCall.
struct RecurrentLayer {
  Cell cell;
  bool reverse;
  std::vector<int64_t> batch_sizes;
};

inline Tensor first_rows(const Tensor& x, int64_t rows) { return x.size(0) == rows ? x : narrow(x, 0, 0, rows); }

/// The inputs of the op, which its backward function saves first.
enum RecurrentInput : size_t { kRnnX, kRnnH, kRnnC, kRnnWih, kRnnWhh, kRnnBih, kRnnBhh, kRnnWhr, kRnnInputs };
/// What it saves after them: the output, the gates, RecurrenceCall's `kept` and `unprojected`.
enum RecurrentSaved : size_t { kRnnY = kRnnInputs, kRnnGates, kRnnKept, kRnnUnprojected };

/// The layer in ops, which can be differentiated to any order: output, h and c after the last step.
inline std::vector<Tensor> recurrence_in_ops(const RecurrentLayer& layer, const std::vector<Tensor>& in) {
  const Tensor products = linear(in[kRnnX], in[kRnnWih], in[kRnnBih]);
  Tensor h = in[kRnnH], c = in[kRnnC];
  const size_t steps = layer.batch_sizes.size();
  std::vector<int64_t> begins(steps + 1, 0);
  for (size_t t = 0; t < steps; ++t) begins[t + 1] = begins[t] + layer.batch_sizes[t];
  // The state after a step: the step's samples, then those that have ended or not begun.
  const auto updated = [](const Tensor& after, const Tensor& before) {
    const int64_t rows = after.size(0), rest = before.size(0) - rows;
    return rest == 0 ? after : cat({std::vector<Tensor>{after, narrow(before, 0, rows, rest)}}, 0);
  };
  std::vector<Tensor> outputs(steps);
  for (size_t k = 0; k < steps; ++k) {
    const size_t t = layer.reverse ? steps - 1 - k : k;
    const int64_t rows = layer.batch_sizes[t];
    const Tensor x = narrow(products, 0, begins[t], rows), before = first_rows(h, rows);
    const Tensor r = linear(before, in[kRnnWhh], in[kRnnBhh]);
    Tensor y;
    if (layer.cell == Cell::lstm) {
      const std::vector<Tensor> gates = chunk(add(x, r), 4, 1);
      const Tensor state = add(mul(sigmoid(gates[1]), first_rows(c, rows)), mul(sigmoid(gates[0]), tanh(gates[2])));
      y = mul(sigmoid(gates[3]), tanh(state));
      c = updated(state, c);
      if (in[kRnnWhr].defined()) y = linear(y, in[kRnnWhr], {});
    } else if (layer.cell == Cell::gru) {
      const std::vector<Tensor> gx = chunk(x, 3, 1), gr = chunk(r, 3, 1);
      const Tensor n = tanh(add(gx[2], mul(sigmoid(add(gx[0], gr[0])), gr[2])));
      y = add(n, mul(sigmoid(add(gx[1], gr[1])), sub(before, n)));
    } else {
      const Tensor sum = add(x, r);
      y = layer.cell == Cell::tanh ? tanh(sum) : relu(sum);
    }
    outputs[t] = y;
    h = updated(y, h);
  }
  return {cat(outputs, 0), h, c};
}

/// The gradients of the inputs as functions of the inputs and of the outputs' gradients, for second derivatives.
inline Grads recurrent_gradients_in_ops(const RecurrentLayer& layer, const Backward& b) {
  // Each input as a tensor of its own, so that the gradient of one does not include its effect on another.
  std::vector<Tensor> in(kRnnInputs), wanted;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < kRnnInputs; ++i) {
    in[i] = b.saved(i);
    if (!b.needs(i)) continue;
    in[i] = view(in[i], in[i].sizes());
    wanted.push_back(in[i]);
    numbers.push_back(i);
  }
  std::vector<Tensor> outputs, weights;
  const std::vector<Tensor> out = recurrence_in_ops(layer, in);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined() || !b.grad(i).defined() || !out[i].requires_grad()) continue;
    outputs.push_back(out[i]);
    weights.push_back(b.grad(i));
  }
  Grads grads(kRnnInputs);
  if (outputs.empty() || wanted.empty()) return grads;
  const std::vector<Tensor> found = autograd::grad(outputs, wanted, weights, true, true, /*allow_unused=*/true);
  for (size_t k = 0; k < found.size(); ++k) grads[numbers[k]] = found[k];
  return grads;
}

/// Writes to `before` h before each step, from h before the first and after each step. Steps of equal batch sizes are
/// copied together.
inline void copy_states_before(const Tensor& before, const RecurrentLayer& layer, const Tensor& h, const Tensor& y) {
  const std::vector<int64_t>& sizes = layer.batch_sizes;
  const auto copy_rows = [&](int64_t to, const Tensor& from, int64_t begin, int64_t rows) {
    if (rows > 0) backend(y).copy(narrow(before, 0, to, rows), narrow(from, 0, begin, rows));
  };
  int64_t begin = 0;
  for (size_t first = 0, end; first < sizes.size(); first = end) {
    end = first + 1;
    while (end < sizes.size() && sizes[end] == sizes[first]) ++end;
    const int64_t rows = sizes[first], inner = rows * static_cast<int64_t>(end - first - 1);
    if (!layer.reverse) {
      first == 0 ? copy_rows(0, h, 0, rows) : copy_rows(begin, y, begin - sizes[first - 1], rows);
      copy_rows(begin + rows, y, begin, inner);
    } else {
      // The last of these steps follows the next shorter step, and is the first one for the samples that end here.
      const int64_t next = begin + inner + rows, known = end < sizes.size() ? sizes[end] : 0;
      copy_rows(begin, y, begin + rows, inner);
      copy_rows(begin + inner, y, next, known);
      copy_rows(begin + inner + known, h, known, rows - known);
    }
    begin += inner + rows;
  }
}

/// A contiguous copy of `x`, zeros if it is undefined.
inline Tensor copy_or_zeros(const Tensor& x, IntArrayRef sizes, const TensorOptions& options) {
  if (!x.defined()) return zeros(sizes, options);
  const Tensor y = empty(sizes, options);
  if (y.numel() > 0) backend(y).copy(y, x);
  return y;
}

/// Gradients by the kernels.
inline Grads recurrent_gradients(const RecurrentLayer& layer, const Backward& b) {
  const Tensor x = contiguous(b.saved(kRnnX)), gates = b.saved(kRnnGates), y = b.saved(kRnnY);
  const DType dtype = x.dtype();
  const TensorOptions wide = x.options().dtype(checks::sum_dtype(dtype));
  const bool gru = layer.cell == Cell::gru;
  RecurrenceBackwardCall call;
  RecurrenceCall& f = call.forward;
  f.cell = layer.cell;
  f.reverse = layer.reverse;
  f.batch_sizes = layer.batch_sizes;
  f.w_hh = contiguous(b.saved(kRnnWhh));
  f.w_hr = b.saved(kRnnWhr);
  if (f.w_hr.defined()) f.w_hr = contiguous(f.w_hr);
  f.gates = gates;
  f.kept = b.saved(kRnnKept);
  f.unprojected = b.saved(kRnnUnprojected);
  // Where both weights meet the same gradients, one product with [x, h before] reads these once.
  const bool one_product =
      !gru && b.needs(kRnnWih) && b.needs(kRnnWhh) && b.wanted(kRnnWih) == b.wanted(kRnnWhh) && x.numel() > 0;
  Tensor factors;
  if (one_product) {
    factors = empty({x.size(0), x.size(1) + y.size(1)}, x.options());
    backend(x).copy(narrow(factors, 1, 0, x.size(1)), x);
    call.previous = narrow(factors, 1, x.size(1), y.size(1));
  } else if (gru || b.needs(kRnnWhh)) {
    call.previous = empty(y.sizes(), y.options());
  }
  if (call.previous.defined()) copy_states_before(call.previous, layer, b.saved(kRnnH), y);
  if (b.grad(0).defined()) call.gy = contiguous(b.grad(0));
  call.gh = copy_or_zeros(b.grad(1), b.saved(kRnnH).sizes(), wide);
  if (layer.cell == Cell::lstm) call.gc = copy_or_zeros(b.grad(2), b.saved(kRnnC).sizes(), wide);
  call.ggates = empty(gates.sizes(), gates.options());
  call.grecurrent = gru ? empty(gates.sizes(), gates.options()) : call.ggates;
  if (f.w_hr.defined()) call.gprojected = empty(y.sizes(), y.options());
  if (gates.numel() > 0) backend(x).recurrence_backward(call);

  Grads grads(kRnnInputs);
  grads[kRnnH] = call.gh;
  grads[kRnnC] = call.gc;
  const auto result = [&](size_t i, IntArrayRef sizes) {
    return b.needs(i) ? empty(sizes, x.options().dtype(writable(b.wanted(i), dtype))) : Tensor();
  };
  if (b.needs(kRnnX)) {
    grads[kRnnX] = result(kRnnX, x.sizes());
    backend(x).gemm({.d = grads[kRnnX], .a = call.ggates, .b = b.saved(kRnnWih), .bias = {}});
  }
  const Dims bias{gates.size(1)};
  grads[kRnnWih] = result(kRnnWih, {gates.size(1), x.size(1)});
  grads[kRnnBih] = result(kRnnBih, bias);
  grads[kRnnWhh] = result(kRnnWhh, f.w_hh.sizes());
  // But for the GRU, the two biases have the same gradient.
  const bool same_bias = !gru && grads[kRnnBih].defined();
  if (!same_bias) grads[kRnnBhh] = result(kRnnBhh, bias);
  const auto weight_gradients = [&](size_t w, size_t v, const Tensor& gy, const Tensor& in) {
    if (grads[w].defined() || grads[v].defined()) backend(x).linear_backward_weight(grads[w], grads[v], gy, in);
  };
  if (one_product) {
    const Tensor both = empty({gates.size(1), factors.size(1)}, x.options().dtype(grads[kRnnWih].dtype()));
    backend(x).linear_backward_weight(both, grads[same_bias ? kRnnBih : kRnnBhh], call.ggates, factors);
    backend(x).copy(grads[kRnnWih], narrow(both, 1, 0, x.size(1)));
    backend(x).copy(grads[kRnnWhh], narrow(both, 1, x.size(1), y.size(1)));
  } else {
    weight_gradients(kRnnWih, kRnnBih, call.ggates, x);
    weight_gradients(kRnnWhh, kRnnBhh, call.grecurrent, call.previous);
  }
  if (same_bias && b.needs(kRnnBhh)) grads[kRnnBhh] = clone(grads[kRnnBih]);
  if (b.needs(kRnnWhr)) {
    grads[kRnnWhr] = result(kRnnWhr, f.w_hr.sizes());
    backend(x).linear_backward_weight(grads[kRnnWhr], Tensor(), call.gprojected, f.unprojected);
  }
  return grads;
}

/// Casts the inputs of a layer for a region whose policy keeps the op, as PyTorch's lists for the CPU do. There the
/// products in it are cast, and what is added to the state gives the result its dtype: the wider of the state's and the
/// region's. Here the layer computes in that dtype.
inline void cast_to_state(std::vector<Tensor>& inputs) {
  const Tensor& state = inputs[inputs[kRnnC].defined() ? kRnnC : kRnnH];
  const AutocastState* const region = casting_region(state);
  if (!region) return;
  const DType dtype = promote_types(state.dtype(), region->dtype);
  for (Tensor& x : inputs) {
    if (casting_region(x)) x = to(x, dtype);
  }
}

/// One layer in one direction. x: [N, I], h: [B, P], c (lstm): [B, H]. Returns the output [N, P], and h and c after the
/// last step of each sample. The sizes have been checked.
template <FixedString Name>
std::vector<Tensor> recurrent_layer(const Op<Name>& op, const RecurrentLayer& layer, const Tensor& x, const Tensor& h,
                                    const Tensor& c, const RecurrentWeights& w) {
  std::vector<Tensor> inputs{x, h, c, w.w_ih, w.w_hh, w.b_ih, w.b_hh, w.w_hr};
  if (amp::detail::current_policy(amp::policy_row(Name.text)) == amp::Cast::keep) cast_to_state(inputs);
  const bool records = is_recording(inputs);
  return op.apply_n(
      [&](const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
          const Tensor& b_hh, const Tensor& w_hr) {
        checks::same_dtype("input", x, "weight_ih", w_ih);
        checks::same_dtype("input", x, "weight_hh", w_hh);
        checks::same_dtype("input", x, "weight_hr", w_hr);
        checks::same_dtype("input", x, "bias_ih", b_ih);
        checks::same_dtype("input", x, "bias_hh", b_hh);
        checks::same_dtype("input", x, "h of hx", h);
        checks::same_dtype("input", x, "c of hx", c);
        const int64_t rows = x.size(0), units = w_hh.size(0) / gates_of(layer.cell);
        const TensorOptions wide = x.options().dtype(checks::sum_dtype(x.dtype()));
        RecurrenceCall call;
        call.cell = layer.cell;
        call.reverse = layer.reverse;
        call.batch_sizes = layer.batch_sizes;
        call.w_hh = contiguous(w_hh);
        call.b_hh = b_hh.defined() ? contiguous(b_hh) : b_hh;
        call.w_hr = w_hr.defined() ? contiguous(w_hr) : w_hr;
        call.gates = empty({rows, w_ih.size(0)}, x.options());
        if (call.gates.numel() > 0) backend(x).gemm({.d = call.gates, .a = x, .b = swap_last(w_ih), .bias = b_ih});
        call.h = copy_or_zeros(h, h.sizes(), x.options());
        if (c.defined()) call.c = copy_or_zeros(c, c.sizes(), wide);
        call.y = empty({rows, h.size(1)}, x.options());
        if (records && (layer.cell == Cell::lstm || layer.cell == Cell::gru)) call.kept = empty({rows, units}, wide);
        if (w_hr.defined()) call.unprojected = empty({rows, units}, x.options());
        if (call.gates.numel() > 0) backend(x).recurrence(call);
        const Tensor gates = layer.cell == Cell::tanh || layer.cell == Cell::relu ? call.y : call.gates;
        std::vector<Tensor> outputs{call.y, call.h};
        if (c.defined()) outputs.push_back(call.c.dtype() == x.dtype() ? call.c : to(call.c, x.dtype()));
        return Result{
            std::move(outputs), save(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, call.y, gates, call.kept, call.unprojected),
            [layer](const Backward& b) -> Grads {
              return GradMode::is_enabled() ? recurrent_gradients_in_ops(layer, b) : recurrent_gradients(layer, b);
            }};
      },
      inputs[kRnnX], inputs[kRnnH], inputs[kRnnC], inputs[kRnnWih], inputs[kRnnWhh], inputs[kRnnBih], inputs[kRnnBhh],
      inputs[kRnnWhr]);
}

}  // namespace detail

}  // namespace tandem
