// State of modules: PyTorch's keys, loading in place, and no change if a state does not fit.
#include <gtest/gtest.h>

#include "support/device.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

struct TiedNet : nn::Module {
  TiedNet() {
    register_module("fc1", fc1);
    register_module("norm", norm);
    register_module("tied", fc1);
    scale = register_parameter("scale", ones({1}));
    register_buffer("count", zeros({}, kLong));
  }
  nn::Linear fc1{3, 4};
  nn::BatchNorm1d norm{4};
  Tensor scale;
};

TEST(ModuleState, KeysMatchPyTorch) {
  const TiedNet net;
  EXPECT_EQ(net.state_dict().keys(),
            (std::vector<std::string>{"scale", "count", "fc1.weight", "fc1.bias", "norm.weight", "norm.bias",
                                      "norm.running_mean", "norm.running_var", "norm.num_batches_tracked",
                                      "tied.weight", "tied.bias"}));
  EXPECT_FALSE(net.state_dict()["scale"].requires_grad());
  EXPECT_EQ(net.state_dict()["scale"].const_data_ptr<float>(), net.scale.const_data_ptr<float>());
}

TEST(ModuleState, LoadsInPlace) {
  manual_seed(1);
  TiedNet a;
  manual_seed(2);
  TiedNet b;
  const float* memory = b.fc1->weight.const_data_ptr<float>();
  const uint64_t version = b.fc1->weight._version();
  EXPECT_NE(difference(a.state_dict(), b.state_dict()), "");
  const IncompatibleKeys keys = b.load_state_dict(a.state_dict());
  EXPECT_TRUE(keys.missing_keys.empty() && keys.unexpected_keys.empty());
  EXPECT_EQ(difference(a.state_dict(), b.state_dict()), "");
  EXPECT_EQ(b.fc1->weight.const_data_ptr<float>(), memory);
  EXPECT_GT(b.fc1->weight._version(), version);
  EXPECT_TRUE(b.fc1->weight.requires_grad() && b.fc1->weight.is_leaf());
}

TEST(ModuleState, LoadingInARegionDropsTheOldCast) {
  nn::Linear a(3, 4), b(3, 4);
  const Tensor x = ones({2, 3});
  amp::AutocastGuard autocast(device_type(), kBFloat16);
  const Tensor expected = a(x);
  b(x);
  b->load_state_dict(a->state_dict());
  EXPECT_EQ(difference(b(x), expected), "");
}

TEST(ModuleState, FloatingDtypesAreConverted) {
  nn::Linear a(3, 4), b(3, 4);
  b->to(kHalf);
  b->load_state_dict(a->state_dict());
  EXPECT_EQ(difference(b->weight, a->weight.detach().to(kHalf)), "");
  a->load_state_dict(b->state_dict());
  EXPECT_EQ(difference(a->weight, b->weight.detach().to(kFloat)), "");
}

TEST(ModuleState, NonStrictLoadReportsKeys) {
  TiedNet net;
  StateDict state = clone(net.state_dict());
  state.erase("fc1.bias");
  state.insert("other", ones({1}));
  state["scale"] = full({1}, 7.0);
  const IncompatibleKeys keys = net.load_state_dict(state, /*strict=*/false);
  EXPECT_EQ(keys.missing_keys, std::vector<std::string>{"fc1.bias"});
  EXPECT_EQ(keys.unexpected_keys, std::vector<std::string>{"other"});
  EXPECT_EQ(net.scale.item<float>(), 7);
}

TEST(ModuleStateErrors, ListsAllMismatchesAndChangesNothing) {
  TiedNet net;
  const StateDict before = clone(net.state_dict());
  StateDict state = clone(before);
  state["scale"] = full({1}, 7.0);
  state["fc1.weight"] = ones({4, 5});
  state["count"] = ones({});
  state["norm.bias"] = Tensor();
  state.erase("norm.running_var");
  state.insert("other", ones({1}));
  EXPECT_THROWS(net.load_state_dict(state), StateError,
                "load_state_dict: ", "'fc1.weight' is [4, 5] f32 in the state, but [4, 3] f32 here",
                "'count' is [] f32 in the state, but [] i64 here", "'norm.bias' is an undefined tensor",
                "missing keys: 'norm.running_var'", "unexpected keys: 'other'");
  EXPECT_THROWS(net.load_state_dict(state, false), StateError, "'fc1.weight' is [4, 5] f32");
  EXPECT_EQ(difference(net.state_dict(), before), "");
}

/// A language model whose head uses the table of the embedding.
struct TiedNetImpl : nn::Module {
  TiedNetImpl() {
    table = register_module("table", nn::Embedding(5, 3));
    head = register_module("head", nn::Linear(3, 5));
  }
  nn::Embedding table{nullptr};
  nn::Linear head{nullptr};
};

TEST(Module, ListsMovesAndLoadsAssignedMembers) {
  TiedNetImpl net;
  const Tensor replaced = net.head->weight;
  net.head->weight = net.table->weight;
  EXPECT_EQ(net.named_parameters().keys(), (std::vector<std::string>{"table.weight", "head.bias"}));
  EXPECT_EQ(net.state_dict()["head.weight"].data_ptr(), net.table->weight.data_ptr());
  replaced.mutable_grad() = zeros_like(replaced);
  net.table->weight.mutable_grad() = zeros_like(net.table->weight);
  net.head->zero_grad();
  EXPECT_TRUE(replaced.grad().defined() && !net.table->weight.grad().defined());
  TiedNetImpl other;
  other.load_state_dict(net.state_dict());
  EXPECT_TRUE(other.head->weight.equal(net.table->weight));
  net.head->to(kDouble);
  EXPECT_EQ(net.table->weight.dtype(), kDouble);
  EXPECT_EQ(replaced.dtype(), kFloat);
  nn::Linear copied(*net.head), cloned(std::dynamic_pointer_cast<nn::LinearImpl>(net.head->clone()));
  EXPECT_TRUE(copied->parameters()[0].is_same(net.table->weight));
  EXPECT_TRUE(cloned->weight.equal(net.table->weight) && !cloned->weight.is_same(net.table->weight));
  cloned->bias = Tensor();
  EXPECT_EQ(cloned->named_parameters().keys(), std::vector<std::string>{"weight"});
  const auto unbiased = std::dynamic_pointer_cast<nn::LinearImpl>(cloned->clone());
  EXPECT_FALSE(unbiased->bias.defined());
  EXPECT_EQ(unbiased->parameters().size(), 1u);
}

TEST(Module, ListsAssignedBuffersButNotResultsOfOps) {
  nn::BatchNorm2d norm(2);
  norm->running_mean = full({2}, 3.0);
  EXPECT_TRUE(norm->buffers()[0].is_same(norm->running_mean));
  EXPECT_TRUE(norm->state_dict()["running_mean"].equal(full({2}, 3.0)));
  const Tensor weight = norm->weight;
  norm->weight = weight * 2;  // computed before each call, as by a reparametrization
  EXPECT_TRUE(norm->parameters()[0].is_same(weight));
  norm->unregister_parameter("weight");
  norm->register_parameter("weight", weight);
  norm->weight = ones({2});  // no longer followed: registered without the member
  EXPECT_TRUE(norm->parameters().back().is_same(weight));
  const nn::Module sliced(*norm);
  EXPECT_EQ(sliced.parameters().size(), 2u);
}

}  // namespace
}  // namespace tandem::testing
