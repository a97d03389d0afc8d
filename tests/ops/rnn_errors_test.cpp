// Recurrent layers and cells reject arguments that do not fit together.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

/// Weights of one layer with input size 4 and hidden size 3.
std::vector<Tensor> weights(int64_t gates) {
  return {ones({gates * 3, 4}), ones({gates * 3, 3}), ones({gates * 3}), ones({gates * 3})};
}

/// Batch sizes.
Tensor on_cpu(std::vector<int64_t> sizes) { return tensor(sizes, TensorOptions(kLong).device(kCPU)); }

std::vector<Tensor> with(std::vector<Tensor> tensors, size_t i, const Tensor& x) {
  tensors[i] = x;
  return tensors;
}

BadInputs lstm_bad_input() {
  constexpr const char* op = "lstm";
  const Tensor none, x = ones({5, 2, 4}), h = ones({1, 2, 3}), c = ones({1, 2, 3}), data = ones({3, 4});
  const Tensor steps = on_cpu({2, 1});
  const std::vector<Tensor> hx{h, c}, w = weights(4);
  const auto run = [=](const Tensor& input, const std::vector<Tensor>& states, const std::vector<Tensor>& params,
                       int64_t layers = 1, double dropout = 0, bool bidirectional = false) {
    return lstm(input, states, params, true, layers, dropout, true, bidirectional, false);
  };
  const auto packed = [=](const Tensor& rows, const Tensor& sizes) {
    return lstm(rows, sizes, hx, w, true, 1, 0, true, false);
  };
  return {
      UNDEFINED(op, run(none, hx, w)),
      UNDEFINED(op, run(x, {none, c}, w)),
      UNDEFINED(op, run(x, {h, none}, w)),
      UNDEFINED(op, run(x, hx, with(w, 0, none))),
      UNDEFINED(op, run(x, hx, with(w, 1, none))),
      BAD_INPUT(op, run(x.to(kLong), hx, w), DTypeError, "input is [5, 2, 4] i64", "floating"),
      BAD_INPUT(op, run(x.to(kDouble), hx, w), DTypeError, "input is [5, 2, 4] f64", "weight_ih", "f32"),
      BAD_INPUT(op, run(x, {h.to(kDouble), c}, w), DTypeError, "f32", "h of hx", "f64"),
      BAD_INPUT(op, run(ones({2, 4}), hx, w), ShapeError, "input is [2, 4] f32", "[steps, batch, input size]"),
      BAD_INPUT(op, run(ones({0, 2, 4}), hx, w), ShapeError, "input is [0, 2, 4] f32", "at least one step"),
      BAD_INPUT(op, run(ones({5, 2, 6}), hx, w), ShapeError, "weight_ih of layer 0 is [12, 4] f32", "[12, 6]",
                "inputs of size 6"),
      BAD_INPUT(op, run(x, {h}, w), ShapeError, "hx has 1 tensors", "h and c"),
      BAD_INPUT(op, run(x, {ones({1, 3, 3}), c}, w), ShapeError, "h of hx is [1, 3, 3] f32", "[1, 2, hidden size]"),
      BAD_INPUT(op, run(x, {h, ones({2, 2, 3})}, w), ShapeError, "c of hx is [2, 2, 3] f32", "[1, 2, hidden size]"),
      BAD_INPUT(op, run(x, hx, {w[0], w[1]}), ShapeError, "2 params", "give 4", "bias_ih"),
      BAD_INPUT(op, run(x, {ones({1, 2, 2}), c}, w), ShapeError, "4 params", "give 5", "weight_hr"),
      BAD_INPUT(op, run(x, hx, with(w, 1, ones({12, 4}))), ShapeError, "weight_hh of layer 0 is [12, 4]", "[12, 3]"),
      BAD_INPUT(op, run(x, hx, with(w, 3, ones({3}))), ShapeError, "bias_hh of layer 0 is [3]", "[12]"),
      BAD_INPUT(op, run(x, hx, w, 0), StateError, "num_layers = 0", "at least 1"),
      BAD_INPUT(op, run(x, hx, w, 1, 1.5), StateError, "dropout = 1.5", "[0, 1]"),
      BAD_INPUT(op, run(x, hx, w, 1, 0, true), ShapeError, "h of hx is [1, 2, 3]", "[2, 2, hidden size]"),
      UNDEFINED(op, packed(none, steps)),
      UNDEFINED(op, packed(data, none)),
      BAD_INPUT(op, packed(x, steps), ShapeError, "data is [5, 2, 4]", "[rows, input size]"),
      BAD_INPUT(op, packed(data, on_cpu({1, 2})), StateError, "batch_sizes[1] = 2 after 1", "not increase"),
      BAD_INPUT(op, packed(data, on_cpu({3, 0})), StateError, "batch_sizes[1] = 0", "positive"),
      BAD_INPUT(op, packed(data, on_cpu({2, 2})), StateError, "sum to 4", "3 rows"),
      BAD_INPUT(op, packed(data, ones({2}, TensorOptions(kFloat).device(kCPU))), DTypeError, "batch_sizes", "f32"),
      BAD_INPUT(op, packed(data, ones({1, 2}, TensorOptions(kLong).device(kCPU))), ShapeError,
                "batch_sizes are [1, 2] i64", "[steps]"),
      ON_TWO_DEVICES(op, run(x, {on_another_device({1, 2, 3}), c}, w)),
  };
}

BadInputs cell_bad_input() {
  const Tensor none, x = ones({2, 4}), h = ones({2, 3});
  const std::vector<Tensor> four = weights(4), three = weights(3), one = weights(1);
  const auto step = [=](const Tensor& input, const std::vector<Tensor>& hx, const std::vector<Tensor>& w) {
    return lstm_cell(input, hx, w[0], w[1], w[2], w[3]);
  };
  return {
      UNDEFINED("lstm_cell", step(none, {h, h}, four)),
      UNDEFINED("lstm_cell", step(x, {none, h}, four)),
      UNDEFINED("lstm_cell", step(x, {h, none}, four)),
      UNDEFINED("lstm_cell", step(x, {h, h}, with(four, 0, none))),
      BAD_INPUT("lstm_cell", step(x, {h}, four), ShapeError, "hx has 1 tensors", "h and c"),
      BAD_INPUT("lstm_cell", step(ones({4}), {h, h}, four), ShapeError, "input is [4] f32", "[batch, input size]"),
      BAD_INPUT("lstm_cell", step(x, {ones({3, 3}), h}, four), ShapeError, "h of hx is [3, 3]", "[2, hidden size]"),
      BAD_INPUT("lstm_cell", step(x, {h, ones({2, 5})}, four), ShapeError, "h of hx is [2, 3]", "c of hx is [2, 5]"),
      BAD_INPUT("lstm_cell", step(x, {h, h}, three), ShapeError, "weight_ih is [9, 4]", "[12, 4]"),
      UNDEFINED("gru_cell", gru_cell(none, h, three[0], three[1])),
      UNDEFINED("gru_cell", gru_cell(x, none, three[0], three[1])),
      BAD_INPUT("gru_cell", gru_cell(x, h, four[0], four[1]), ShapeError, "weight_ih is [12, 4]", "[9, 4]"),
      BAD_INPUT("gru_cell", gru_cell(x, h, three[0], three[1], ones({3})), ShapeError, "bias_ih is [3]", "[9]"),
      UNDEFINED("rnn_tanh_cell", rnn_tanh_cell(none, h, one[0], one[1])),
      BAD_INPUT("rnn_tanh_cell", rnn_tanh_cell(x, h, one[0], ones({4, 3})), ShapeError, "weight_hh is [4, 3]",
                "[3, 3]"),
      UNDEFINED("rnn_relu_cell", rnn_relu_cell(x, none, one[0], one[1])),
      BAD_INPUT("rnn_relu_cell", rnn_relu_cell(x, h.to(kHalf), one[0], one[1]), DTypeError, "f32", "f16"),
  };
}

/// The checks are those of lstm.
BadInputs layers_with_one_state() {
  const Tensor none, x = ones({5, 2, 4}), h = ones({1, 2, 3}), data = ones({3, 4}), steps = on_cpu({2, 1});
  const std::vector<Tensor> three = weights(3), one = weights(1);
  return {
      UNDEFINED("gru", gru(none, h, three, true, 1, 0, true, false, false)),
      UNDEFINED("gru", gru(x, none, three, true, 1, 0, true, false, false)),
      BAD_INPUT("gru", gru(x, h, one, true, 1, 0, true, false, false), ShapeError, "weight_ih of layer 0 is [3, 4]",
                "[9, 4]"),
      BAD_INPUT("gru", gru(data, steps, ones({1, 3, 3}), three, true, 1, 0, true, false), ShapeError, "hx is [1, 3, 3]",
                "[1, 2, hidden size]"),
      UNDEFINED("rnn_tanh", rnn_tanh(none, h, one, true, 1, 0, true, false, false)),
      BAD_INPUT("rnn_tanh", rnn_tanh(x, h, one, false, 1, 0, true, false, false), ShapeError, "4 params", "give 2"),
      UNDEFINED("rnn_relu", rnn_relu(x, none, one, true, 1, 0, true, false, false)),
      BAD_INPUT("rnn_relu", rnn_relu(data, on_cpu({1, 1}), ones({1, 1, 3}), one, true, 1, 0, true, false), StateError,
                "sum to 2", "3 rows"),
  };
}

}  // namespace

BadInputs rnn_bad_input() {
  BadInputs all = lstm_bad_input();
  for (const BadInputs& rows : {cell_bad_input(), layers_with_one_state()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace tandem::testing
