// weight_norm and spectral_norm: values and gradients against PyTorch, undoing, bad input.
#include "tandem/nn/utils/weight_norm.h"

#include <gtest/gtest.h>

#include "nn/golden_modules.h"
#include "support/throws.h"
#include "tandem/nn/nn.h"
#include "tandem/optim/sgd.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using nn::utils::remove_spectral_norm;
using nn::utils::remove_weight_norm;
using nn::utils::spectral_norm;
using nn::utils::weight_norm;

TEST(WeightNorm, MatchesPyTorch) {
  for (const DType dtype : {kDouble, kFloat}) {
    const auto check = [dtype](const char* name, const auto& module, IntArrayRef sizes) {
      testing::prepare(*module, dtype);
      const Tensor x = testing::leaf("in", sizes, dtype);
      testing::compare(name, *module, {x}, {module(x)}, dtype);
    };
    check("weight_norm", weight_norm(nn::Linear(4, 3)), {2, 4});
    check("weight_norm_all", weight_norm(nn::Linear(4, 3), "weight", std::nullopt), {2, 4});
    check("weight_norm_conv", weight_norm(nn::Conv2d(2, 3, 3), "weight", 1), {1, 2, 5, 4});
  }
}

TEST(SpectralNorm, MatchesPyTorch) {
  for (const DType dtype : {kDouble, kFloat}) {
    const auto check = [dtype](const char* name, const auto& module, IntArrayRef sizes) {
      testing::prepare(*module, dtype);
      for (const char* key : {"weight_u", "weight_v"}) {
        const Tensor buffer = module->named_buffers()[key], vector = testing::numbers(key, buffer.sizes(), dtype);
        buffer.copy_(vector / vector.norm());
      }
      const Tensor x = testing::leaf("in", sizes, dtype);
      testing::Tensors y{module(x), module(x)};
      module->eval();
      y.push_back(module(x));
      for (const char* key : {"weight_u", "weight_v"}) y.push_back(module->named_buffers()[key]);
      testing::compare(name, *module, {x}, y, dtype);
    };
    check("spectral_norm", spectral_norm(nn::Linear(4, 3), "weight", 2), {2, 4});
    check("spectral_norm_conv", spectral_norm(nn::ConvTranspose2d(2, 3, 3)), {1, 2, 5, 4});
  }
}

TEST(WeightNorm, SmallNormsHaveFiniteGradientsInF16) {
  const auto gradients = [](DType dtype) {
    const nn::Linear linear = weight_norm(nn::Linear(2, 2));
    linear->to(dtype);
    for (const auto& item : linear->named_parameters())
      item.value().detach().fill_(item.key() == "weight_v" ? 1e-3 : 1);
    linear(tensor({{1.0, 2.0}}, dtype)).sum().backward();
    return linear->named_parameters()["weight_v"].grad().to(kFloat);
  };
  EXPECT_TRUE(allclose(gradients(kHalf), gradients(kFloat), 1e-2, 1e-3));
}

TEST(WeightNorm, KeepsTheValueAndCanBeUndone) {
  const nn::Linear plain(4, 3);
  const Tensor x = randn({2, 4}), y = plain(x);
  const nn::Linear normed = weight_norm(plain);
  EXPECT_EQ(normed->named_parameters().keys(), (std::vector<std::string>{"bias", "weight_g", "weight_v"}));
  EXPECT_TRUE(allclose(normed(x), y, 1e-5, 1e-6));

  optim::SGD sgd(normed->parameters(), optim::SGDOptions(0.1));
  normed(x).sum().backward();
  sgd.step();
  const Tensor trained = normed(x);
  EXPECT_FALSE(allclose(trained, y));
  remove_weight_norm(normed);
  EXPECT_EQ(plain->named_parameters().keys(), (std::vector<std::string>{"bias", "weight"}));
  EXPECT_TRUE(plain->weight.is_leaf() && plain->weight.requires_grad());
  EXPECT_TRUE(allclose(plain(x), trained, 1e-5, 1e-6));
  EXPECT_FALSE(plain->forward_hooks());
}

TEST(WeightNorm, NormalisesOtherParametersAndAllDimensions) {
  const nn::Linear layer(4, 3);
  weight_norm(layer, "bias", 0, &nn::LinearImpl::bias);
  weight_norm(layer, "weight", -1);
  EXPECT_EQ(layer->named_parameters()["weight_g"].dim(), 0);
  EXPECT_EQ(layer->named_parameters()["bias_g"].numel(), 3);
  const Tensor x = randn({2, 4}), y = layer(x);
  remove_weight_norm(remove_weight_norm(layer, "bias"));
  EXPECT_TRUE(allclose(layer(x), y, 1e-5, 1e-6));
}

TEST(SpectralNorm, KeepsTheParameterAndTheVectors) {
  const nn::Linear layer(4, 3);
  const Tensor old = layer->weight;
  optim::SGD sgd(layer->parameters(), optim::SGDOptions(0.1));
  spectral_norm(layer);
  EXPECT_TRUE(layer->named_parameters()["weight_orig"].is_same(old));
  const Tensor x = randn({2, 4}), before = old.detach().clone();
  layer(x).sum().backward();
  sgd.step();
  EXPECT_FALSE(equal(old, before));
  layer(x);
  const Tensor used = layer->weight.detach().clone();
  remove_spectral_norm(layer);
  EXPECT_TRUE(equal(layer->weight, used));
}

TEST(SpectralNorm, FindsTheLargestSingularValueAndCanBeUndone) {
  nn::Linear layer(2, 2);
  {
    NoGradGuard no_grad;
    layer->weight.copy_(tensor({{3.0, 0.0}, {0.0, -5.0}}));
  }
  spectral_norm(layer, "weight", 50);
  layer(randn({1, 2}));
  EXPECT_TRUE(allclose(layer->weight, tensor({{0.6, 0.0}, {0.0, -1.0}}), 1e-4, 1e-5));
  remove_spectral_norm(layer);
  EXPECT_EQ(layer->named_buffers().size(), 0u);
  EXPECT_TRUE(allclose(layer->named_parameters()["weight"], tensor({{0.6, 0.0}, {0.0, -1.0}}), 1e-4, 1e-5));
}

TEST(WeightNorm, WorksInSequential) {
  nn::Sequential net(weight_norm(nn::Linear(3, 3)), nn::ReLU());
  const Tensor x = randn({2, 3}), before = net(x);
  NoGradGuard no_grad;
  net->named_parameters()["0.weight_g"].mul_(2);
  net->named_parameters()["0.bias"].zero_();
  const Tensor zero = net(x);
  net->named_parameters()["0.weight_g"].mul_(2);
  EXPECT_TRUE(allclose(net(x), zero * 2));
}

TEST(WeightNorm, BadInputIsRefused) {
  const nn::Linear layer(2, 2);
  EXPECT_THROWS(weight_norm(layer, "wait"), StateError, "weight_norm: ", "Linear", "'wait'");
  EXPECT_THROWS(weight_norm(layer, "weight", 2), IndexError, "weight_norm: ", "2");
  EXPECT_THROWS(spectral_norm(layer, "weight", 0), StateError, "spectral_norm: ", "n_power_iterations = 0");
  EXPECT_EQ(layer->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_THROWS(remove_weight_norm(layer), StateError, "Linear", "no weight_norm of 'weight'");
  EXPECT_THROWS(weight_norm(layer, "bias"), StateError, "'bias'", "&LinearImpl::bias");
  EXPECT_THROWS(spectral_norm(layer, "bias"), StateError, "'bias'", "&LinearImpl::bias");
  layer->register_forward_pre_hook([](nn::Module&, std::vector<Tensor>&) {}, "spectral_norm.weight");
  EXPECT_THROWS(remove_spectral_norm(layer), StateError, "no spectral_norm of 'weight'");
  weight_norm(layer);
  EXPECT_THROWS(weight_norm(layer), StateError, "no parameter 'weight'");
  EXPECT_THROWS(layer->clone(), StateError, "clone: ", "parameters");
}

}  // namespace
}  // namespace tandem
