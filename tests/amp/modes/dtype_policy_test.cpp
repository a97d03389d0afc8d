// Dtype policies of single layers, of whole models and of the process.
#include "tandem/amp/modes/dtype_policy.h"

#include <gtest/gtest.h>

#include "support/compare.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using amp::DTypePolicy;

TEST(DTypePolicyTest, LayersComputeInTheirPolicysDType) {
  struct Row {
    const char* name;
    DType compute, variable;
  };
  for (const Row& row :
       {Row{"float32", kFloat, kFloat}, Row{"float16", kHalf, kHalf}, Row{"bfloat16", kBFloat16, kBFloat16},
        Row{"mixed_float16", kHalf, kFloat}, Row{"mixed_bfloat16", kBFloat16, kFloat}}) {
    SCOPED_TRACE(row.name);
    nn::Linear layer(4, 3);
    EXPECT_EQ(amp::dtype_policy(*layer).name(), "float32");
    amp::set_dtype_policy(layer, row.name);
    const DTypePolicy policy = amp::dtype_policy(*layer);
    EXPECT_EQ(policy.name(), row.name);
    EXPECT_EQ(policy.compute_dtype(), row.compute);
    EXPECT_EQ(policy.variable_dtype(), row.variable);
    EXPECT_EQ(layer->weight.dtype(), row.variable);
    for (const DType input : {kFloat, kHalf, kBFloat16}) EXPECT_EQ(layer(randn({2, 4}).to(input)).dtype(), row.compute);
    layer(randn({2, 4})).sum().backward();
    EXPECT_EQ(layer->weight.grad().dtype(), row.variable);
    EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
  }
}

// The usual setup: all layers mixed, the last one in f32.
TEST(DTypePolicyTest, LayersOfAContainerHaveTheirOwnPolicies) {
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3), nn::Softmax(1));
  amp::set_dtype_policy(net->at<nn::Linear>(0), "mixed_bfloat16");
  const Tensor x = randn({2, 4});
  const Tensor hidden = net->at<nn::Linear>(0).forward(x);
  EXPECT_EQ(hidden.dtype(), kFloat);  // calling forward() directly bypasses the policy
  amp::set_dtype_policy(net, "mixed_float16");
  amp::set_dtype_policy(net->at<nn::Linear>(2), "float32");
  EXPECT_EQ(net(x).dtype(), kFloat);
  {
    amp::AutocastGuard autocast(device_type(), kBFloat16);
    nn::Linear island(4, 3);
    amp::set_dtype_policy(island, "float32");
    EXPECT_EQ(island(x).dtype(), kFloat);
  }
}

// Linear and ReLU are fused only if neither has its own policy.
TEST(DTypePolicyTest, LayersWithTheirOwnPolicyAreNotFused) {
  const Tensor x = randn({2, 4}), image = randn({2, 3, 6, 6});
  std::vector<DType> seen;
  const auto show = [&seen](const Tensor& h) {
    seen.push_back(h.dtype());
    return h;
  };
  nn::Linear linear(4, 8), last(8, 3);
  nn::Conv2d conv(3, 2, 3);
  nn::ReLU activation;
  nn::Sequential net(linear, nn::ReLU(), nn::Functional(show), last), convolution(conv, nn::ReLU()),
      rectified(nn::Linear(4, 8), activation);

  amp::set_dtype_policy(net, "mixed_float16");
  amp::set_dtype_policy(linear, "float32");  // an f32 island
  const Tensor y = net(x);
  EXPECT_EQ(seen, std::vector<DType>{kFloat});
  EXPECT_EQ(y.dtype(), kHalf);

  amp::set_dtype_policy(linear, "float16");
  amp::set_dtype_policy(conv, "bfloat16");
  nn::Sequential half(linear, nn::ReLU());
  EXPECT_TRUE(same_bits(half(x), relu(tandem::linear(x.to(kHalf), linear->weight, linear->bias))));
  EXPECT_TRUE(same_bits(convolution(image), relu(conv2d(image.to(kBFloat16), conv->weight, conv->bias))));
  amp::set_dtype_policy(activation, "float16");
  EXPECT_EQ(rectified(x).dtype(), kHalf);
}

TEST(DTypePolicyTest, GlobalPolicyAppliesToModulesCreatedLater) {
  nn::Linear before(4, 3);
  amp::set_global_dtype_policy("mixed_bfloat16");
  nn::Linear layer(4, 3);
  nn::Sequential net(nn::Linear(4, 3), nn::ReLU());
  amp::set_global_dtype_policy("float32");
  nn::Linear after(4, 3);
  const Tensor x = randn({2, 4});
  EXPECT_EQ(before(x).dtype(), kFloat);
  EXPECT_EQ(layer(x).dtype(), kBFloat16);
  EXPECT_EQ(net(x).dtype(), kBFloat16);
  EXPECT_EQ(after(x).dtype(), kFloat);
  EXPECT_EQ(amp::dtype_policy(*layer).name(), "mixed_bfloat16");
}

// In Keras, losses are not layers: they compute in f32, whatever the policy of the layers.
TEST(DTypePolicyTest, LossesStayF32UnderTheGlobalPolicy) {
  for (const char* policy : {"mixed_float16", "mixed_bfloat16"}) {
    amp::set_global_dtype_policy(policy);
    nn::Linear layer(4, 3);
    nn::MSELoss mse;
    nn::CrossEntropyLoss cross_entropy;
    nn::NLLLoss nll;
    nn::BCELoss bce;
    nn::BCEWithLogitsLoss bce_with_logits;
    amp::set_global_dtype_policy("float32");
    namespace F = nn::functional;
    const Tensor pred = layer(randn({2, 4})), wide = pred.to(kFloat), labels = zeros({2}, kLong);
    EXPECT_TRUE(is_reduced_floating_point(pred.dtype()));
    const Tensor target = full({2, 3}, 70000.5);  // inf in f16, another number in bf16
    EXPECT_TRUE(same_bits(mse(pred, target), F::mse_loss(wide, target)));
    EXPECT_TRUE(same_bits(mse(target, pred), F::mse_loss(target, wide)));
    const Tensor share = full({2, 3}, 0.3);
    EXPECT_TRUE(same_bits(cross_entropy(pred, labels), F::cross_entropy(wide, labels)));
    EXPECT_TRUE(same_bits(nll(pred, labels), F::nll_loss(wide, labels)));
    EXPECT_TRUE(same_bits(bce(share, share), F::binary_cross_entropy(share, share)));
    EXPECT_TRUE(same_bits(bce_with_logits(pred, share), F::binary_cross_entropy_with_logits(wide, share)));
    EXPECT_EQ(amp::dtype_policy(*mse).name(), "float32");
    amp::set_dtype_policy(mse, policy);  // an explicit policy applies
    EXPECT_EQ(amp::dtype_policy(*mse).name(), policy);
  }
}

struct ManyImpl : nn::Module {
  std::pair<Tensor, std::vector<Tensor>> forward(const std::vector<Tensor>& list, Tensor x, int64_t n,
                                                 std::unique_ptr<int> p) {
    for (const Tensor& t : list) dtypes.push_back(t.dtype());
    dtypes.push_back(x.dtype());
    return {x * static_cast<double>(n + *p), {x, Tensor()}};
  }
  std::vector<DType> dtypes;
};
TANDEM_MODULE(Many);

TEST(DTypePolicyTest, CastsArgumentsOfAnyType) {
  Many many;
  amp::set_dtype_policy(many, "float16");
  const auto [y, list] = many(std::vector<Tensor>{ones({2}), ones({2}, kLong), ones({2}, kDouble)}, ones({2}), 3,
                              std::make_unique<int>(1));
  EXPECT_EQ(many->dtypes, (std::vector<DType>{kHalf, kLong, kDouble, kHalf}));
  EXPECT_EQ(y[0].item<float>(), 4);
  EXPECT_FALSE(list[1].defined());
}

}  // namespace
}  // namespace tandem::testing
