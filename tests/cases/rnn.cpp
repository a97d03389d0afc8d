// Recurrent layers and cells. Inputs: x, h, c (lstm), weight_ih, weight_hh, then biases and weight_hr where used.
#include "tandem/ops/rnn.h"

#include "cases/cases.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

constexpr const char* kSlow = "too many elements; the small cases are checked";

/// The tensors from number `first` on, `times` times over: parameters that all layers share.
Out repeated(In x, size_t first, int times = 1) {
  Out params;
  for (int i = 0; i < times; ++i) params.insert(params.end(), x.begin() + static_cast<int64_t>(first), x.end());
  return params;
}

Out listed(const std::tuple<Tensor, Tensor, Tensor>& out) {
  return {std::get<0>(out), std::get<1>(out), std::get<2>(out)};
}
Out listed(const std::tuple<Tensor, Tensor>& out) { return {std::get<0>(out), std::get<1>(out)}; }

Tensor sizes_of_batches(std::vector<int64_t> sizes) { return tensor(sizes, TensorOptions(kLong).device(kCPU)); }

/// One direction and one layer: x [2, 2, 3], hidden size 2.
std::vector<Input> one_layer(int64_t gates, bool cell_state, bool biases) {
  std::vector<Input> inputs{normal({2, 2, 3}), normal({1, 2, 2})};
  if (cell_state) inputs.push_back(normal({1, 2, 2}));
  inputs.push_back(normal({gates * 2, 3}));
  inputs.push_back(normal({gates * 2, 2}));
  if (biases) inputs.insert(inputs.end(), 2, normal({gates * 2}));
  return inputs;
}

/// Two layers in both directions with shared parameters: x [2, 2, 4], hidden size 2.
std::vector<Input> stack_of_layers(int64_t gates, bool cell_state, std::vector<int64_t> x) {
  std::vector<Input> inputs{normal(x), normal({4, 2, 2})};
  if (cell_state) inputs.push_back(normal({4, 2, 2}));
  inputs.push_back(normal({gates * 2, 4}));
  inputs.push_back(normal({gates * 2, 2}));
  inputs.insert(inputs.end(), 2, normal({gates * 2}));
  return inputs;
}

void add(Cases& c, const char* op, const char* name, const char* torch, std::vector<Input> inputs,
         Callable<Out(In)> run) {
  c.push_back({.op = op,
               .name = name,
               .torch = torch,
               .inputs = std::move(inputs),
               .run = std::move(run),
               .sum = 60,  // shared weights: 4 uses of up to 8 terms at each step
               .roundings = 12,
               .grad_roundings = 24});
}

void add_lstm(Cases& c) {
  add(c, "lstm", "layer", "torch.lstm(a, (b, c), (d, e, f, g), True, 1, 0.0, True, False, False)",
      one_layer(4, true, true), [](In x) -> Out {
        return listed(lstm(x[0], {x[1], x[2]}, repeated(x, 3), true, 1, 0, true, false, false));
      });
  add(c, "lstm", "no_bias_batch_first",
      "torch.lstm(a, (torch.cat([b, b]), torch.cat([c, c])), (d, e, d, e), False, 1, 0.0, True, True, True)",
      one_layer(4, true, false), [](In x) -> Out {
        const Out h{x[1], x[1]}, c{x[2], x[2]};
        return listed(lstm(x[0], {cat(h), cat(c)}, repeated(x, 3, 2), false, 1, 0, true, true, true));
      });
  c.back().inputs[0] = normal({2, 3, 3});
  c.back().no_gradgradcheck = kSlow;
  add(c, "lstm", "stack", "torch.lstm(a, (b, c), (d, e, f, g) * 4, True, 2, 0.0, True, True, False)",
      stack_of_layers(4, true, {2, 2, 4}), [](In x) -> Out {
        return listed(lstm(x[0], {x[1], x[2]}, repeated(x, 3, 4), true, 2, 0, true, true, false));
      });
  c.back().no_gradgradcheck = kSlow;
  add(c, "lstm", "packed",
      "torch.lstm(a, torch.tensor([3, 2, 2, 1]), (b, c), (d, e, f, g) * 2, True, 1, 0.0, True, True)",
      stack_of_layers(4, true, {8, 4}), [](In x) -> Out {
        return listed(
            lstm(x[0], sizes_of_batches({3, 2, 2, 1}), {x[1], x[2]}, repeated(x, 3, 2), true, 1, 0, true, true));
      });
  c.back().inputs[1] = normal({2, 3, 2});
  c.back().inputs[2] = normal({2, 3, 2});
  c.back().no_gradgradcheck = kSlow;
  add(c, "lstm", "projection", "torch.lstm(a, (b, c), (d, e, f, g, h), True, 1, 0.0, True, False, False)",
      {normal({2, 2, 3}), normal({1, 2, 1}), normal({1, 2, 2}), normal({8, 3}), normal({8, 1}), normal({8}),
       normal({8}), normal({1, 2})},
      [](In x) -> Out {
        return listed(lstm(x[0], {x[1], x[2]}, repeated(x, 3), true, 1, 0, true, false, false));
      });
  add(c, "lstm", "packed_projection",
      "torch.lstm(a, torch.tensor([2, 1]), (b, c), (d, e, f) * 2, False, 1, 0.0, True, True)",
      {normal({3, 2}), normal({2, 2, 1}), normal({2, 2, 2}), normal({8, 2}), normal({8, 1}), normal({1, 2})},
      [](In x) -> Out {
        return listed(lstm(x[0], sizes_of_batches({2, 1}), {x[1], x[2]}, repeated(x, 3, 2), false, 1, 0, true, true));
      });
  add(c, "lstm_cell", "biases", "torch.lstm_cell(a, (b, c), d, e, f, g)",
      {normal({2, 4}), normal({2, 3}), normal({2, 3}), normal({12, 4}), normal({12, 3}), normal({12}), normal({12})},
      [](In x) -> Out {
        return listed(lstm_cell(x[0], {x[1], x[2]}, x[3], x[4], x[5], x[6]));
      });
  add(c, "lstm_cell", "no_bias", "torch.lstm_cell(a, (b, c), d, e)",
      {normal({2, 4}), normal({2, 3}), normal({2, 3}), normal({12, 4}).laid_out(MemoryLayout::transposed),
       normal({12, 3}).laid_out(MemoryLayout::transposed)},
      [](In x) -> Out {
        return listed(lstm_cell(x[0], {x[1], x[2]}, x[3], x[4]));
      });
}

void add_gru(Cases& c) {
  add(c, "gru", "layer", "torch.gru(a, b, (c, d, e, f), True, 1, 0.0, True, False, False)", one_layer(3, false, true),
      [](In x) -> Out { return listed(gru(x[0], x[1], repeated(x, 2), true, 1, 0, true, false, false)); });
  add(c, "gru", "stack_batch_first", "torch.gru(a, b, (c, d, e, f) * 4, True, 2, 0.0, True, True, True)",
      stack_of_layers(3, false, {2, 2, 4}),
      [](In x) -> Out { return listed(gru(x[0], x[1], repeated(x, 2, 4), true, 2, 0, true, true, true)); });
  c.back().no_gradgradcheck = kSlow;
  add(c, "gru", "packed", "torch.gru(a, torch.tensor([2, 2, 1]), b, (c, d, e, f) * 2, True, 1, 0.0, True, True)",
      stack_of_layers(3, false, {5, 4}), [](In x) -> Out {
        return listed(gru(x[0], sizes_of_batches({2, 2, 1}), x[1], repeated(x, 2, 2), true, 1, 0, true, true));
      });
  c.back().inputs[1] = normal({2, 2, 2});
  add(c, "gru_cell", "biases", "torch.gru_cell(a, b, c, d, e, f)",
      {normal({2, 4}), normal({2, 3}), normal({9, 4}), normal({9, 3}), normal({9}), normal({9})},
      [](In x) -> Out { return {gru_cell(x[0], x[1], x[2], x[3], x[4], x[5])}; });
  add(c, "gru_cell", "no_bias", "torch.gru_cell(a, b, c, d)",
      {normal({2, 4}), normal({2, 3}), normal({9, 4}), normal({9, 3})},
      [](In x) -> Out { return {gru_cell(x[0], x[1], x[2], x[3])}; });
}

void add_rnn(Cases& c) {
  add(c, "rnn_tanh", "layer", "torch.rnn_tanh(a, b, (c, d, e, f), True, 1, 0.0, True, False, False)",
      one_layer(1, false, true),
      [](In x) -> Out { return listed(rnn_tanh(x[0], x[1], repeated(x, 2), true, 1, 0, true, false, false)); });
  add(c, "rnn_tanh", "packed_stack",
      "torch.rnn_tanh(a, torch.tensor([2, 1]), b, (c, d, e, f) * 4, True, 2, 0.0, True, True)",
      stack_of_layers(1, false, {3, 4}), [](In x) -> Out {
        return listed(rnn_tanh(x[0], sizes_of_batches({2, 1}), x[1], repeated(x, 2, 4), true, 2, 0, true, true));
      });
  c.back().no_gradgradcheck = kSlow;
  add(c, "rnn_relu", "layer", "torch.rnn_relu(a, b, (c, d, e, f), True, 1, 0.0, True, False, False)",
      one_layer(1, false, true),
      [](In x) -> Out { return listed(rnn_relu(x[0], x[1], repeated(x, 2), true, 1, 0, true, false, false)); });
  add(c, "rnn_relu", "packed", "torch.rnn_relu(a, torch.tensor([2, 1]), b, (c, d, e, f) * 2, True, 1, 0.0, True, True)",
      stack_of_layers(1, false, {3, 4}), [](In x) -> Out {
        return listed(rnn_relu(x[0], sizes_of_batches({2, 1}), x[1], repeated(x, 2, 2), true, 1, 0, true, true));
      });
  c.back().inputs[1] = normal({2, 2, 2});
  add(c, "rnn_tanh_cell", "biases", "torch.rnn_tanh_cell(a, b, c, d, e, f)",
      {normal({2, 4}), normal({2, 3}), normal({3, 4}), normal({3, 3}), normal({3}), normal({3})},
      [](In x) -> Out { return {rnn_tanh_cell(x[0], x[1], x[2], x[3], x[4], x[5])}; });
  add(c, "rnn_relu_cell", "biases", "torch.rnn_relu_cell(a, b, c, d, e, f)",
      {normal({2, 4}), normal({2, 3}), normal({3, 4}), normal({3, 3}), normal({3}), normal({3})},
      [](In x) -> Out { return {rnn_relu_cell(x[0], x[1], x[2], x[3], x[4], x[5])}; });
}

}  // namespace

Cases rnn_cases() {
  Cases c;
  add_lstm(c);
  add_gru(c);
  add_rnn(c);
  return c;
}

}  // namespace tandem::testing
