// Module::clone: deep copies of layers, containers and modules of one's own.
#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

struct CloneableBlockImpl : nn::Cloneable<CloneableBlockImpl> {
  explicit CloneableBlockImpl(int64_t width) : width(width) { reset(); }
  void reset() override {
    fc = register_module("fc", nn::Linear(width, width));
    norm = register_module("norm", nn::BatchNorm1d(width));
    scale = register_parameter("scale", ones({width}));
    count = register_buffer("count", zeros({}, kLong));
  }
  Tensor forward(const Tensor& x) {
    count.add_(1);
    return norm(fc(x)) * scale;
  }
  int64_t width;
  nn::Linear fc{nullptr};
  nn::BatchNorm1d norm{nullptr};
  Tensor scale, count;
};
TANDEM_MODULE(CloneableBlock);

/// Whether the copy has the values of the original in memory of its own.
void expect_deep_copy(const nn::Module& copy, const nn::Module& original) {
  const StateDict state = original.state_dict();
  size_t compared = 0;
  for (const auto& [name, x] : copy.state_dict()) {
    EXPECT_TRUE(equal(x, state[name])) << name;
    EXPECT_FALSE(x.is_alias_of(state[name])) << name;
    ++compared;
  }
  EXPECT_EQ(compared, state.size());
  EXPECT_EQ(copy.parameters().size(), original.parameters().size());
}

template <class Holder>
void check_layer(const Holder& layer) {
  const auto copy = layer->clone();
  ASSERT_TRUE(copy->template as<Holder>());
  expect_deep_copy(*copy, *layer);
}

TEST(Clone, Layers) {
  check_layer(nn::Linear(3, 2));
  check_layer(nn::Conv2d(nn::Conv2dOptions(2, 3, 3).bias(false)));
  check_layer(nn::ConvTranspose1d(2, 3, 3));
  check_layer(nn::BatchNorm2d(4));
  check_layer(nn::InstanceNorm1d(nn::InstanceNormOptions(4).affine(true)));
  check_layer(nn::LayerNorm(nn::LayerNormOptions({4})));
  check_layer(nn::Embedding(5, 3));
  check_layer(nn::Embedding::from_pretrained(rand({5, 3})));
  check_layer(nn::PReLU());
  check_layer(nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true)));
  check_layer(nn::GRUCell(3, 4));
  check_layer(nn::MultiheadAttention(4, 2));
  check_layer(nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(4, 2)));
  check_layer(nn::Transformer(nn::TransformerOptions(4, 2, 1, 1)));
  check_layer(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().weight(rand({3}))));
  check_layer(nn::ReLU());
}

TEST(Clone, ComputesTheSame) {
  CloneableBlock block(4);
  const Tensor x = randn({5, 4});
  block(x);
  block->eval();
  block->fc->bias.requires_grad_(false);
  const auto copy = std::dynamic_pointer_cast<CloneableBlockImpl>(block->clone());
  ASSERT_TRUE(copy);
  expect_deep_copy(*copy, *block);
  EXPECT_FALSE(copy->is_training());
  EXPECT_FALSE(copy->norm->is_training());
  EXPECT_FALSE(copy->fc->bias.requires_grad());
  EXPECT_TRUE(copy->fc->weight.requires_grad());
  EXPECT_TRUE(equal(copy->forward(x), block->forward(x)));
  EXPECT_EQ(copy->count.item<int64_t>(), 2);

  NoGradGuard no_grad;
  copy->scale.zero_();
  EXPECT_TRUE(block->scale.ne(0).all().item<bool>());
}

TEST(Clone, Containers) {
  nn::Sequential net({{"first", nn::Linear(3, 3)}, {"block", CloneableBlock(3)}, {"act", nn::Functional(relu)}});
  const auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  ASSERT_TRUE(copy);
  expect_deep_copy(*copy, *net);
  const Tensor x = randn({4, 3});
  EXPECT_TRUE(equal(copy->forward(x), net->forward(x)));

  nn::ModuleList list(nn::Linear(2, 2), net);
  const auto copied_list = std::dynamic_pointer_cast<nn::ModuleListImpl>(list->clone());
  ASSERT_TRUE(copied_list);
  EXPECT_EQ(copied_list->size(), 2u);
  expect_deep_copy(*copied_list, *list);
  EXPECT_NE(copied_list->ptr(1), list->ptr(1));

  nn::ModuleDict dict;
  dict->insert("a", nn::Linear(2, 1));
  expect_deep_copy(*dict->clone(), *dict);
  nn::ParameterList parameters(ones({2}).requires_grad_(), zeros({3}));
  const auto copied_parameters = std::dynamic_pointer_cast<nn::ParameterListImpl>(parameters->clone());
  expect_deep_copy(*copied_parameters, *parameters);
  EXPECT_TRUE((*copied_parameters)[0].requires_grad());
  EXPECT_FALSE((*copied_parameters)[1].requires_grad());
}

struct Plain : nn::Module {};
struct ForgetfulImpl : nn::Cloneable<ForgetfulImpl> {
  ForgetfulImpl() { register_parameter("w", ones({1})); }
  void reset() override {}
};

TEST(Clone, RefusesModulesThatCannotBeCopied) {
  EXPECT_THROWS(Plain().clone(), NotImplementedError, "clone: ", "Plain", "nn::Cloneable");
  EXPECT_THROWS(ForgetfulImpl().clone(), StateError, "clone: ", "reset() of", "parameters");
  struct OuterImpl : nn::Cloneable<OuterImpl> {
    OuterImpl() { reset(); }
    void reset() override { register_module("plain", std::make_shared<Plain>()); }
  };
  EXPECT_THROWS(OuterImpl().clone(), NotImplementedError, "clone: ", "Plain", "nn::Cloneable");
}

TEST(ModuleDict, KeepsModulesByName) {
  nn::ModuleDict dict(std::vector<nn::ModuleDictImpl::Item>{{"fc", nn::Linear(3, 2).ptr()}, {"act", nn::ReLU().ptr()}});
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"fc", "act"}));
  EXPECT_EQ(dict->size(), 2u);
  EXPECT_TRUE(dict->contains("act"));
  EXPECT_EQ(dict->at<nn::Linear>("fc").weight.size(0), 2);
  EXPECT_EQ(dict->parameters().size(), 2u);
  dict->insert("fc", nn::Linear(3, 5));
  EXPECT_EQ(dict->at<nn::Linear>("fc").weight.size(0), 5);
  EXPECT_EQ(dict->items()[0].first, "fc");
  EXPECT_TRUE(dict->pop("act")->as<nn::ReLU>());
  EXPECT_FALSE(dict->contains("act"));
  EXPECT_THROWS((*dict)["act"], IndexError, "act");
  EXPECT_THROWS(dict->at<nn::ReLU>("fc"), StateError, "Linear");
  dict->clear();
  EXPECT_TRUE(dict->empty());
}

TEST(ParameterContainers, RegisterParameters) {
  nn::ParameterDict dict;
  dict->insert("w", ones({2}).requires_grad_());
  dict->insert("frozen", zeros({3}));
  EXPECT_EQ(dict->parameters().size(), 2u);
  EXPECT_TRUE((*dict)["w"].requires_grad());
  EXPECT_FALSE(dict->get("frozen").requires_grad());
  EXPECT_EQ(dict->pop("frozen").numel(), 3);
  EXPECT_THROWS(dict->get("frozen"), IndexError, "frozen");
  nn::ParameterDictImpl more(OrderedDict<std::string, Tensor>{{"w", zeros({4})}, {"v", zeros({1})}});
  dict->update(more);
  EXPECT_EQ(dict->get("w").numel(), 4);
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"w", "v"}));

  nn::ParameterList list(ones({1}), ones({2}));
  list->append(ones({3}).requires_grad_());
  *list += *list;
  EXPECT_EQ(list->size(), 6u);
  EXPECT_EQ((*list)[5].numel(), 3);
  EXPECT_EQ(list->named_parameters()[2].key(), "2");
  EXPECT_THROWS(list->at(6), IndexError, "6");
}

}  // namespace
}  // namespace tandem
