#pragma once
#include "tandem/base/checked.h"
#include "tandem/ops/dropout.h"
#include "tandem/ops/rnn.h"
#include "tandem/ops/rnn_forms-inl.h"

namespace tandem {

namespace detail {

/// The arguments of a stack of recurrent layers. c is undefined but for the LSTM.
struct RecurrentStack {
  Cell cell;
  Tensor h, c;
  TensorList params;
  bool has_biases;
  int64_t num_layers;
  double dropout;
  bool train, bidirectional;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  bool projected() const { return c.defined() && h.size(2) != c.size(2); }
  /// Parameters per layer and direction.
  size_t group() const { return 2 + (has_biases ? 2 : 0) + (projected() ? 1 : 0); }
  RecurrentWeights weights(int64_t index) const {
    const Tensor* const p = params.data() + static_cast<size_t>(index) * group();
    return {p[0], p[1], has_biases ? p[2] : Tensor(), has_biases ? p[3] : Tensor(),
            projected() ? p[group() - 1] : Tensor()};
  }
};

/// Checks weights and biases of a cell with `gates` gates. input: the columns of the layer's input.
inline void check_recurrent_weights(const RecurrentWeights& w, int64_t gates, int64_t input, int64_t hidden,
                                    int64_t state, const std::string& where) {
  const auto expect = [&](const char* which, const Tensor& t, IntArrayRef sizes) {
    if (!t.defined()) return;
    TANDEM_CHECK(t.sizes() == sizes, ShapeError,
                 "{}{} is {}, but must be {} for inputs of size {} and a hidden size of {}", which, where,
                 checks::show(t), to_string(sizes), input, hidden);
    checks::floating(which, t);
  };
  checks::defined("weight_ih", w.w_ih);
  checks::defined("weight_hh", w.w_hh);
  const int64_t rows = (Checked(gates) * hidden).value_or(-1);
  expect("weight_ih", w.w_ih, {rows, input});
  expect("weight_hh", w.w_hh, {rows, state});
  expect("bias_ih", w.b_ih, {rows});
  expect("bias_hh", w.b_hh, {rows});
  expect("weight_hr", w.w_hr, {state, hidden});
}

/// Checks h or c: [layers * D, batch, any].
inline void check_state(const char* which, const Tensor& state, const RecurrentStack& s, int64_t batch) {
  checks::floating(which, state);
  const Checked rows = Checked(s.num_layers) * s.directions();
  TANDEM_CHECK(state.dim() == 3 && rows == state.size(0) && state.size(1) == batch && state.size(2) > 0, ShapeError,
               "{} is {}, but must be [{}, {}, hidden size]: layers times directions, then the batch", which,
               checks::show(state), to_string(rows), batch);
}

/// Checks a stack for inputs of `columns` columns in batches of `batch`.
inline void check_stack(const RecurrentStack& s, int64_t columns, int64_t batch) {
  TANDEM_CHECK(s.num_layers > 0, StateError, "num_layers = {}, but must be at least 1", s.num_layers);
  TANDEM_CHECK(s.dropout >= 0 && s.dropout <= 1, StateError, "dropout = {}, but must be in [0, 1]", s.dropout);
  check_state(s.cell == Cell::lstm ? "h of hx" : "hx", s.h, s, batch);
  if (s.cell == Cell::lstm) check_state("c of hx", s.c, s, batch);
  const int64_t layers = s.num_layers * s.directions(), state = s.h.size(2);
  const int64_t hidden = s.c.defined() ? s.c.size(2) : state;
  TANDEM_CHECK(s.params.size() == static_cast<size_t>(layers) * s.group(), ShapeError,
               "{} params for {} layers in {} directions; give {} for each layer and direction: weight_ih, weight_hh{}"
               "{}",
               s.params.size(), s.num_layers, s.directions(), s.group(), s.has_biases ? ", bias_ih, bias_hh" : "",
               s.projected() ? ", weight_hr (h and c of hx have different sizes)" : "");
  for (int64_t i = 0; i < layers; ++i) {
    const int64_t input = i < s.directions() ? columns : state * s.directions();
    check_recurrent_weights(s.weights(i), gates_of(s.cell), input, hidden, state,
                            fmt::format(" of layer {}", i / s.directions()));
  }
}

/// Runs the layers on rows [N, I]. Returns the output [N, D P], h and (lstm) c.
template <FixedString Name>
std::vector<Tensor> run_stack(const Op<Name>& op, const RecurrentStack& s, Tensor rows,
                              const std::vector<int64_t>& batch_sizes) {
  std::vector<Tensor> h, c;
  for (int64_t i = 0; i < s.num_layers; ++i) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < s.directions(); ++d) {
      const int64_t index = i * s.directions() + d;
      std::vector<Tensor> out = recurrent_layer(op, {s.cell, d == 1, batch_sizes}, rows, select(s.h, 0, index),
                                                s.c.defined() ? select(s.c, 0, index) : Tensor(), s.weights(index));
      outputs.push_back(out[0]);
      h.push_back(out[1]);
      if (s.c.defined()) c.push_back(out[2]);
    }
    rows = outputs.size() == 1 ? outputs[0] : cat(outputs, 1);
    if (i + 1 < s.num_layers) rows = dropout(rows, s.dropout, s.train);
  }
  const auto stacked = [](const std::vector<Tensor>& list) {
    return list.size() == 1 ? unsqueeze(list[0], 0) : stack(list, 0);
  };
  std::vector<Tensor> result{rows, stacked(h)};
  if (s.c.defined()) result.push_back(stacked(c));
  return result;
}

/// A padded batch: input [T, B, I], or [B, T, I] if batch_first.
template <FixedString Name>
std::vector<Tensor> run_padded(const Op<Name>& op, const Tensor& input, const RecurrentStack& s, bool batch_first) {
  checks::floating("input", input);
  TANDEM_CHECK(input.dim() == 3, ShapeError, "input is {}, but must be {}", checks::show(input),
               batch_first ? "[batch, steps, input size]" : "[steps, batch, input size]");
  const Tensor x = batch_first ? transpose(input, 0, 1) : input;
  const int64_t steps = x.size(0), batch = x.size(1);
  TANDEM_CHECK(steps > 0, ShapeError, "input is {}, but must have at least one step", checks::show(input));
  check_stack(s, x.size(2), batch);
  std::vector<Tensor> out =
      run_stack(op, s, reshape(x, {steps * batch, x.size(2)}), std::vector<int64_t>(static_cast<size_t>(steps), batch));
  out[0] = view(out[0], {steps, batch, out[0].size(1)});
  if (batch_first) out[0] = transpose(out[0], 0, 1);
  return out;
}

/// A packed batch: data [N, I] with batch_sizes.
template <FixedString Name>
std::vector<Tensor> run_packed(const Op<Name>& op, const Tensor& data, const Tensor& batch_sizes,
                               const RecurrentStack& s) {
  checks::floating("data", data);
  checks::index("batch_sizes", batch_sizes);
  TANDEM_CHECK(data.dim() == 2, ShapeError, "data is {}, but must be [rows, input size]", checks::show(data));
  TANDEM_CHECK(batch_sizes.is_cpu(), DeviceError, "batch_sizes are on {}, but must be on the CPU",
               batch_sizes.device().str());
  TANDEM_CHECK(batch_sizes.dim() == 1 && batch_sizes.size(0) > 0, ShapeError,
               "batch_sizes are {}, but must be [steps] with at least one step", checks::show(batch_sizes));
  const Tensor list = contiguous(to(batch_sizes, kLong));
  const std::vector<int64_t> sizes(list.raw<int64_t>(), list.raw<int64_t>() + list.numel());
  Checked total = 0;
  for (size_t t = 0; t < sizes.size(); ++t) {
    TANDEM_CHECK(sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]), StateError,
                 "batch_sizes[{}] = {}{}; they must be positive, and must not increase", t, sizes[t],
                 t == 0 ? std::string() : fmt::format(" after {}", sizes[t - 1]));
    total += sizes[t];
  }
  TANDEM_CHECK(total == data.size(0), StateError, "batch_sizes sum to {}, but data {} have {} rows", to_string(total),
               checks::show(data), data.size(0));
  check_stack(s, data.size(1), sizes[0]);
  return run_stack(op, s, data, sizes);
}

/// One step: input [B, I], h and (lstm) c [B, H].
template <FixedString Name>
std::vector<Tensor> run_cell(const Op<Name>& op, Cell cell, const Tensor& input, const Tensor& h, const Tensor& c,
                             const RecurrentWeights& w) {
  checks::floating("input", input);
  TANDEM_CHECK(input.dim() == 2, ShapeError, "input is {}, but must be [batch, input size]", checks::show(input));
  const auto check = [&](const char* which, const Tensor& state) {
    checks::floating(which, state);
    TANDEM_CHECK(state.dim() == 2 && state.size(0) == input.size(0) && state.size(1) > 0, ShapeError,
                 "{} is {}, but must be [{}, hidden size], as input is {}", which, checks::show(state), input.size(0),
                 checks::show(input));
  };
  check(cell == Cell::lstm ? "h of hx" : "hx", h);
  if (cell == Cell::lstm) {
    check("c of hx", c);
    TANDEM_CHECK(h.size(1) == c.size(1), ShapeError, "h of hx is {}, c of hx is {}; both must have the hidden size",
                 checks::show(h), checks::show(c));
  }
  const RecurrentLayer layer{cell, false, {input.size(0)}};
  check_recurrent_weights(w, gates_of(cell), input.size(1), h.size(1), h.size(1), "");
  return recurrent_layer(op, layer, input, h, c, w);
}

inline std::tuple<Tensor, Tensor> first_two(const std::vector<Tensor>& out) { return {out[0], out[1]}; }

/// h and c from the pair that functions take.
inline RecurrentStack lstm_stack(TensorList hx, TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                 bool train, bool bidirectional) {
  TANDEM_CHECK(hx.size() == 2, ShapeError, "hx has {} tensors, but must have two: h and c", hx.size());
  checks::defined("h of hx", hx[0]);
  checks::defined("c of hx", hx[1]);
  return {Cell::lstm, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional};
}

}  // namespace detail

TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params,
                                                   bool has_biases, int64_t num_layers, double dropout, bool train,
                                                   bool bidirectional, bool batch_first) {
  const Op<"lstm"> op;
  const std::vector<Tensor> out = detail::run_padded(
      op, input, detail::lstm_stack(hx, params, has_biases, num_layers, dropout, train, bidirectional), batch_first);
  return {out[0], out[1], out[2]};
}

TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx,
                                                   TensorList params, bool has_biases, int64_t num_layers,
                                                   double dropout, bool train, bool bidirectional) {
  const Op<"lstm"> op;
  const std::vector<Tensor> out = detail::run_packed(
      op, data, batch_sizes, detail::lstm_stack(hx, params, has_biases, num_layers, dropout, train, bidirectional));
  return {out[0], out[1], out[2]};
}

TANDEM_OPS std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                                          int64_t num_layers, double dropout, bool train, bool bidirectional,
                                          bool batch_first) {
  const Op<"gru"> op;
  return detail::first_two(detail::run_padded(
      op, input, {Cell::gru, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional}, batch_first));
}

TANDEM_OPS std::tuple<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                          TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                          bool train, bool bidirectional) {
  const Op<"gru"> op;
  return detail::first_two(detail::run_packed(
      op, data, batch_sizes, {Cell::gru, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional}));
}

TANDEM_OPS std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, TensorList params,
                                               bool has_biases, int64_t num_layers, double dropout, bool train,
                                               bool bidirectional, bool batch_first) {
  const Op<"rnn_tanh"> op;
  return detail::first_two(detail::run_padded(
      op, input, {Cell::tanh, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional}, batch_first));
}

TANDEM_OPS std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                               TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                               bool train, bool bidirectional) {
  const Op<"rnn_tanh"> op;
  return detail::first_two(detail::run_packed(
      op, data, batch_sizes, {Cell::tanh, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional}));
}

TANDEM_OPS std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, TensorList params,
                                               bool has_biases, int64_t num_layers, double dropout, bool train,
                                               bool bidirectional, bool batch_first) {
  const Op<"rnn_relu"> op;
  return detail::first_two(detail::run_padded(
      op, input, {Cell::relu, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional}, batch_first));
}

TANDEM_OPS std::tuple<Tensor, Tensor> rnn_relu(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                                               TensorList params, bool has_biases, int64_t num_layers, double dropout,
                                               bool train, bool bidirectional) {
  const Op<"rnn_relu"> op;
  return detail::first_two(detail::run_packed(
      op, data, batch_sizes, {Cell::relu, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional}));
}

TANDEM_OPS std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih,
                                                const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  const Op<"lstm_cell"> op;
  TANDEM_CHECK(hx.size() == 2, ShapeError, "hx has {} tensors, but must have two: h and c", hx.size());
  const std::vector<Tensor> out =
      detail::run_cell(op, Cell::lstm, input, hx[0], hx[1], {w_ih, w_hh, b_ih, b_hh, Tensor()});
  return {out[1], out[2]};
}

TANDEM_OPS Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                           const Tensor& b_ih, const Tensor& b_hh) {
  const Op<"gru_cell"> op;
  return detail::run_cell(op, Cell::gru, input, hx, Tensor(), {w_ih, w_hh, b_ih, b_hh, Tensor()})[0];
}

TANDEM_OPS Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                                const Tensor& b_ih, const Tensor& b_hh) {
  const Op<"rnn_tanh_cell"> op;
  return detail::run_cell(op, Cell::tanh, input, hx, Tensor(), {w_ih, w_hh, b_ih, b_hh, Tensor()})[0];
}

TANDEM_OPS Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                                const Tensor& b_ih, const Tensor& b_hh) {
  const Op<"rnn_relu_cell"> op;
  return detail::run_cell(op, Cell::relu, input, hx, Tensor(), {w_ih, w_hh, b_ih, b_hh, Tensor()})[0];
}

}  // namespace tandem
