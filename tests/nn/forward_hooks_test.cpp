// Module::register_forward_pre_hook and register_forward_hook.
#include "tandem/nn/forward_hooks.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;

TEST(ForwardHooks, SeeAndReplaceTensors) {
  nn::Linear layer(3, 2);
  const Tensor x = randn({4, 3}), y = layer(x);
  Tensor seen_input, seen_output;
  const unsigned before = layer->register_forward_pre_hook([](nn::Module&, Tensors& in) { in[0] = in[0] * 2; });
  const unsigned after = layer->register_forward_hook([&](nn::Module& module, const Tensors& in, Tensors& out) {
    EXPECT_TRUE(module.as<nn::Linear>());
    seen_input = in[0];
    seen_output = out[0];
    out[0] = out[0] + 1;
  });
  EXPECT_TRUE(equal(layer(x), layer->forward(x * 2) + 1));
  EXPECT_TRUE(equal(seen_input, x * 2));
  EXPECT_TRUE(equal(seen_output, layer->forward(x * 2)));
  EXPECT_TRUE(equal(layer->forward(x), y)) << "forward() runs no hooks";
  layer->remove_forward_hook(before);
  EXPECT_TRUE(equal(layer(x), y + 1));
  layer->remove_forward_hook(after);
  EXPECT_TRUE(equal(layer(x), y));
  EXPECT_THROWS(layer->remove_forward_hook(after), StateError, "remove_forward_hook: ", "Linear", "no hook");
}

TEST(ForwardHooks, RunInTheirOrderInsideContainers) {
  nn::Sequential net(nn::Linear(2, 2), nn::ReLU());
  std::string order;
  const auto note = [&order](char c) { return [&order, c](nn::Module&, Tensors&) { order += c; }; };
  net->at<nn::Linear>(0).register_forward_pre_hook(note('a'));
  net->at<nn::Linear>(0).register_forward_pre_hook(note('b'));
  net->at<nn::ReLU>(1).register_forward_hook([&](nn::Module&, const Tensors& in, Tensors& out) {
    order += 'c';
    EXPECT_TRUE(equal(relu(in[0]), out[0]));
  });
  net->register_forward_pre_hook(note('0'));
  net(randn({3, 2}));
  EXPECT_EQ(order, "0abc");
}

TEST(ForwardHooks, SeeAllTensorsOfACall) {
  nn::LSTM lstm(3, 4);
  size_t inputs = 0, outputs = 0;
  lstm->register_forward_hook([&](nn::Module&, const Tensors& in, Tensors& out) {
    inputs = in.size();
    outputs = out.size();
  });
  lstm(randn({5, 2, 3}));
  EXPECT_EQ(inputs, 1u);
  EXPECT_EQ(outputs, 3u);  // the result, h and c

  nn::MultiheadAttention attention(4, 2);
  std::vector<bool> defined;
  attention->register_forward_pre_hook([&](nn::Module&, Tensors& in) {
    for (const Tensor& x : in) defined.push_back(x.defined());
  });
  const Tensor x = randn({3, 1, 4});
  attention(x, x, x, Tensor(), false);
  EXPECT_EQ(defined, (std::vector<bool>{true, true, true, false}));
}

struct CounterImpl : nn::Module {
  void forward(const Tensor&) { ++calls; }
  int calls = 0;
};
struct KeeperImpl : nn::Module {
  const Tensor& forward(const Tensor& x) { return x; }
};

TEST(ForwardHooks, RunForEveryKindOfResult) {
  size_t outputs = 0;
  const auto add_one = [&](nn::Module&, const Tensors&, Tensors& out) {
    outputs += 1 + out.size();
    for (Tensor& y : out) y = y + 1;
  };
  CounterImpl counter;
  counter.register_forward_hook(add_one);
  nn::call(counter, ones({2}));
  EXPECT_EQ(counter.calls, 1);
  EXPECT_EQ(outputs, 1U);
  KeeperImpl keeper;
  keeper.register_forward_hook(add_one);
  EXPECT_TRUE(equal(nn::call(keeper, ones({2})), full({2}, 2.0F)));
  EXPECT_EQ(outputs, 3U);
}

TEST(ForwardHooks, AreCopied) {
  nn::Linear layer(2, 2);
  layer->register_forward_hook([](nn::Module&, const Tensors&, Tensors& out) { out[0] = zeros_like(out[0]); }, "zero");
  const auto copy = std::dynamic_pointer_cast<nn::LinearImpl>(layer->clone());
  layer->remove_forward_hook("zero");
  const Tensor x = ones({1, 2});
  EXPECT_TRUE(layer(x).ne(0).any().item<bool>());
  EXPECT_TRUE(nn::call(*copy, x).eq(0).all().item<bool>());
}

TEST(ForwardHooks, BadInputIsRefused) {
  nn::Linear layer(2, 2);
  EXPECT_THROWS(layer->register_forward_pre_hook(nullptr), StateError, "register_forward_pre_hook: ", "empty");
  EXPECT_THROWS(layer->register_forward_hook(nullptr), StateError, "register_forward_hook: ", "empty");
  EXPECT_THROWS(layer->remove_forward_hook("none"), StateError, "'none'");
  EXPECT_THROWS(layer->remove_forward_hook(""), StateError, "name is empty");
  const auto nothing = [](nn::Module&, Tensors&) {};
  layer->register_forward_pre_hook(nothing);
  layer->register_forward_pre_hook(nothing);
  layer->register_forward_pre_hook(nothing, "one");
  EXPECT_THROWS(layer->register_forward_pre_hook(nothing, "one"), StateError, "'one' already");
  layer->register_forward_pre_hook([](nn::Module&, Tensors& in) { in.clear(); });
  EXPECT_THROWS(layer(ones({1, 2})), StateError, "Linear", "number of inputs from 1 to 0");
}

}  // namespace
}  // namespace tandem
