// Recurrent layers and cells, and packed sequences. Values and gradients are compared with PyTorch in tests/cases.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/layer_checks.h"
#include "support/bad_input.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using testing::text;
using namespace nn::utils::rnn;
using nn::GRU;
using nn::GRUOptions;
using nn::LSTM;
using nn::LSTMOptions;
using nn::RNNOptions;

/// The largest difference of two tensors of equal sizes.
double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return a.sizes() != b.sizes() ? INFINITY : a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

std::vector<int64_t> integers_of(const Tensor& x) {
  const Tensor host = x.to(kCPU).contiguous();
  return {host.const_data_ptr<int64_t>(), host.const_data_ptr<int64_t>() + host.numel()};
}

TEST(RecurrentLayers, ParametersHavePyTorchsNamesAndSizes) {
  const LSTM lstm(LSTMOptions(5, 4).num_layers(2).bidirectional(true).proj_size(3));
  std::string names;
  for (const auto& item : lstm->named_parameters()) names += item.key() + to_string(item.value().sizes()) + " ";
  EXPECT_EQ(names,
            "weight_ih_l0[16, 5] weight_hh_l0[16, 3] bias_ih_l0[16] bias_hh_l0[16] weight_hr_l0[3, 4] "
            "weight_ih_l0_reverse[16, 5] weight_hh_l0_reverse[16, 3] bias_ih_l0_reverse[16] bias_hh_l0_reverse[16] "
            "weight_hr_l0_reverse[3, 4] "
            "weight_ih_l1[16, 6] weight_hh_l1[16, 3] bias_ih_l1[16] bias_hh_l1[16] weight_hr_l1[3, 4] "
            "weight_ih_l1_reverse[16, 6] weight_hh_l1_reverse[16, 3] bias_ih_l1_reverse[16] bias_hh_l1_reverse[16] "
            "weight_hr_l1_reverse[3, 4] ");
  EXPECT_EQ(lstm->all_weights().size(), 20U);
  for (const Tensor& p : lstm->parameters()) EXPECT_LE(p.abs().max().item<double>(), 0.5);
  EXPECT_EQ(GRU(GRUOptions(5, 4).bias(false))->parameters().size(), 2U);
  EXPECT_EQ(nn::GRUCell(5, 4)->named_parameters()["weight_ih"].size(0), 12);
}

TEST(RecurrentLayers, EqualCellsStepByStep) {
  manual_seed(1);
  LSTM lstm(4, 3);
  nn::LSTMCell cell(4, 3);
  GRU gru(4, 3);
  nn::GRUCell gru_cell(4, 3);
  nn::RNN rnn(RNNOptions(4, 3).nonlinearity(kReLU));
  nn::RNNCell rnn_cell(nn::RNNCellOptions(4, 3).nonlinearity(kReLU));
  const auto share = [](const nn::Module& to, const nn::Module& from) {
    NoGradGuard no_grad;
    const std::vector<Tensor> a = to.parameters(), b = from.parameters();
    for (size_t i = 0; i < a.size(); ++i) a[i].copy_(b[i]);
  };
  share(*cell, *lstm);
  share(*gru_cell, *gru);
  share(*rnn_cell, *rnn);
  const Tensor x = randn({3, 2, 4});
  const auto [y, state] = lstm(x);
  const Tensor gru_y = std::get<0>(gru(x)), rnn_y = std::get<0>(rnn(x));
  std::optional<std::tuple<Tensor, Tensor>> hc;
  Tensor h, r;
  for (int64_t t = 0; t < 3; ++t) {
    hc = cell(x[t], hc);
    h = gru_cell(x[t], h);
    r = rnn_cell(x[t], r);
    EXPECT_LT(largest_difference(std::get<0>(*hc), y[t]), 1e-6);
    EXPECT_LT(largest_difference(h, gru_y[t]), 1e-6);
    EXPECT_LT(largest_difference(r, rnn_y[t]), 1e-6);
  }
  EXPECT_LT(largest_difference(std::get<0>(state)[0], std::get<0>(*hc)), 1e-6);
  EXPECT_LT(largest_difference(std::get<1>(state)[0], std::get<1>(*hc)), 1e-6);
}

TEST(RecurrentLayers, InputWithoutBatch) {
  manual_seed(2);
  for (const bool batch_first : {false, true}) {
    LSTM lstm(LSTMOptions(4, 3).bidirectional(true).batch_first(batch_first));
    const Tensor x = randn({5, 4}), h = randn({2, 3}), c = randn({2, 3});
    const auto [y, state] = lstm(x, std::tuple(h, c));
    const auto [batch, states] = lstm(x.unsqueeze(batch_first ? 0 : 1), std::tuple(h.unsqueeze(1), c.unsqueeze(1)));
    EXPECT_EQ(largest_difference(y, batch.squeeze(batch_first ? 0 : 1)), 0);
    EXPECT_EQ(largest_difference(std::get<1>(state), std::get<1>(states).squeeze(1)), 0);
  }
  GRU gru(4, 3);
  const Tensor x = randn({5, 4});
  EXPECT_EQ(largest_difference(std::get<0>(gru(x)), std::get<0>(gru(x.unsqueeze(1))).squeeze(1)), 0);
}

TEST(RecurrentLayers, PackedSequencesEqualSingleOnes) {
  manual_seed(3);
  LSTM lstm(LSTMOptions(4, 3).num_layers(2).bidirectional(true));
  const std::vector<Tensor> sequences{randn({2, 4}), randn({4, 4}), randn({1, 4}), randn({4, 4})};
  const Tensor h = randn({4, 4, 3}), c = randn({4, 4, 3});
  const auto [packed, state] = lstm->forward_with_packed_input(pack_sequence(sequences, false), std::tuple(h, c));
  const auto [y, lengths] = pad_packed_sequence(packed);
  EXPECT_EQ(integers_of(lengths), (std::vector<int64_t>{2, 4, 1, 4}));
  EXPECT_EQ(y.sizes(), IntArrayRef({4, 4, 6}));
  for (int64_t b = 0; b < 4; ++b) {
    const Tensor& x = sequences[static_cast<size_t>(b)];
    const auto [alone, last] = lstm(x, std::tuple(h.select(1, b), c.select(1, b)));
    EXPECT_LT(largest_difference(y.select(1, b).narrow(0, 0, x.size(0)), alone), 1e-6);
    EXPECT_EQ(y.select(1, b).narrow(0, x.size(0), 4 - x.size(0)).abs().sum().item<double>(), 0);
    EXPECT_LT(largest_difference(std::get<0>(state).select(1, b), std::get<0>(last)), 1e-6);
    EXPECT_LT(largest_difference(std::get<1>(state).select(1, b), std::get<1>(last)), 1e-6);
  }
}

TEST(RecurrentLayers, DropoutIsBetweenLayersInTrainingOnly) {
  manual_seed(4);
  GRU gru(GRUOptions(4, 3).num_layers(2).dropout(1));
  const Tensor x = randn({3, 2, 4});
  const auto [y, h] = gru(x);
  const auto [same, again] = gru(randn({3, 2, 4}));
  EXPECT_EQ(largest_difference(y, same), 0);  // the second layer sees zeros
  EXPECT_GT(largest_difference(h[0], again[0]), 0);
  gru->eval();
  EXPECT_GT(largest_difference(y, std::get<0>(gru(x))), 0);
}

TEST(RecurrentLayers, GradientsUnderAutocastAreF32) {
  manual_seed(5);
  LSTM lstm(LSTMOptions(4, 3).num_layers(2));
  const Tensor x = randn({3, 2, 4}).requires_grad_();
  Tensor y, c;
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    const auto out = lstm(x);
    y = std::get<0>(out);
    c = std::get<1>(std::get<1>(out));
  }
  EXPECT_EQ(y.dtype(), kBFloat16);
  EXPECT_EQ(c.dtype(), kBFloat16);
  y.sum().backward();
  std::vector<Tensor> low{x.grad()};
  for (const Tensor& p : lstm->parameters()) low.push_back(p.grad());
  lstm->zero_grad();
  x.mutable_grad() = Tensor();
  std::get<0>(lstm(x)).sum().backward();
  std::vector<Tensor> full{x.grad()};
  for (const Tensor& p : lstm->parameters()) full.push_back(p.grad());
  for (size_t i = 0; i < low.size(); ++i) {
    EXPECT_EQ(low[i].dtype(), kFloat);
    EXPECT_LT(largest_difference(low[i], full[i]), 0.05 * std::max(1.0, full[i].abs().max().item<double>())) << i;
  }
}

// The gradients of a layer's parameters and input; an undefined one for a frozen parameter.
template <class Layer>
std::vector<Tensor> gradients_of(Layer& layer, const Tensor& x) {
  layer->zero_grad();
  x.mutable_grad() = Tensor();
  std::get<0>(layer(x)).pow(2).sum().backward();
  std::vector<Tensor> gradients{x.grad()};
  for (const Tensor& p : layer->parameters()) gradients.push_back(p.grad());
  return gradients;
}

template <class Layer>
void expect_same_gradients_beside_frozen_weights(Layer layer) {
  layer->to(kDouble);
  const Tensor x = randn({5, 2, 4}, kDouble).requires_grad_();
  const std::vector<Tensor> all = gradients_of(layer, x);
  const auto parameters = layer->named_parameters();
  for (size_t frozen = 0; frozen < parameters.size(); ++frozen) {
    SCOPED_TRACE(parameters[frozen].key() + " is frozen");
    parameters[frozen].value().requires_grad_(false);
    const std::vector<Tensor> rest = gradients_of(layer, x);
    parameters[frozen].value().requires_grad_(true);
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(rest[i].defined(), i != frozen + 1);
      if (rest[i].defined()) {
        EXPECT_LT(largest_difference(rest[i], all[i]), 1e-12);
      }
    }
  }
}

TEST(RecurrentLayers, AFrozenParameterDoesNotChangeTheOthersGradients) {
  manual_seed(6);
  expect_same_gradients_beside_frozen_weights(LSTM(LSTMOptions(4, 3).bidirectional(true)));
  expect_same_gradients_beside_frozen_weights(LSTM(LSTMOptions(4, 3).proj_size(2)));
  expect_same_gradients_beside_frozen_weights(GRU(4, 3));
  expect_same_gradients_beside_frozen_weights(nn::RNN(4, 3));
}

TEST(RecurrentLayers, Printing) {
  EXPECT_EQ(text(LSTM(LSTMOptions(4, 3).proj_size(2))),
            "tandem::nn::LSTM(input_size=4, hidden_size=3, num_layers=1, bias=true, batch_first=false, dropout=0, "
            "bidirectional=false, proj_size=2)");
  EXPECT_EQ(text(nn::GRUCell(4, 3)), "tandem::nn::GRUCell(4, 3, bias=true)");
  EXPECT_EQ(text(nn::RNNCell(4, 3)), "tandem::nn::RNNCell(4, 3, bias=true, nonlinearity=kTanh)");
}

TEST(RecurrentLayers, Errors) {
  LSTM lstm(4, 3);
  GRU gru(GRUOptions(4, 3).batch_first(true));
  nn::GRUCell cell(4, 3);
  const Tensor x = ones({5, 2, 4}), h = ones({1, 2, 3});
  const PackedSequence packed = pack_padded_sequence(x, tensor({5, 2}, kLong));
  expect_refused({
      BAD_INPUT("LSTM", LSTM(0, 3), StateError, "input_size = 0", "hidden_size = 3", "at least 1"),
      BAD_INPUT("LSTM", LSTM(LSTMOptions(4, 3).num_layers(0)), StateError, "num_layers = 0"),
      BAD_INPUT("LSTM", LSTM(LSTMOptions(4, 3).dropout(1.5)), StateError, "dropout = 1.5", "[0, 1]"),
      BAD_INPUT("LSTM", LSTM(LSTMOptions(4, 3).proj_size(3)), StateError, "proj_size = 3", "less than hidden_size"),
      BAD_INPUT("RNN", nn::RNN(RNNOptions(4, 3).nonlinearity(kSigmoid)), StateError, "kTanh or kReLU"),
      BAD_INPUT("LSTM", lstm(ones({5, 2, 3})), ShapeError, "input is [5, 2, 3] f32", "[steps, batch, 4]"),
      BAD_INPUT("GRU", gru(ones({5})), ShapeError, "input is [5] f32", "[batch, steps, 4]"),
      BAD_INPUT("LSTM", lstm(x, std::tuple(h, ones({1, 3, 3}))), ShapeError, "c of hx is [1, 3, 3]", "[1, 2, 3]"),
      BAD_INPUT("GRU", gru(x, h), ShapeError, "hx is [1, 2, 3]", "[1, 5, 3]"),
      BAD_INPUT("LSTM", lstm->forward_with_packed_input(packed, std::tuple(h, ones({1, 1, 3}))), ShapeError,
                "c of hx is [1, 1, 3]", "2 sequences"),
      BAD_INPUT("GRUCell", cell(ones({2, 3})), ShapeError, "input is [2, 3]", "[batch, 4] or [4]"),
      BAD_INPUT("GRUCell", cell(ones({2, 4}), ones({3})), ShapeError, "hx is [3]", "[2, 3]"),
      BAD_INPUT("RNNCell", nn::RNNCell(4, 0), StateError, "hidden_size = 0"),
  });
}

TEST(PackedSequences, PackAndPad) {
  const Tensor x = arange(12, kFloat).view({3, 2, 2}).requires_grad_();
  const PackedSequence packed = pack_padded_sequence(x, tensor({1, 3}, kLong), false, false);
  EXPECT_EQ(integers_of(packed.batch_sizes()), (std::vector<int64_t>{2, 1, 1}));
  EXPECT_EQ(integers_of(packed.sorted_indices()), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(integers_of(packed.unsorted_indices()), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(largest_difference(packed.data(), tensor({{2.F, 3.F}, {0.F, 1.F}, {6.F, 7.F}, {10.F, 11.F}})), 0);
  const auto [y, lengths] = pad_packed_sequence(packed, true, -1, 4);
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 4, 2}));
  EXPECT_EQ(integers_of(lengths), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(largest_difference(y[0], tensor({{0.F, 1.F}, {-1.F, -1.F}, {-1.F, -1.F}, {-1.F, -1.F}})), 0);
  EXPECT_EQ(largest_difference(y[1], tensor({{2.F, 3.F}, {6.F, 7.F}, {10.F, 11.F}, {-1.F, -1.F}})), 0);
  (y * y).sum().backward();
  EXPECT_EQ(largest_difference(
                x.grad(), tensor({{{0.F, 2.F}, {4.F, 6.F}}, {{0.F, 0.F}, {12.F, 14.F}}, {{0.F, 0.F}, {20.F, 22.F}}})),
            0);
  const PackedSequence sorted = pack_padded_sequence(x.detach().transpose(0, 1), tensor({3, 2}, kInt), true);
  EXPECT_EQ(integers_of(sorted.batch_sizes()), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_FALSE(sorted.sorted_indices().defined());
}

TEST(PackedSequences, PadSequence) {
  const std::vector<Tensor> sequences{tensor({1.F}), tensor({2.F, 3.F, 4.F})};
  EXPECT_EQ(largest_difference(pad_sequence(sequences), tensor({{1.F, 2.F}, {0.F, 3.F}, {0.F, 4.F}})), 0);
  EXPECT_EQ(largest_difference(pad_sequence(sequences, true, 9), tensor({{1.F, 9.F, 9.F}, {2.F, 3.F, 4.F}})), 0);
  EXPECT_EQ(largest_difference(pad_sequence(sequences, true, 9, "left"), tensor({{9.F, 9.F, 1.F}, {2.F, 3.F, 4.F}})),
            0);
  EXPECT_EQ(integers_of(invert_permutation(tensor({2, 0, 1}, kLong))), (std::vector<int64_t>{1, 2, 0}));
  EXPECT_FALSE(invert_permutation(Tensor()).defined());
}

TEST(PackedSequences, Errors) {
  const Tensor none, x = ones({3, 2, 2});
  const PackedSequence packed = pack_padded_sequence(x, tensor({3, 2}, kLong));
  expect_refused({
      UNDEFINED("pack_padded_sequence", pack_padded_sequence(none, tensor({3, 2}, kLong))),
      BAD_INPUT("pack_padded_sequence", pack_padded_sequence(x, tensor({3}, kLong)), ShapeError, "1 lengths",
                "batch of 2"),
      BAD_INPUT("pack_padded_sequence", pack_padded_sequence(x, tensor({3, 0}, kLong)), StateError, "lengths[1] = 0",
                "[1, 3]"),
      BAD_INPUT("pack_padded_sequence", pack_padded_sequence(x, tensor({2, 3}, kLong)), StateError,
                "lengths[1] = 3 after 2", "enforce_sorted = false"),
      BAD_INPUT("pack_padded_sequence", pack_padded_sequence(x, ones({2})), DTypeError, "lengths", "f32"),
      BAD_INPUT("pad_packed_sequence", pad_packed_sequence(packed, false, 0, 2), StateError, "total_length = 2",
                "3 steps"),
      BAD_INPUT("pad_sequence", pad_sequence({}), StateError, "no sequences"),
      BAD_INPUT("pad_sequence", pad_sequence({ones({2, 3}), ones({2, 4})}), ShapeError, "sequence 1 is [2, 4]",
                "sequence 0 is [2, 3]"),
      BAD_INPUT("pad_sequence", pad_sequence({ones({2})}, false, 0, "top"), StateError, "\"top\"", "\"left\""),
      BAD_INPUT("invert_permutation", invert_permutation(tensor({0, 2}, kLong)), IndexError, "entry 1 is 2", "[0, 2)"),
      BAD_INPUT("PackedSequence", PackedSequence(x, tensor({2, 2}, TensorOptions(kLong).device(kCPU))), StateError,
                "sum to 4", "[3, 2, 2]"),
      UNDEFINED("PackedSequence", PackedSequence(none, tensor({2}, TensorOptions(kLong).device(kCPU)))),
  });
}

}  // namespace
}  // namespace tandem::testing
