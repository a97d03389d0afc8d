// The modules of single ops: each against its functional form, options, printing, parameters and their initial values.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/layer_checks.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using testing::same;
using testing::text;

namespace F = nn::functional;

/// Checks a module of one input against its functional form, and what it prints.
template <class M>
void check(const M& module, const Tensor& x, const Tensor& want, const std::string& printed) {
  EXPECT_TRUE(same(module(x), want)) << printed;
  EXPECT_EQ(text(module), "tandem::nn::" + printed);
}

TEST(Modules, Activations) {
  manual_seed(1);
  const Tensor x = randn({4, 6});
  check(nn::ReLU(), x, relu(x), "ReLU()");
  check(nn::ELU(nn::ELUOptions().alpha(0.5)), x, elu(x, 0.5), "ELU(alpha=0.5)");
  check(nn::ELU(), x, elu(x, 1), "ELU(alpha=1)");
  check(nn::CELU(nn::CELUOptions().alpha(2)), x, celu(x, 2), "CELU(alpha=2)");
  check(nn::SELU(), x, selu(x), "SELU()");
  check(nn::SiLU(), x, silu(x), "SiLU()");
  check(nn::Mish(), x, mish(x), "Mish()");
  check(nn::ReLU6(), x, relu6(x), "ReLU6()");
  check(nn::Hardsigmoid(), x, hardsigmoid(x), "Hardsigmoid()");
  check(nn::Hardswish(), x, hardswish(x), "Hardswish()");
  check(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)), x, leaky_relu(x, 0.2),
        "LeakyReLU(negative_slope=0.2)");
  check(nn::LeakyReLU(), x, leaky_relu(x, 0.01), "LeakyReLU(negative_slope=0.01)");
  check(nn::Hardtanh(nn::HardtanhOptions().min_val(-0.5).max_val(2)), x, hardtanh(x, -0.5, 2),
        "Hardtanh(min_val=-0.5, max_val=2)");
  check(nn::Threshold(0.25, 7), x, threshold(x, 0.25, 7), "Threshold(threshold=0.25, value=7)");
  check(nn::Softplus(), x, softplus(x, 1, 20), "Softplus(beta=1, threshold=20)");
  check(nn::Hardshrink(), x, hardshrink(x, 0.5), "Hardshrink(0.5)");
  check(nn::Softshrink(0.25), x, softshrink(x, 0.25), "Softshrink(0.25)");
  check(nn::GLU(0), x, glu(x, 0), "GLU(dim=0)");
  check(nn::GLU(), x, glu(x, -1), "GLU(dim=-1)");
  check(nn::LogSigmoid(), x, logsigmoid(x), "LogSigmoid()");
  check(nn::Softsign(), x, softsign(x), "Softsign()");
  check(nn::Tanhshrink(), x, tanhshrink(x), "Tanhshrink()");
  check(nn::Softmin(1), x, softmin(x, 1), "Softmin(dim=1)");
  const Tensor image = randn({2, 3, 4, 4});
  check(nn::Softmax2d(), image, softmax(image, 1), "Softmax2d()");
  check(nn::Softmax2d(), image[0], softmax(image[0], 0), "Softmax2d()");
  EXPECT_THROWS(nn::Softmax2d()(x), ShapeError, "Softmax2d", "[N, C, H, W]");
  const Tensor y = x.clone();
  nn::ELU below(nn::ELUOptions().inplace(true));
  EXPECT_TRUE(below(y).is_same(y) && same(y, elu(x)));
  EXPECT_EQ(text(below), "tandem::nn::ELU(alpha=1, inplace=true)");
}

TEST(Modules, RandomActivations) {
  manual_seed(2);
  nn::RReLU random(nn::RReLUOptions().lower(0.25).upper(0.5));
  const Tensor x = full({1000}, -1.0);
  const Tensor y = random(x);
  EXPECT_GE(y.min().item<float>(), -0.5f);
  EXPECT_LE(y.max().item<float>(), -0.25f);
  EXPECT_LT(y.min().item<float>(), y.max().item<float>());
  random->eval();
  EXPECT_TRUE(same(random(x), full({1000}, -0.375)));
  EXPECT_EQ(text(random), "tandem::nn::RReLU(lower=0.25, upper=0.5)");
}

TEST(Modules, PReLUHasSlopes) {
  nn::PReLU one, each(nn::PReLUOptions().num_parameters(3).init(0.5));
  const Tensor x = randn({2, 3, 4});
  EXPECT_TRUE(same(one->weight, full({1}, 0.25)) && one->weight.requires_grad());
  EXPECT_TRUE(same(each->weight, full({3}, 0.5)));
  EXPECT_TRUE(same(each(x), prelu(x, each->weight)));
  EXPECT_EQ(each->named_parameters().keys(), std::vector<std::string>{"weight"});
  EXPECT_EQ(text(each), "tandem::nn::PReLU(num_parameters=3)");
  EXPECT_THROWS(nn::PReLU(nn::PReLUOptions().num_parameters(0)), StateError, "PReLU", "num_parameters = 0");
}

TEST(Modules, Padding) {
  const Tensor line = randn({1, 2, 4}), image = randn({2, 3, 4}), volume = randn({1, 2, 3, 3, 3});
  const auto padded = [](const Tensor& x, std::vector<int64_t> pad, PadMode mode, double value = 0) {
    return F::pad(x, F::PadFuncOptions(std::move(pad)).mode(mode).value(value));
  };
  check(nn::ReflectionPad1d(1), line, padded(line, {1, 1}, kReflect), "ReflectionPad1d(padding=[1, 1])");
  check(nn::ReflectionPad2d(nn::ReflectionPad2dOptions({1, 2, 0, 1})), image, padded(image, {1, 2, 0, 1}, kReflect),
        "ReflectionPad2d(padding=[1, 2, 0, 1])");
  check(nn::ReflectionPad3d(1), volume, padded(volume, {1, 1, 1, 1, 1, 1}, kReflect),
        "ReflectionPad3d(padding=[1, 1, 1, 1, 1, 1])");
  check(nn::ReplicationPad1d(2), line, padded(line, {2, 2}, kReplicate), "ReplicationPad1d(padding=[2, 2])");
  check(nn::ReplicationPad2d(1), image, padded(image, {1, 1, 1, 1}, kReplicate),
        "ReplicationPad2d(padding=[1, 1, 1, 1])");
  check(nn::ReplicationPad3d(1), volume, padded(volume, {1, 1, 1, 1, 1, 1}, kReplicate),
        "ReplicationPad3d(padding=[1, 1, 1, 1, 1, 1])");
  check(nn::CircularPad1d(1), line, padded(line, {1, 1}, kCircular), "CircularPad1d(padding=[1, 1])");
  check(nn::CircularPad2d(1), image, padded(image, {1, 1, 1, 1}, kCircular), "CircularPad2d(padding=[1, 1, 1, 1])");
  check(nn::CircularPad3d(1), volume, padded(volume, {1, 1, 1, 1, 1, 1}, kCircular),
        "CircularPad3d(padding=[1, 1, 1, 1, 1, 1])");
  check(nn::ZeroPad1d(1), line, padded(line, {1, 1}, kConstant), "ZeroPad1d(padding=[1, 1])");
  check(nn::ZeroPad2d(nn::ZeroPad2dOptions({1, 0, -1, 2})), image, padded(image, {1, 0, -1, 2}, kConstant),
        "ZeroPad2d(padding=[1, 0, -1, 2])");
  check(nn::ZeroPad3d(1), volume, padded(volume, {1, 1, 1, 1, 1, 1}, kConstant),
        "ZeroPad3d(padding=[1, 1, 1, 1, 1, 1])");
  check(nn::ConstantPad1d(1, 2.5), line, padded(line, {1, 1}, kConstant, 2.5),
        "ConstantPad1d(padding=[1, 1], value=2.5)");
  check(nn::ConstantPad2d(nn::ConstantPad2dOptions({3, 0, 2, 1}, 3.5)), image,
        padded(image, {3, 0, 2, 1}, kConstant, 3.5), "ConstantPad2d(padding=[3, 0, 2, 1], value=3.5)");
  check(nn::ConstantPad3d(1, -1), volume, padded(volume, {1, 1, 1, 1, 1, 1}, kConstant, -1),
        "ConstantPad3d(padding=[1, 1, 1, 1, 1, 1], value=-1)");
}

TEST(Modules, ChannelDropout) {
  manual_seed(3);
  const Tensor x = ones({8, 16, 3, 2});
  const auto channels = [](const Tensor& y) { return y.flatten(2); };
  for (const nn::Dropout2d& drop : {nn::Dropout2d(0.5), nn::Dropout2d(nn::DropoutOptions(0.5).inplace(true))}) {
    const Tensor input = x.clone(), y = channels(drop(input));
    EXPECT_TRUE(same(y.amax({2}), y.amin({2})));  // whole channels
    EXPECT_EQ(y.max().item<float>(), 2);
    EXPECT_EQ(y.min().item<float>(), 0);
    EXPECT_EQ(drop->options.inplace(), same(input, x) ? false : true);
    drop->eval();
    EXPECT_TRUE(drop(x).is_same(x));
  }
  EXPECT_EQ(text(nn::Dropout2d()) + text(nn::Dropout3d(0.25)) + text(nn::Dropout1d(0.25)),
            "tandem::nn::Dropout2d(p=0.5, inplace=false)tandem::nn::Dropout3d(p=0.25, inplace=false)"
            "tandem::nn::Dropout1d(p=0.25, inplace=false)");
  for (const Tensor& y : {nn::Dropout3d(0.5)(x.unsqueeze(-1)), nn::Dropout1d(0.5)(x.flatten(2))}) {
    EXPECT_TRUE(same(channels(y).amax({2}), channels(y).amin({2})));
    EXPECT_LT(y.min().item<float>(), y.max().item<float>());
  }
  const Tensor noise = randn({1000});
  const Tensor y = nn::AlphaDropout(0.25)(noise);
  EXPECT_FALSE(same(y, noise));
  EXPECT_NEAR(y.mean().item<float>(), 0, 0.3);
  nn::FeatureAlphaDropout features(0.5);
  const Tensor z = channels(features(x));
  EXPECT_TRUE(same(z.amax({2}), z.amin({2})));
  features->eval();
  EXPECT_TRUE(features(x).is_same(x));
  EXPECT_EQ(text(nn::AlphaDropout()) + text(features),
            "tandem::nn::AlphaDropout(p=0.5, inplace=false)tandem::nn::FeatureAlphaDropout(p=0.5, inplace=false)");
  EXPECT_THROWS(nn::AlphaDropout(1.5), StateError, "AlphaDropout", "p = 1.5");
}

TEST(Modules, Norms) {
  manual_seed(4);
  const Tensor x = randn({2, 6, 5}), image = randn({2, 6, 3, 4}), volume = randn({2, 3, 2, 3, 2});
  nn::GroupNorm group(2, 6);
  EXPECT_TRUE(same(group->weight, ones({6})) && same(group->bias, zeros({6})));
  check(group, x, group_norm(x, 2, group->weight, group->bias), "GroupNorm(2, 6, eps=1e-05, affine=true)");
  check(nn::GroupNorm(nn::GroupNormOptions(3, 6).affine(false).eps(0.5)), x, group_norm(x, 3, {}, {}, 0.5),
        "GroupNorm(3, 6, eps=0.5, affine=false)");
  nn::RMSNorm rms(std::vector<int64_t>{5});
  EXPECT_TRUE(same(rms->weight, ones({5})));
  check(rms, x, rms_norm(x, {5}, rms->weight), "RMSNorm([5], eps=None, elementwise_affine=true)");
  check(nn::RMSNorm(nn::RMSNormOptions({5}).eps(0.5).elementwise_affine(false)), x, rms_norm(x, {5}, {}, 0.5),
        "RMSNorm([5], eps=0.5, elementwise_affine=false)");
  check(nn::LocalResponseNorm(3), image, local_response_norm(image, 3),
        "LocalResponseNorm(3, alpha=0.0001, beta=0.75, k=1)");
  check(nn::InstanceNorm1d(6), x, instance_norm(x),
        "InstanceNorm1d(6, eps=1e-05, momentum=0.1, affine=false, track_running_stats=false)");
  EXPECT_TRUE(same(nn::InstanceNorm2d(6)(image[0]), instance_norm(image.narrow(0, 0, 1))[0]));
  nn::InstanceNorm3d tracking(nn::InstanceNorm3dOptions(3).affine(true).track_running_stats(true).momentum(0.5));
  EXPECT_EQ(tracking->named_parameters().size(), 2u);
  const Tensor mean = zeros({3}), var = ones({3});
  EXPECT_TRUE(same(tracking(volume), instance_norm(volume, tracking->weight, tracking->bias, mean, var, true, 0.5)));
  EXPECT_TRUE(same(tracking->running_mean, mean) && same(tracking->running_var, var));
  tracking->eval();
  EXPECT_TRUE(same(tracking(volume), instance_norm(volume, tracking->weight, tracking->bias, mean, var, false, 0.5)));
  nn::BatchNorm3d batch(3);
  EXPECT_TRUE(same(batch(volume), batch_norm(volume, ones({3}), zeros({3}), zeros({3}), ones({3}), true)));
  EXPECT_EQ(text(batch), "tandem::nn::BatchNorm3d(3, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)");
  EXPECT_THROWS(nn::BatchNorm3d(6)(image), ShapeError, "BatchNorm3d", "[N, C, D, H, W]");
  EXPECT_THROWS(nn::InstanceNorm2d(6)(x.unsqueeze(0).unsqueeze(0)), ShapeError, "[N, C, H, W] or [C, H, W]");
  EXPECT_THROWS(nn::GroupNorm(4, 6), StateError, "num_groups = 4", "num_channels = 6", "divide");
  EXPECT_THROWS(nn::LocalResponseNorm(0), StateError, "size = 0");
  EXPECT_THROWS(nn::RMSNorm(std::vector<int64_t>{}), StateError, "normalized_shape is empty");
}

TEST(Modules, CrossMapNormMatchesLoops) {
  const Tensor x = randn({2, 5, 2, 3});
  for (int64_t size = 1; size <= 6; ++size) {
    const Tensor y = nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(size).alpha(0.5).k(2))(x);
    const int64_t reach = (size - 1) / 2;
    for (int64_t c = 0; c < 5; ++c) {
      Tensor sum = zeros({2, 2, 3});
      for (int64_t i = 0; i < 5; ++i) {
        if (i == 0 || std::abs(i - c) <= reach) sum = sum + x.select(1, i).square();
      }
      const Tensor want = x.select(1, c) * (sum * (0.5 / static_cast<double>(size)) + 2).pow(-0.75);
      EXPECT_LT((y.select(1, c) - want).abs().max().item<float>(), 1e-6f) << size;
    }
  }
  EXPECT_EQ(text(nn::CrossMapLRN2d(4)), "tandem::nn::CrossMapLRN2d(4, alpha=0.0001, beta=0.75, k=1)");
}

TEST(Modules, PoolingPrintsItsOptions) {
  const Tensor line = randn({2, 3, 9}), volume = randn({1, 2, 4, 5, 4});
  check(nn::MaxPool1d(3), line, max_pool1d(line, {3}),
        "MaxPool1d(kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=false)");
  check(nn::AvgPool3d(2), volume, avg_pool3d(volume, {2}),
        "AvgPool3d(kernel_size=[2, 2, 2], stride=[2, 2, 2], padding=[0, 0, 0])");
  check(nn::AdaptiveAvgPool1d(2), line, adaptive_avg_pool1d(line, {2}), "AdaptiveAvgPool1d(output_size=2)");
  check(nn::LPPool1d(2, 3), line, lp_pool1d(line, 2, {3}),
        "LPPool1d(norm_type=2, kernel_size=3, stride=3, ceil_mode=false)");
}

TEST(Modules, UnpoolingReversesPooling) {
  manual_seed(5);
  const Tensor line = rand({2, 3, 9}) + 1, image = rand({3, 6, 5}) + 1, volume = rand({1, 2, 4, 4, 6}) + 1;
  const auto [y1, i1] = nn::MaxPool1d(2)->forward_with_indices(line);
  nn::MaxUnpool1d one(2);
  EXPECT_TRUE(same(one(y1, i1), F::max_unpool1d(y1, i1, F::MaxUnpool1dFuncOptions(2))));
  const std::vector<int64_t> nine = {2, 3, 9};
  const Tensor back = one(y1, i1, nine);
  EXPECT_EQ(back.sizes(), line.sizes());
  EXPECT_TRUE(same(back.gather(2, i1), y1));
  EXPECT_EQ(back.count_nonzero().item<int64_t>(), y1.numel()) << "0 elsewhere";
  nn::MaxPool2d pool(nn::MaxPool2dOptions({3, 2}).stride(2).padding({1, 0}));
  const auto [y2, i2] = pool->forward_with_indices(image);
  nn::MaxUnpool2d two(nn::MaxUnpool2dOptions({3, 2}).stride(2).padding({1, 0}));
  EXPECT_TRUE(same(two(y2, i2, std::vector<int64_t>{6, 5}), max_unpool2d(y2, i2, {6, 5})));
  const auto [y3, i3] = nn::MaxPool3d(2)->forward_with_indices(volume);
  nn::MaxUnpool3d three(2);
  EXPECT_TRUE(same(three(y3, i3), max_unpool3d(y3, i3, {4, 4, 6})));
  EXPECT_EQ(text(one) + text(three),
            "tandem::nn::MaxUnpool1d(kernel_size=2, stride=2, padding=0)"
            "tandem::nn::MaxUnpool3d(kernel_size=[2, 2, 2], stride=[2, 2, 2], padding=[0, 0, 0])");
  const Tensor &values = y1, &places = i1;
  EXPECT_THROWS(one(values, places, std::vector<int64_t>{11}), ShapeError, "max_unpool1d", "[11]", "between 6 and 10");
}

TEST(Modules, FractionalPooling) {
  manual_seed(6);
  const Tensor image = rand({2, 3, 7, 8}), samples = rand({2, 3, 2}), volume = rand({2, 5, 5, 5});
  nn::FractionalMaxPool2d given(
      nn::FractionalMaxPool2dOptions(2).output_size(ExpandingArray<2>({3, 4}))._random_samples(samples));
  const auto [y, index] = given->forward_with_indices(image);
  EXPECT_TRUE(same(y, std::get<0>(fractional_max_pool2d(image, {2}, {3, 4}, samples))));
  EXPECT_TRUE(same(given(image), y));
  EXPECT_TRUE(same(image.flatten(2).gather(2, index.flatten(2)), y.flatten(2)));
  nn::FractionalMaxPool3d drawn(
      nn::FractionalMaxPool3dOptions(2).output_ratio(nn::FractionalMaxPool3dOptions::ExpandingArrayDouble(0.5)));
  EXPECT_EQ(drawn(volume).sizes(), IntArrayRef({2, 2, 2, 2}));
  EXPECT_EQ(text(given) + text(drawn), "tandem::nn::FractionalMaxPool2d()tandem::nn::FractionalMaxPool3d()");
  EXPECT_THROWS(nn::FractionalMaxPool2d(2), StateError, "none of output_size and output_ratio");
  EXPECT_THROWS(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(2).output_ratio(
                    nn::FractionalMaxPool2dOptions::ExpandingArrayDouble(1.5))),
                StateError, "output_ratio contains 1.5");
}

TEST(Modules, EmbeddingBag) {
  manual_seed(7);
  nn::EmbeddingBag bag(nn::EmbeddingBagOptions(5, 3).mode(kMax).padding_idx(-2));
  EXPECT_EQ(bag->weight[3].abs().sum().item<float>(), 0);
  const Tensor rows = tensor({0, 3, 4, 1}), starts = tensor({0, 2});
  EXPECT_TRUE(same(bag(rows, starts), embedding_bag(bag->weight, rows, starts, BagMode::Max, {}, false, 3)));
  EXPECT_EQ(text(bag), "tandem::nn::EmbeddingBag(num_embeddings=5, embedding_dim=3, mode=kMax, padding_idx=3)");
  const Tensor table = rand({4, 2}), factors = rand({2, 3}), pairs = tensor({{0, 1, 3}, {2, 2, 0}});
  nn::EmbeddingBag sum = nn::EmbeddingBag::from_pretrained(table, nn::EmbeddingBagFromPretrainedOptions().mode(kSum));
  EXPECT_TRUE(sum->weight.is_same(table) && !table.requires_grad());
  EXPECT_TRUE(same(sum(pairs, Tensor(), factors), embedding_bag(table, pairs, {}, BagMode::Sum, factors)));
  EXPECT_TRUE(same(nn::EmbeddingBag(nn::EmbeddingBagOptions(4, 2)._weight(rand({4, 2}).copy_(table)))(pairs),
                   F::embedding_bag(pairs, table)));
  nn::EmbeddingBag limited(nn::EmbeddingBagOptions(4, 2).max_norm(0.25));
  limited(pairs);
  EXPECT_LE(limited->weight.norm(2, {1}).max().item<float>(), 0.25f);
  nn::Embedding trained =
      nn::Embedding::from_pretrained(rand({4, 2}), nn::EmbeddingFromPretrainedOptions().freeze(false));
  EXPECT_TRUE(trained->weight.requires_grad());
  EXPECT_THROWS(nn::EmbeddingBag(nn::EmbeddingBagOptions(5, 3).padding_idx(5)), IndexError, "padding_idx = 5");
  EXPECT_THROWS(nn::EmbeddingBag::from_pretrained(rand({4})), ShapeError, "EmbeddingBag", "[num_embeddings");
  EXPECT_THROWS(nn::EmbeddingBagOptions(5, 3).mode(kNone), StateError, "kSum, kMean or kMax");
}

TEST(Modules, LinearFamily) {
  manual_seed(8);
  nn::Bilinear layer(400, 3, 5);
  const Tensor a = randn({4, 400}), b = randn({4, 3});
  EXPECT_TRUE(same(layer(a, b), bilinear(a, b, layer->weight, layer->bias)));
  for (const Tensor& p : {layer->weight, layer->bias}) EXPECT_LE(p.abs().max().item<float>(), 0.05f);
  EXPECT_GT(layer->weight.abs().max().item<float>(), 0.045f);
  EXPECT_EQ(layer->weight.sizes(), IntArrayRef({5, 400, 3}));
  EXPECT_EQ(text(layer), "tandem::nn::Bilinear(in1_features=400, in2_features=3, out_features=5, bias=true)");
  EXPECT_FALSE(nn::Bilinear(nn::BilinearOptions(2, 2, 2).bias(false))->bias.defined());
  check(nn::Unflatten(1, std::vector<int64_t>{20, 20}), a, a.view({4, 20, 20}),
        "Unflatten(dim=1, unflattened_size=[20, 20])");
  EXPECT_THROWS(nn::Bilinear(0, 2, 2), StateError, "in1_features = 0");
  EXPECT_THROWS(nn::Unflatten(1, std::vector<int64_t>{}), StateError, "sizes are empty");
}

TEST(Modules, DistancesAndShuffles) {
  const Tensor a = randn({4, 8, 2, 2}), b = randn({4, 8, 2, 2});
  nn::CosineSimilarity cosine;
  EXPECT_TRUE(same(cosine(a, b), cosine_similarity(a, b, 1, 1e-8)));
  EXPECT_EQ(text(cosine), "tandem::nn::CosineSimilarity(dim=1, eps=1e-08)");
  nn::PairwiseDistance distance(nn::PairwiseDistanceOptions().p(1).keepdim(true));
  EXPECT_TRUE(same(distance(a, b), pairwise_distance(a, b, 1, 1e-6, true)));
  EXPECT_EQ(text(distance), "tandem::nn::PairwiseDistance(p=1, eps=1e-06, keepdim=true)");
  check(nn::PixelShuffle(2), a, pixel_shuffle(a, 2), "PixelShuffle(upscale_factor=2)");
  check(nn::PixelUnshuffle(2), a, pixel_unshuffle(a, 2), "PixelUnshuffle(downscale_factor=2)");
  check(nn::ChannelShuffle(4), a, channel_shuffle(a, 4), "ChannelShuffle(groups=4)");
  EXPECT_THROWS(nn::PixelShuffle(0), StateError, "upscale_factor = 0");
}

TEST(Modules, GridFunctions) {
  const Tensor x = randn({1, 2, 4, 4}), theta = randn({1, 2, 3});
  const Tensor grid = F::affine_grid(theta, {1, 2, 3, 5});
  EXPECT_TRUE(same(grid, affine_grid_generator(theta, {1, 2, 3, 5}, false)));
  EXPECT_TRUE(same(F::grid_sample(x, grid), grid_sampler(x, grid, 0, 0, false)));
  const auto options = F::GridSampleFuncOptions().mode(kBicubic).padding_mode(kReflection).align_corners(true);
  EXPECT_TRUE(same(F::grid_sample(x, grid, options), grid_sampler(x, grid, 2, 2, true)));
  EXPECT_TRUE(same(F::normalize(x), x / x.norm(2, {1}, true).clamp_min(1e-12)));
}

TEST(Modules, AreClonedAndConverted) {
  nn::Sequential net(nn::PReLU(), nn::GroupNorm(2, 4), nn::Hardtanh(), nn::ZeroPad2d(1), nn::MaxPool2d(2));
  net->to(kDouble);
  const Tensor x = randn({2, 4, 6, 6}, kDouble);
  EXPECT_TRUE(net->forward(x).dtype() == kDouble);
  EXPECT_EQ(net->parameters().size(), 3u);
}

}  // namespace
}  // namespace tandem
