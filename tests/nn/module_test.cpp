// Modules: registration, names, listing, traversal, conversion, printing, holders, containers.
#include "tandem/nn/module.h"

#include <gtest/gtest.h>

#include "nn/layer_checks.h"
#include "support/compare.h"
#include "support/device.h"
#include "support/state.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/nn/modules/activation.h"
#include "tandem/nn/modules/container.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/dropout.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/norm.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using testing::device_type;
using testing::text;

/// libtorch's usual idiom: holders as members.
struct Net : nn::Module {
  Net() : fc1(4, 3), fc2(3, 2) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) { return fc2(relu(fc1(x))); }
  nn::Linear fc1, fc2;
};

/// libtorch's other idiom, and a user-defined holder.
struct BlockImpl : nn::Module {
  explicit BlockImpl(int64_t width = 3) {
    fc = register_module("fc", nn::Linear(width, width));
    scale = register_parameter("scale", ones({width}));
    frozen = register_parameter("frozen", zeros({width}), /*requires_grad=*/false);
    seen = register_buffer("seen", zeros({1}, kLong));
  }
  Tensor forward(const Tensor& x) { return fc(x) * scale + frozen; }
  nn::Linear fc{nullptr};
  Tensor scale, frozen, seen;
};
TANDEM_MODULE(Block);

/// Submodules as members by value.
struct Outer : nn::Module {
  Outer() {
    register_module("net", net);
    register_module("block", block);
  }
  Net net;
  BlockImpl block;
};

TEST(Module, ListsParametersInOrderUnderTheirPaths) {
  Net net;
  const auto named = net.named_parameters();
  EXPECT_EQ(named.keys(), (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
  ASSERT_EQ(net.parameters().size(), 4U);
  EXPECT_TRUE(net.parameters()[2].is_same(net.fc2->weight));
  EXPECT_TRUE(named["fc1.bias"].is_same(net.fc1->bias));
  EXPECT_TRUE(net.parameters(/*recurse=*/false).empty());
  EXPECT_EQ(net.named_children().keys(), (std::vector<std::string>{"fc1", "fc2"}));
  EXPECT_EQ(net.children()[0], std::static_pointer_cast<nn::Module>(net.fc1.ptr()));
}

TEST(Module, MarksFrozenParametersToo) {
  Block block;
  EXPECT_TRUE(block->scale.requires_grad() && block->scale.impl().is_parameter);
  EXPECT_TRUE(!block->frozen.requires_grad() && block->frozen.impl().is_parameter);
  EXPECT_FALSE(block->seen.impl().is_parameter);
  EXPECT_EQ(block->named_buffers().keys(), std::vector<std::string>{"seen"});
  EXPECT_EQ(block->named_parameters().keys(), (std::vector<std::string>{"scale", "frozen", "fc.weight", "fc.bias"}));
}

TEST(Module, TakesSubmodulesByValue) {
  Outer outer;
  EXPECT_EQ(outer.parameters().size(), 8U);
  EXPECT_TRUE(outer.named_parameters().contains("net.fc1.weight"));
  outer.to(kDouble);
  EXPECT_EQ(outer.block.scale.dtype(), kDouble);
  outer.eval();
  EXPECT_FALSE(outer.net.fc1->is_training());
  EXPECT_EQ(outer.named_children()["block"].get(), &outer.block);
  // A module with submodules by value cannot be copied or moved.
  EXPECT_THROWS(Outer(outer), StateError, "Outer", "'net'", "by value");
  EXPECT_THROWS(Outer(std::move(outer)), StateError, "by value");
  Net net;
  EXPECT_THROWS(static_cast<nn::Module&>(net) = outer, StateError, "by value");
}

TEST(Module, CopiesShareTheirContents) {
  Net net;
  Net copy(net);
  EXPECT_TRUE(copy.parameters()[0].is_same(net.parameters()[0]));
}

TEST(Module, RefusesBadNamesAndModules) {
  Net net;
  EXPECT_THROWS(net.register_parameter("", ones({1})), StateError, "register_parameter", "empty");
  EXPECT_THROWS(net.register_parameter("a.b", ones({1})), StateError, "'a.b'", "dot");
  EXPECT_THROWS(net.register_parameter("fc1", ones({1})), StateError, "'fc1'", "a submodule");
  EXPECT_THROWS(net.register_buffer("fc1", ones({1})), StateError, "register_buffer", "'fc1'");
  EXPECT_THROWS(net.register_buffer("a.b", ones({1})), StateError, "dot");
  EXPECT_THROWS(net.register_module("fc1", nn::ReLU()), StateError, "register_module", "already");
  EXPECT_THROWS(net.register_module("x.y", nn::ReLU()), StateError, "dot");
  EXPECT_THROWS(net.register_module("x", nn::Linear(nullptr)), StateError, "nullptr");
  EXPECT_THROWS(net.register_module("x", std::shared_ptr<nn::Module>()), StateError, "'x' is null");
  EXPECT_THROWS(net.register_module("x", net), StateError, "itself");
  net.register_buffer("b", ones({1}));
  EXPECT_THROWS(net.register_parameter("b", ones({1})), StateError, "a buffer");
  net.register_parameter("p", ones({1}));
  EXPECT_THROWS(net.register_module("p", nn::ReLU()), StateError, "a parameter");
  EXPECT_THROWS(net.register_parameter("i", ones({1}, kLong)), DTypeError, "i64");
  EXPECT_THROWS(net.register_parameter("op", net.parameters()[0] * 2), AutogradError, "'op'", "detach");
  EXPECT_EQ(net.parameters().size(), 5U);  // rejected entries left nothing behind
  net.register_parameter("i", ones({1}, kLong), false);
  net.register_parameter("absent", Tensor());
  EXPECT_EQ(net.parameters().size(), 6U);
}

TEST(Module, UnregistersAndReplaces) {
  Block block;
  EXPECT_THROWS(block->unregister_module("x"), StateError, "'x'");
  EXPECT_THROWS(block->unregister_parameter("fc"), StateError, "'fc'");
  EXPECT_THROWS(block->unregister_buffer("scale"), StateError, "'scale'");
  EXPECT_THROWS(block->replace_module("x", nn::ReLU()), StateError, "'x'");
  EXPECT_THROWS(block->replace_module("fc", std::shared_ptr<nn::Module>()), StateError, "null");
  block->fc = block->replace_module("fc", nn::Linear(nn::LinearOptions(3, 3).bias(false)));
  EXPECT_FALSE(block->named_parameters().contains("fc.bias"));
  block->unregister_module("fc");
  block->unregister_parameter("scale");
  block->unregister_buffer("seen");
  EXPECT_EQ(block->named_parameters().keys(), std::vector<std::string>{"frozen"});
  EXPECT_TRUE(block->buffers().empty());
  block->register_module("scale", nn::ReLU());  // the name is free again
}

TEST(Module, ListsSharedTensorsAndModulesOnce) {
  nn::Linear shared(3, 3);
  nn::Sequential net(shared, nn::ReLU(), shared);
  EXPECT_EQ(net->named_parameters().keys(), (std::vector<std::string>{"0.weight", "0.bias"}));
  EXPECT_EQ(net->named_modules().keys(), (std::vector<std::string>{"", "0", "1"}));
  int visits = 0;
  net->apply([&](nn::Module&) { ++visits; });
  EXPECT_EQ(visits, 3);
  // Tied weights: a tensor with two names remains one tensor in to().
  Net tied;
  tied.register_parameter("again", tied.fc1->weight);
  tied.to(kDouble);
  EXPECT_EQ(tied.parameters().size(), 4U);
  EXPECT_EQ(tied.fc1->weight.dtype(), kDouble);
}

TEST(Module, ListsModules) {
  auto outer = std::make_shared<Outer>();
  EXPECT_EQ(
      outer->named_modules("root").keys(),
      (std::vector<std::string>{"root", "root.net", "root.net.fc1", "root.net.fc2", "root.block", "root.block.fc"}));
  EXPECT_EQ(outer->modules().size(), 6U);
  EXPECT_EQ(outer->modules()[0].get(), outer.get());
  Net on_stack;
  EXPECT_EQ(on_stack.modules(/*include_self=*/false).size(), 2U);
  EXPECT_THROWS(on_stack.modules(), StateError, "Net", "shared_ptr", "include_self");
}

TEST(Module, AppliesFunctions) {
  Net net;
  std::vector<std::string> names;
  net.apply([&](const std::string& name, nn::Module&) { names.push_back(name); }, "net");
  EXPECT_EQ(names, (std::vector<std::string>{"net", "net.fc1", "net.fc2"}));
  const Net& constant = net;
  int linears = 0;
  constant.apply([&](const nn::Module& m) { linears += m.as<nn::Linear>() != nullptr; });
  EXPECT_EQ(linears, 2);
  net.apply([](nn::Module& m) {
    if (auto* linear = m.as<nn::Linear>()) {
      NoGradGuard no_grad;
      linear->weight.fill_(3);
    }
  });
  EXPECT_EQ(net.fc2->weight[0][0].item<float>(), 3);
  EXPECT_EQ(net.as<Net>(), &net);
  EXPECT_EQ(net.as<BlockImpl>(), nullptr);
}

TEST(Module, SwitchesModes) {
  nn::Sequential net(nn::Linear(2, 2), nn::Dropout(0.5), nn::Sequential(nn::Dropout(0.5)));
  EXPECT_TRUE(net->is_training());
  net->eval();
  EXPECT_FALSE(net->is_training() || net->at<nn::Dropout>(1).is_training());
  EXPECT_FALSE(net->at<nn::Sequential>(2).at<nn::Dropout>(0).is_training());
  net->train();
  EXPECT_TRUE(net->at<nn::Sequential>(2).at<nn::Dropout>(0).is_training());
}

TEST(Module, ConversionKeepsTensorIdentity) {
  TANDEM_TEST_ON_HOST();
  Block block;
  const std::vector<Tensor> before = block->parameters();
  block->scale.mutable_grad() = full({3}, 2.0);
  block->to(kDouble);
  EXPECT_TRUE(block->parameters()[0].is_same(before[0]));
  EXPECT_EQ(before[0].dtype(), kDouble);
  EXPECT_EQ(block->scale.dtype(), kDouble);
  EXPECT_EQ(block->scale.grad().dtype(), kDouble);
  EXPECT_EQ(block->scale.grad()[1].item<double>(), 2);
  EXPECT_EQ(block->seen.dtype(), kLong);  // counters stay integers
  EXPECT_TRUE(block->scale.requires_grad() && !block->frozen.requires_grad());
  EXPECT_TRUE(block->scale.is_leaf());
  // Training continues in the new dtype.
  block->zero_grad();
  block->forward(ones({2, 3}, kDouble)).sum().backward();
  EXPECT_EQ(block->fc->weight.grad().dtype(), kDouble);
  // No change: memory and versions are kept.
  const void* memory = block->scale.const_data_ptr<double>();
  block->to(kDouble);
  block->to(Device(kCPU), kDouble);
  block->to(kCPU);
  block->cpu();
  EXPECT_EQ(block->scale.const_data_ptr<double>(), memory);
  EXPECT_THROWS(block->to(kLong), DTypeError, "Module::to", "i64");
  EXPECT_THROWS(block->to(Device(kCPU), kBool), DTypeError, "bool");
  EXPECT_EQ(block->scale.dtype(), kDouble);
}

TEST(Module, TakesAMemoryFormat) {
  TANDEM_TEST_ON_HOST();
  nn::Sequential net(nn::Conv2d(2, 3, 3), nn::BatchNorm2d(3));
  net->register_buffer("image", arange(24.0).view({1, 2, 3, 4}));
  const Tensor weight = net->at<nn::Conv2d>(0).weight, image = net->named_buffers()["image"];
  const Tensor values = weight.clone(), x = rand({2, 2, 5, 5}), y = net(x);
  weight.mutable_grad() = values.clone();
  net->to(MemoryFormat::ChannelsLast);
  for (const Tensor& t : {weight, weight.grad(), image}) EXPECT_TRUE(t.is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_EQ(testing::difference(weight, values), "");
  EXPECT_TRUE(weight.is_same(net->at<nn::Conv2d>(0).weight) && weight.is_leaf() && weight.requires_grad());
  EXPECT_TRUE(net->at<nn::Conv2d>(0).bias.is_contiguous());  // rank 1
  EXPECT_LT((net(x) - y).abs().max().item<float>(), 1e-5);
  const void* memory = weight.raw_bytes();
  net->to(MemoryFormat::Preserve);
  net->to(MemoryFormat::ChannelsLast);
  EXPECT_EQ(weight.raw_bytes(), memory);
  net->to(MemoryFormat::Contiguous);
  EXPECT_TRUE(weight.is_contiguous() && image.is_contiguous());
}

TEST(Module, ZeroGrad) {
  Net net;
  net.forward(ones({2, 4})).sum().backward();
  ASSERT_TRUE(net.fc1->weight.grad().defined());
  net.zero_grad(/*set_to_none=*/false);
  EXPECT_EQ(net.fc2->bias.grad().abs().sum().item<float>(), 0);
  net.zero_grad();
  EXPECT_FALSE(net.fc1->weight.grad().defined());
}

TEST(Module, Prints) {
  const Outer outer;
  EXPECT_EQ(text(nn::Linear(2, 3)), "tandem::nn::Linear(in_features=2, out_features=3, bias=true)");
  const std::string prefix = "tandem::(anonymous namespace)::";
  EXPECT_EQ(outer.name(), prefix + "Outer");
  EXPECT_EQ(text(outer), prefix + "Outer(\n  (net): " + prefix +
                             "Net(\n"
                             "    (fc1): tandem::nn::Linear(in_features=4, out_features=3, bias=true)\n"
                             "    (fc2): tandem::nn::Linear(in_features=3, out_features=2, bias=true)\n"
                             "  )\n  (block): " +
                             prefix +
                             "BlockImpl(\n"
                             "    (fc): tandem::nn::Linear(in_features=3, out_features=3, bias=true)\n"
                             "  )\n)");
  struct Named : nn::Module {
    Named() : Module("my net") {}
  };
  EXPECT_EQ(text(Named()), "my net");
  EXPECT_EQ(text(nn::Sequential(nn::ReLU(), nn::Tanh())),
            "tandem::nn::Sequential(\n  (0): tandem::nn::ReLU()\n  (1): tandem::nn::Tanh()\n)");
}

TEST(ModuleHolder, SharesTheModule) {
  Block a(2);
  Block b = a;
  EXPECT_EQ(a.ptr(), b.ptr());
  EXPECT_EQ(a->scale.numel(), 2);
  EXPECT_EQ(Block()->scale.numel(), 3);
  Block none = nullptr;
  EXPECT_TRUE(none.is_empty() && !none && a);
  EXPECT_THROWS(none->parameters(), StateError, "ModuleHolder", "BlockImpl");
  EXPECT_THROWS(none(ones({1, 2})), StateError, "nullptr");
  none = b;
  EXPECT_EQ(&*none, b.get());
  EXPECT_EQ(none(ones({1, 2})).sizes(), IntArrayRef({1, 2}));
}

TEST(Sequential, RunsModulesAndFunctions) {
  nn::Sequential net(nn::Linear(4, 3), nn::Functional(relu), Block(3), BlockImpl(3),
                     nn::Functional(softmax, 1, std::nullopt), std::make_shared<nn::IdentityImpl>());
  ASSERT_EQ(net->size(), 6U);
  const Tensor x = rand({5, 4});
  Tensor y = relu(net->at<nn::Linear>(0).forward(x));
  y = net->at<BlockImpl>(3).forward(net->at<Block>(2).forward(y));
  EXPECT_EQ((net(x) - softmax(y, 1)).abs().max().item<float>(), 0);
  EXPECT_EQ(net[1], net->ptr(1));
  EXPECT_THROWS(net->at<nn::ReLU>(0), StateError, "LinearImpl", "ReLUImpl");
  EXPECT_THROWS(net->at<nn::ReLU>(6), IndexError, "6");
  EXPECT_THROWS(net->ptr(6), IndexError, "6");
  EXPECT_THROWS(nn::Sequential()(x), StateError, "Sequential", "no modules");
  EXPECT_THROWS(net->push_back(std::shared_ptr<BlockImpl>()), StateError, "null");
  EXPECT_THROWS(net->push_back("0", nn::ReLU()), StateError, "'0'");
  EXPECT_THROWS(nn::Functional(nn::FunctionalImpl::Function()), StateError, "Functional", "empty");
}

/// A subclass of Linear: must not be fused.
struct DoubledImpl : nn::LinearImpl {
  using LinearImpl::LinearImpl;
  Tensor forward(const Tensor& x) { return 2 * LinearImpl::forward(x); }
};

/// On CUDA a product with a fused ReLU may use another algorithm.
void expect_same(const Tensor& fused, const Tensor& apart) {
  if (testing::on_cuda()) {
    EXPECT_TRUE(allclose(fused, apart.to(fused.dtype()), 1e-2, 1e-3));
  } else {
    EXPECT_TRUE(testing::same_bits(fused, apart));
  }
}

TEST(Sequential, FusedReluGivesTheSameResults) {
  nn::Conv2d conv(nn::Conv2dOptions(3, 4, 3).stride(2).padding(1)),
      without_bias(nn::Conv2dOptions(4, 4, 1).bias(false));
  nn::Linear fc(4 * 4 * 4, 9);
  nn::Sequential net(conv, nn::ReLU(), without_bias, nn::ReLU(true), nn::Flatten(), fc, nn::ReLU());
  for (bool autocast : {false, true}) {
    const amp::AutocastGuard guard(device_type(), kBFloat16, autocast);
    const Tensor x = randn({5, 3, 8, 8}, TensorOptions().requires_grad(true));
    const std::vector<Tensor> of = net->parameters();
    std::vector<Tensor> leaves{x};
    leaves.insert(leaves.end(), of.begin(), of.end());
    const Tensor fused = net(x), apart = relu(fc(relu(without_bias(relu(conv(x)))).flatten(1)));
    EXPECT_STREQ(fused.grad_fn()->op, "linear_relu");
    expect_same(fused, apart);
    const Tensor gy = randn_like(fused);
    const auto a = autograd::grad({fused}, leaves, {gy}), b = autograd::grad({apart}, leaves, {gy});
    for (size_t i = 0; i < leaves.size(); ++i) expect_same(a[i], b[i]);
  }
}

TEST(Sequential, FusesReluOnlyIfNothingElseChanges) {
  const Tensor x = randn({2, 3}, TensorOptions().requires_grad(true)),
               image = randn({1, 3, 5, 5}, TensorOptions().requires_grad(true));
  const auto last = [](nn::Sequential net, const Tensor& input) { return std::string(net(input).grad_fn()->op); };
  EXPECT_EQ(last(nn::Sequential(nn::Linear(3, 2), nn::ReLU()), x), "linear_relu");
  EXPECT_EQ(last(nn::Sequential(DoubledImpl(3, 2), nn::ReLU()), x), "relu");
  EXPECT_EQ(last(nn::Sequential(nn::Linear(3, 2), nn::Functional(relu)), x), "relu");
  EXPECT_EQ(last(nn::Sequential(nn::Conv2d(3, 2, 3), nn::ReLU()), image), "conv2d_relu");
  EXPECT_EQ(last(nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 2, 3).padding(kSame)), nn::ReLU()), image), "relu");
  const amp::AutocastGuard autocast(device_type(), kBFloat16);
  const amp::PolicyGuard policies({{"linear", amp::Cast::f32}});
  nn::Sequential net(nn::Linear(3, 2), nn::ReLU());
  EXPECT_EQ(net(x).dtype(), kFloat) << "the policy of linear holds";
}

TEST(Sequential, SupportsNamesExtensionAndNesting) {
  nn::Sequential named({{"a", nn::Linear(1, 2)}, {"b", nn::ReLU()}});
  EXPECT_EQ(named->named_parameters().keys(), (std::vector<std::string>{"a.weight", "a.bias"}));
  const OrderedDict<std::string, nn::AnyModule> dict{{"x", nn::Linear(1, 2)}, {"y", nn::ReLU()}};
  nn::Sequential from_dict(dict);
  EXPECT_EQ(from_dict->named_children().keys(), (std::vector<std::string>{"x", "y"}));
  nn::Sequential net(named, nn::Linear(2, 2));
  EXPECT_TRUE(net->named_parameters().contains("0.a.weight"));
  net->push_back("tail", nn::Linear(2, 1));
  net->extend(std::vector<nn::Linear>{nn::Linear(1, 1), nn::Linear(1, 1)});
  EXPECT_EQ(net->size(), 5U);
  EXPECT_EQ(net(ones({3, 1})).sizes(), IntArrayRef({3, 1}));
  nn::Sequential copy(net);
  EXPECT_EQ(copy.ptr(), net.ptr());
  size_t count = 0;
  for (const nn::AnyModule& m : *net) count += m.is_empty() ? 0 : 1;
  EXPECT_EQ(count, 5U);
}

TEST(AnyModule, HoldsOneModule) {
  nn::AnyModule none;
  EXPECT_TRUE(none.is_empty());
  EXPECT_THROWS(none.forward(ones({1})), StateError, "AnyModule");
  EXPECT_THROWS(none.get<nn::Linear>(), StateError, "LinearImpl");
  nn::AnyModule any(nn::Linear(2, 3));
  EXPECT_EQ(any.forward(ones({1, 2})).sizes(), IntArrayRef({1, 3}));
  EXPECT_EQ(any.get<nn::Linear>().options.out_features(), 3);
}

TEST(ModuleList, HoldsModules) {
  nn::ModuleList list(nn::Linear(1, 2), nn::ReLU());
  list->push_back(Block(2));
  list->push_back(BlockImpl(2));
  list->insert(1, nn::Linear(2, 2));
  list->extend(std::vector<nn::ReLU>{nn::ReLU()});
  ASSERT_EQ(list->size(), 6U);
  EXPECT_EQ(list->at<nn::Linear>(1).options.in_features(), 2);
  EXPECT_EQ(list->named_children().keys(), (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(list->named_children()["1"], list[1]);
  int linears = 0;
  for (const auto& m : *list) linears += m->as<nn::Linear>() ? 1 : 0;
  EXPECT_EQ(linears, 2);
  EXPECT_THROWS(list->at<nn::Linear>(2), StateError, "ReLUImpl");
  EXPECT_THROWS(list->ptr(6), IndexError, "ModuleList", "6");
  EXPECT_THROWS(list->insert(7, nn::ReLU()), IndexError, "7");
  EXPECT_THROWS(list->insert(0, std::shared_ptr<nn::Module>()), StateError, "null");
  EXPECT_THROWS(list->push_back(std::shared_ptr<nn::Module>()), StateError, "null");
}

TEST(OrderedDict, KeepsOrderAndRefusesDuplicates) {
  OrderedDict<std::string, int> dict("Entry");
  dict.insert("b", 1);
  dict.insert("a", 2);
  dict.insert("c", 3);
  EXPECT_THROWS(dict.insert("a", 5), StateError, "Entry", "'a'");
  EXPECT_THROWS(dict["x"], IndexError, "Entry", "'x'");
  EXPECT_THROWS(dict[size_t{3}], IndexError, "3");
  EXPECT_THROWS(dict.erase("x"), IndexError, "'x'");
  EXPECT_EQ(dict.values(), (std::vector<int>{1, 2, 3}));
  dict.erase("b");
  EXPECT_EQ(dict["c"], 3);
  EXPECT_EQ(dict[size_t{0}].key(), "a");
  EXPECT_EQ(*dict.find("a"), 2);
  EXPECT_EQ(dict.find("b"), nullptr);
  EXPECT_EQ(dict.front().value() + dict.back().value(), 5);
  OrderedDict<std::string, int> more{{"d", 4}};
  dict.update(more);
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(dict.pairs()[2], (std::pair<std::string, int>("d", 4)));
  EXPECT_THROWS(dict.update(more), StateError, "'d'");
  dict.clear();
  EXPECT_TRUE(dict.is_empty());
}

TEST(OrderedDict, ItemsSupportStructuredBindings) {
  Net net;
  std::vector<std::string> names;
  for (auto& [name, parameter] : net.named_parameters()) {
    names.push_back(name);
    EXPECT_TRUE(parameter.is_same(*net.named_parameters().find(name)));
  }
  EXPECT_EQ(names, net.named_parameters().keys());
  OrderedDict<std::string, int> dict{{"a", 1}, {"b", 2}};
  for (auto& [key, value] : dict) {
    static_assert(std::is_same_v<decltype(key), const std::string>);
    value *= 10;
  }
  int sum = 0;
  for (const auto& [key, value] : std::as_const(dict)) sum += value;
  for (auto [key, value] : dict) sum += value++;  // a copy
  EXPECT_EQ(sum, 60);
}

}  // namespace
}  // namespace tandem
