// Layers and functional forms: each against its op, initial values, printing, bad options.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/layer_checks.h"
#include "support/device.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using testing::device_type;
using testing::expect_uniform;
using testing::same;
using testing::text;

namespace F = nn::functional;

TEST(Linear, ForwardAndInitMatchPyTorch) {
  manual_seed(1);
  nn::Linear fc(64, 32);
  expect_uniform(fc->weight, 1 / std::sqrt(64.0));
  expect_uniform(fc->bias, 1 / std::sqrt(64.0));
  const Tensor x = randn({5, 64});
  EXPECT_TRUE(same(fc(x), linear(x, fc->weight, fc->bias)));
  nn::Linear plain(nn::LinearOptions(64, 32).bias(false));
  EXPECT_FALSE(plain->bias.defined());
  EXPECT_EQ(plain->parameters().size(), 1U);
  EXPECT_TRUE(same(plain(x), F::linear(x, plain->weight)));
  // The same seed gives the same layer; reset() initialises it again.
  manual_seed(1);
  nn::Linear again(64, 32);
  EXPECT_TRUE(same(again->weight, fc->weight));
  again->reset();
  EXPECT_EQ(again->parameters().size(), 2U);
  EXPECT_FALSE(same(again->weight, fc->weight));
  EXPECT_THROWS(nn::Linear(-1, 3), StateError, "Linear", "-1");
  EXPECT_THROWS(fc(randn({5, 3})), ShapeError, "linear");
  EXPECT_THROWS(fc(Tensor()), StateError, "undefined");
}

TEST(Pooling, MatchesTheOps) {
  manual_seed(4);
  const Tensor x = randn({2, 3, 8, 9});
  EXPECT_TRUE(same(nn::MaxPool2d(2)(x), max_pool2d(x, {2, 2})));
  nn::MaxPool2d max(nn::MaxPool2dOptions({3, 2}).stride(2).padding(1).ceil_mode(true));
  EXPECT_TRUE(same(max(x), max_pool2d(x, {3, 2}, {2, 2}, {1, 1}, {1, 1}, true)));
  nn::AvgPool2d avg(nn::AvgPool2dOptions(3).stride({2, 1}).padding(1).count_include_pad(false));
  EXPECT_TRUE(same(avg(x), avg_pool2d(x, {3, 3}, {2, 1}, {1, 1}, false, false)));
  EXPECT_TRUE(same(F::avg_pool2d(x, F::AvgPool2dFuncOptions(2).divisor_override(7)),
                   avg_pool2d(x, {2, 2}, {2, 2}, {0, 0}, false, true, 7)));
  EXPECT_TRUE(same(nn::AdaptiveAvgPool2d(2)(x), adaptive_avg_pool2d(x, {2, 2})));
  nn::AdaptiveAvgPool2d open(nn::AdaptiveAvgPool2dOptions({3, std::nullopt}));
  EXPECT_TRUE(same(open(x), adaptive_avg_pool2d(x, {3, 9})));
  EXPECT_EQ(text(max),
            "tandem::nn::MaxPool2d(kernel_size=[3, 2], stride=[2, 2], padding=[1, 1], dilation=[1, 1], "
            "ceil_mode=true)");
  EXPECT_EQ(text(avg), "tandem::nn::AvgPool2d(kernel_size=[3, 3], stride=[2, 1], padding=[1, 1])");
  EXPECT_EQ(text(open), "tandem::nn::AdaptiveAvgPool2d(output_size=[3, None])");
  EXPECT_THROWS(nn::MaxPool2d(0)(x), StateError, "MaxPool2d");
  EXPECT_THROWS(nn::MaxPool2d(2)(randn({4})), ShapeError, "max_pool2d");
  EXPECT_THROWS(nn::AvgPool2d(20)(x), ShapeError, "avg_pool2d");
}

TEST(BatchNorm, TracksStatistics) {
  manual_seed(5);
  nn::BatchNorm2d bn(3);
  const Tensor x = randn({4, 3, 2, 2}) * 2 + 1;
  const Tensor y = bn(x);
  EXPECT_LT(y.mean({0, 2, 3}).abs().max().item<float>(), 1e-5F);
  EXPECT_EQ(bn->num_batches_tracked.item<int64_t>(), 1);
  const Tensor mean = x.mean({0, 2, 3}), var = x.var({0, 2, 3});
  EXPECT_LT((bn->running_mean - mean * 0.1).abs().max().item<float>(), 1e-6F);
  EXPECT_LT((bn->running_var - (var * 0.1 + 0.9)).abs().max().item<float>(), 1e-5F);
  bn->eval();
  EXPECT_TRUE(same(bn(x), batch_norm(x, bn->weight, bn->bias, bn->running_mean, bn->running_var, false)));
  EXPECT_EQ(bn->num_batches_tracked.item<int64_t>(), 1);
  EXPECT_EQ(bn->named_buffers().keys(),
            (std::vector<std::string>{"running_mean", "running_var", "num_batches_tracked"}));
  bn->reset_running_stats();
  EXPECT_EQ(bn->running_var.sum().item<float>(), 3);
  EXPECT_EQ(text(bn), "tandem::nn::BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)");
  EXPECT_THROWS(bn(randn({4, 3})), ShapeError, "BatchNorm2d", "[4, 3]");
  EXPECT_THROWS(nn::BatchNorm1d(3)(x), ShapeError, "BatchNorm1d");
  EXPECT_THROWS(nn::BatchNorm2d(0), StateError, "num_features = 0");
  bn->train();
  EXPECT_THROWS(bn(randn({4, 2, 2, 2})), ShapeError, "batch_norm");
}

TEST(BatchNorm, MomentumAndStatisticsAreOptional) {
  manual_seed(6);
  nn::BatchNorm1d average(nn::BatchNorm1dOptions(2).momentum(std::nullopt));
  const Tensor a = randn({8, 2}), b = randn({8, 2});
  average(a);
  average(b);
  EXPECT_LT((average->running_mean - (a.mean({0}) + b.mean({0})) / 2).abs().max().item<float>(), 1e-6F);
  nn::BatchNorm1d untracked(nn::BatchNorm1dOptions(2).track_running_stats(false).affine(false));
  untracked->eval();
  EXPECT_LT(untracked(a).mean({0}).abs().max().item<float>(), 1e-6F);
  EXPECT_TRUE(untracked->parameters().empty() && untracked->buffers().empty());
  EXPECT_EQ(text(average),
            "tandem::nn::BatchNorm1d(2, eps=1e-05, momentum=None, affine=true, track_running_stats=true)");
}

TEST(LayerNorm, MatchesTheOp) {
  nn::LayerNorm norm(nn::LayerNormOptions({3, 4}).eps(1e-3));
  const Tensor x = randn({2, 3, 4});
  EXPECT_TRUE(same(norm(x), layer_norm(x, {3, 4}, norm->weight, norm->bias, 1e-3)));
  EXPECT_TRUE(same(F::layer_norm(x, F::LayerNormFuncOptions({4})), layer_norm(x, {4})));
  EXPECT_EQ(norm->weight.sum().item<float>(), 12);
  EXPECT_EQ(text(norm), "tandem::nn::LayerNorm([3, 4], eps=0.001, elementwise_affine=true)");
  EXPECT_TRUE(nn::LayerNorm(nn::LayerNormOptions({4}).elementwise_affine(false))->parameters().empty());
  EXPECT_THROWS(nn::LayerNorm(nn::LayerNormOptions(std::vector<int64_t>{})), StateError, "normalized_shape");
  EXPECT_THROWS(norm(randn({4})), ShapeError, "layer_norm");
}

TEST(Dropout, DropsInTrainingOnly) {
  manual_seed(7);
  nn::Dropout drop(0.25);
  const Tensor x = ones({1000});
  const Tensor y = drop(x);
  const float kept = y.gt(0).to(kFloat).mean().item<float>();
  EXPECT_NEAR(kept, 0.75, 0.07);
  EXPECT_FLOAT_EQ(y.max().item<float>(), static_cast<float>(1 / 0.75));
  drop->eval();
  EXPECT_TRUE(same(drop(x), x));
  nn::Dropout in_place(nn::DropoutOptions(0.5).inplace(true));
  const Tensor z = ones({100});
  EXPECT_TRUE(same(in_place(z), z));
  EXPECT_LT(z.gt(0).to(kFloat).mean().item<float>(), 1);
  EXPECT_EQ(text(drop), "tandem::nn::Dropout(p=0.25, inplace=false)");
  EXPECT_THROWS(nn::Dropout(1.5), StateError, "Dropout", "1.5");
  EXPECT_THROWS(nn::Dropout(-0.1), StateError, "-0.1");
  EXPECT_THROWS(F::dropout(x, F::DropoutFuncOptions().p(2)), StateError, "dropout");
  // Without a batch, too, whole channels are dropped.
  for (const Tensor& y : {F::dropout1d(ones({6, 200})), F::dropout3d(ones({6, 3, 5, 5})).flatten(1)}) {
    const Tensor least = std::get<0>(y.min(1)), most = std::get<0>(y.max(1));
    EXPECT_TRUE(equal(least, most));
    EXPECT_EQ(y.size(0), 6);
  }
}

TEST(Embedding, SelectsRows) {
  manual_seed(8);
  nn::Embedding table(nn::EmbeddingOptions(5, 3).padding_idx(-2));
  EXPECT_EQ(*table->options.padding_idx(), 3);
  EXPECT_EQ(table->weight[3].abs().sum().item<float>(), 0);
  const Tensor indices = tensor({{0, 3}, {4, 0}});
  const Tensor y = table(indices);
  EXPECT_TRUE(same(y, embedding(table->weight, indices)));
  y.sum().backward();
  EXPECT_EQ(table->weight.grad()[3].abs().sum().item<float>(), 0);
  EXPECT_EQ(table->weight.grad()[0][0].item<float>(), 2);
  const Tensor given = rand({2, 2});
  nn::Embedding from(nn::EmbeddingOptions(2, 2)._weight(given));
  EXPECT_TRUE(from->weight.is_same(given) && given.requires_grad());
  EXPECT_EQ(text(table), "tandem::nn::Embedding(num_embeddings=5, embedding_dim=3, padding_idx=3)");
  EXPECT_THROWS(nn::Embedding(nn::EmbeddingOptions(5, 3).padding_idx(5)), IndexError, "padding_idx = 5");
  EXPECT_THROWS(nn::Embedding(nn::EmbeddingOptions(3, 2)._weight(rand({2, 2}))), ShapeError, "[2, 2]", "[3, 2]");
  EXPECT_THROWS(nn::Embedding(-1, 2), StateError, "-1");
  if (!testing::on_cuda()) {  // on CUDA the kernel traps
    EXPECT_THROWS(table(tensor({7})), IndexError, "index 7");
  }
  nn::Embedding limited(nn::EmbeddingOptions(5, 3).max_norm(0.5).norm_type(1).scale_grad_by_freq(true));
  const Tensor before = limited->weight.detach().clone();
  const Tensor rows = limited(tensor({2, 2, 4}));
  EXPECT_TRUE(same(rows.detach(), embedding(limited->weight, tensor({2, 2, 4})).detach()));
  EXPECT_TRUE(same(limited->weight.detach(), embedding_renorm_(before, tensor({2, 4}), 0.5, 1)));
  rows.sum().backward();
  EXPECT_EQ(limited->weight.grad()[2][0].item<float>(), 1);
  EXPECT_EQ(text(limited),
            "tandem::nn::Embedding(num_embeddings=5, embedding_dim=3, max_norm=0.5, norm_type=1, "
            "scale_grad_by_freq=true)");
  EXPECT_THROWS(F::embedding(tensor({0}), given, F::EmbeddingFuncOptions().padding_idx(2)), IndexError, "padding_idx");
}

TEST(Activations, MatchTheOps) {
  const Tensor x = randn({4, 5});
  EXPECT_TRUE(same(nn::ReLU()(x), relu(x)));
  EXPECT_TRUE(same(nn::GELU()(x), gelu(x)));
  EXPECT_TRUE(same(nn::GELU(nn::GELUOptions().approximate("tanh"))(x), gelu(x, "tanh")));
  EXPECT_TRUE(same(nn::Sigmoid()(x), sigmoid(x)));
  EXPECT_TRUE(same(nn::Tanh()(x), tanh(x)));
  EXPECT_TRUE(same(nn::Softmax(1)(x), softmax(x, 1)));
  EXPECT_TRUE(same(nn::LogSoftmax(0)(x), log_softmax(x, 0)));
  EXPECT_TRUE(same(F::softmax(x, F::SoftmaxFuncOptions(-1).dtype(kDouble)), softmax(x, 1, kDouble)));
  EXPECT_TRUE(same(F::sigmoid(x), sigmoid(x)));
  EXPECT_TRUE(same(F::tanh(x), tanh(x)));
  EXPECT_EQ(nn::Flatten(nn::FlattenOptions().start_dim(0).end_dim(1))(randn({2, 3, 4})).sizes(), IntArrayRef({6, 4}));
  EXPECT_EQ(nn::Flatten()(randn({2, 3, 4})).sizes(), IntArrayRef({2, 12}));
  EXPECT_TRUE(nn::Identity()(x).is_same(x));
  Tensor z = randn({4});
  const Tensor expected = relu(z);
  nn::ReLU(nn::ReLUOptions().inplace(true))(z);
  EXPECT_TRUE(same(z, expected));
  EXPECT_EQ(text(nn::ReLU(true)), "tandem::nn::ReLU(inplace=true)");
  EXPECT_EQ(text(nn::GELU()) + text(nn::Sigmoid()) + text(nn::Tanh()) + text(nn::Identity()),
            "tandem::nn::GELU()tandem::nn::Sigmoid()tandem::nn::Tanh()tandem::nn::Identity()");
  EXPECT_EQ(text(nn::GELU(nn::GELUOptions().approximate("tanh"))), "tandem::nn::GELU(approximate='tanh')");
  EXPECT_EQ(text(nn::Softmax(1)) + text(nn::LogSoftmax(-1)),
            "tandem::nn::Softmax(dim=1)tandem::nn::LogSoftmax(dim=-1)");
  EXPECT_EQ(text(nn::Flatten()), "tandem::nn::Flatten(start_dim=1, end_dim=-1)");
  EXPECT_THROWS(nn::Softmax(2)(x), IndexError, "softmax");
  EXPECT_THROWS(nn::LogSoftmax(-3)(x), IndexError, "log_softmax");
  EXPECT_THROWS(nn::GELU(nn::GELUOptions().approximate("x"))(x), StateError, "GELU");
  EXPECT_THROWS(nn::ReLU()(Tensor()), StateError, "undefined");
  EXPECT_THROWS(nn::Flatten()(ones({3})), IndexError, "flatten");
}

TEST(Losses, MatchTheOps) {
  manual_seed(9);
  const Tensor x = randn({6, 4}), target = tensor({0, 3, 1, 2, 2, 0}), w = rand({4});
  EXPECT_TRUE(same(nn::CrossEntropyLoss()(x, target), cross_entropy(x, target)));
  nn::CrossEntropyLoss ce(nn::CrossEntropyLossOptions().weight(w).ignore_index(2).reduction(kSum).label_smoothing(0.1));
  EXPECT_TRUE(same(ce(x, target), cross_entropy(x, target, w, LossReduction::Sum, 2, 0.1)));
  EXPECT_EQ(ce->named_buffers().keys(), std::vector<std::string>{"weight"});
  const Tensor logs = log_softmax(x, 1);
  EXPECT_TRUE(same(nn::NLLLoss(nn::NLLLossOptions().reduction(kNone))(logs, target),
                   nll_loss(logs, target, {}, LossReduction::None)));
  const Tensor y = rand({6, 4});
  EXPECT_TRUE(same(nn::MSELoss()(x, y), mse_loss(x, y)));
  EXPECT_TRUE(same(nn::MSELoss(kSum)(x, y), F::mse_loss(x, y, F::MSELossFuncOptions(kSum))));
  nn::BCEWithLogitsLoss logits(nn::BCEWithLogitsLossOptions().weight(w).pos_weight(w + 1));
  EXPECT_TRUE(same(logits(x, y), binary_cross_entropy_with_logits(x, y, w, w + 1)));
  nn::BCELoss bce(nn::BCELossOptions().reduction(kSum));
  EXPECT_TRUE(same(bce(sigmoid(x), y), binary_cross_entropy(sigmoid(x), y, {}, LossReduction::Sum)));
  EXPECT_EQ(text(ce) + text(bce), "tandem::nn::CrossEntropyLoss()tandem::nn::BCELoss()");
  EXPECT_EQ(text(nn::NLLLoss()) + text(nn::MSELoss()) + text(logits),
            "tandem::nn::NLLLoss()tandem::nn::MSELoss()tandem::nn::BCEWithLogitsLoss()");
  // A weight tensor is converted with its module.
  ce->to(kDouble);
  EXPECT_TRUE(ce(x.to(kDouble), target).dtype() == kDouble);
  EXPECT_THROWS(nn::CrossEntropyLoss()(x, tensor({1})), ShapeError, "cross_entropy");
  EXPECT_THROWS(nn::NLLLoss()(logs, tensor({1})), ShapeError, "nll_loss");
  EXPECT_THROWS(nn::MSELoss()(x, Tensor()), StateError, "undefined");
  EXPECT_THROWS(logits(x, rand({3})), ShapeError, "binary_cross_entropy_with_logits");
  EXPECT_THROWS(bce(sigmoid(x), rand({3})), ShapeError, "binary_cross_entropy");
  amp::AutocastGuard autocast(device_type());
  EXPECT_THROWS(bce(sigmoid(x), y), StateError, "binary_cross_entropy", "with_logits");
}

TEST(Losses, MatchTheOpsOfPairsAndDistributions) {
  manual_seed(10);
  const Tensor x = randn({6, 4}), y = rand({6, 4}), v = rand({6, 4});
  EXPECT_TRUE(same(nn::L1Loss()(x, y), l1_loss(x, y)));
  EXPECT_TRUE(same(nn::L1Loss(kSum)(x, y), F::l1_loss(x, y, F::L1LossFuncOptions(kSum))));
  EXPECT_TRUE(same(nn::SmoothL1Loss(nn::SmoothL1LossOptions(kNone).beta(0.5))(x, y),
                   smooth_l1_loss(x, y, LossReduction::None, 0.5)));
  EXPECT_TRUE(same(F::smooth_l1_loss(x, y, {}, 0.5), smooth_l1_loss(x, y, LossReduction::Mean, 0.5)));
  EXPECT_TRUE(same(nn::HuberLoss(nn::HuberLossOptions().delta(0.5))(x, y), huber_loss(x, y, LossReduction::Mean, 0.5)));
  EXPECT_TRUE(same(nn::KLDivLoss()(x, y), kl_div(x, y)));
  EXPECT_TRUE(same(nn::KLDivLoss(nn::KLDivLossOptions(kBatchMean).log_target(true))(x, y),
                   kl_div(x, y, LossReduction::Sum, true) / 6));
  EXPECT_TRUE(same(nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().log_input(false).full(true).eps(0.5))(v, y),
                   poisson_nll_loss(v, y, false, true, 0.5)));
  EXPECT_TRUE(same(nn::GaussianNLLLoss(nn::GaussianNLLLossOptions().full(true).eps(0.5))(x, y, v),
                   gaussian_nll_loss(x, y, v, true, 0.5)));
  EXPECT_EQ(text(nn::L1Loss()) + text(nn::SmoothL1Loss()) + text(nn::HuberLoss()) + text(nn::KLDivLoss()),
            "tandem::nn::L1Loss()tandem::nn::SmoothL1Loss()tandem::nn::HuberLoss()tandem::nn::KLDivLoss()");
  EXPECT_EQ(text(nn::PoissonNLLLoss()) + text(nn::GaussianNLLLoss()),
            "tandem::nn::PoissonNLLLoss()tandem::nn::GaussianNLLLoss()");
}

TEST(Losses, MatchTheOpsWithMargins) {
  manual_seed(11);
  const Tensor x = randn({6, 4}), a = randn({6, 4}), b = randn({6, 4}), w = rand({4});
  const Tensor classes = tensor({0, 3, 1, 2, 2, 0}), signs = tensor({1, -1, 1, 1, -1, -1});
  const Tensor labels = zeros({6, 4}, kLong), probabilities = rand({6, 4}), sign = ones({6, 4});
  EXPECT_TRUE(same(nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(2))(x, sign),
                   hinge_embedding_loss(x, sign, 2)));
  EXPECT_TRUE(same(nn::SoftMarginLoss(kSum)(x, sign), soft_margin_loss(x, sign, LossReduction::Sum)));
  nn::MultiLabelSoftMarginLoss soft(nn::MultiLabelSoftMarginLossOptions().weight(w));
  EXPECT_TRUE(same(soft(x, probabilities), multilabel_soft_margin_loss(x, probabilities, w)));
  EXPECT_TRUE(same(nn::MultiLabelMarginLoss()(x, labels), multilabel_margin_loss(x, labels)));
  nn::MultiMarginLoss multi(nn::MultiMarginLossOptions().p(2).margin(0.5).weight(w));
  EXPECT_TRUE(same(multi(x, classes), multi_margin_loss(x, classes, 2, 0.5, w)));
  EXPECT_EQ(multi->named_buffers().keys(), std::vector<std::string>{"weight"});
  EXPECT_TRUE(same(nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.5))(x, a, sign),
                   margin_ranking_loss(x, a, sign, 0.5)));
  EXPECT_TRUE(same(nn::CosineEmbeddingLoss(nn::CosineEmbeddingLossOptions().margin(0.5))(x, a, signs),
                   cosine_embedding_loss(x, a, signs, 0.5)));
  EXPECT_TRUE(same(nn::TripletMarginLoss(nn::TripletMarginLossOptions().margin(2).p(1).eps(0.5).swap(true))(x, a, b),
                   triplet_margin_loss(x, a, b, 2, 1, 0.5, true)));
  const auto distance = [](const Tensor& x, const Tensor& y) { return sum((x - y).abs(), {-1}); };
  nn::TripletMarginWithDistanceLoss triplet(
      nn::TripletMarginWithDistanceLossOptions().distance_function(distance).margin(2).swap(true));
  EXPECT_TRUE(same(triplet(x, a, b), triplet_margin_with_distance_loss(x, a, b, distance, 2, true)));
  EXPECT_TRUE(same(nn::TripletMarginWithDistanceLoss()(x, a, b), triplet_margin_loss(x, a, b)));
  const Tensor logs = log_softmax(randn({7, 2, 4}), 2), targets = tensor({1, 2, 1, 3}).view({2, 2});
  nn::CTCLoss ctc(nn::CTCLossOptions().blank(0).zero_infinity(true).reduction(kSum));
  EXPECT_TRUE(same(ctc(logs, targets, tensor({7, 6}), tensor({2, 1})),
                   ctc_loss(logs, targets, {7, 6}, {2, 1}, 0, LossReduction::Sum, true)));
  EXPECT_EQ(text(soft) + text(multi) + text(ctc),
            "tandem::nn::MultiLabelSoftMarginLoss()tandem::nn::MultiMarginLoss()tandem::nn::CTCLoss()");
}

TEST(Pooling, OneAndThreeDimensions) {
  manual_seed(12);
  const Tensor line = randn({2, 3, 8}), picture = randn({2, 3, 6, 6}), volume = randn({2, 3, 4, 6, 4});
  EXPECT_TRUE(same(nn::MaxPool1d(2)(line), max_pool1d(line, {2})));
  EXPECT_TRUE(same(nn::MaxPool3d(nn::MaxPool3dOptions({2, 3, 2}).padding(1))(volume),
                   max_pool3d(volume, {2, 3, 2}, {2, 3, 2}, {1})));
  EXPECT_TRUE(same(nn::AvgPool1d(nn::AvgPool1dOptions(3).stride(2))(line), avg_pool1d(line, {3}, {2})));
  EXPECT_TRUE(same(nn::AvgPool3d(nn::AvgPool3dOptions(2).divisor_override(3))(volume),
                   avg_pool3d(volume, {2}, {2}, {0}, false, true, 3)));
  EXPECT_TRUE(same(nn::AdaptiveAvgPool1d(3)(line), adaptive_avg_pool1d(line, {3})));
  EXPECT_TRUE(same(nn::AdaptiveAvgPool3d(nn::AdaptiveAvgPool3dOptions({2, std::nullopt, 1}))(volume),
                   adaptive_avg_pool3d(volume, {2, 6, 1})));
  EXPECT_TRUE(same(nn::AdaptiveMaxPool1d(3)(line), std::get<0>(adaptive_max_pool1d(line, {3}))));
  EXPECT_TRUE(same(nn::AdaptiveMaxPool2d(3)(picture), std::get<0>(adaptive_max_pool2d(picture, {3}))));
  EXPECT_TRUE(same(nn::AdaptiveMaxPool3d(2)(volume), std::get<0>(adaptive_max_pool3d(volume, {2}))));
  EXPECT_TRUE(same(nn::LPPool1d(nn::LPPool1dOptions(2, 3))(line), lp_pool1d(line, 2, {3})));
  EXPECT_TRUE(same(nn::LPPool2d(nn::LPPool2dOptions(2, 3))(picture), lp_pool2d(picture, 2, {3})));
  EXPECT_TRUE(same(nn::LPPool3d(nn::LPPool3dOptions(2, 2))(volume), lp_pool3d(volume, 2, {2})));
  EXPECT_EQ(text(nn::MaxPool1d(2)) + text(nn::AdaptiveMaxPool3d(2)) + text(nn::LPPool2d(nn::LPPool2dOptions(2, 3))),
            "tandem::nn::MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=false)"
            "tandem::nn::AdaptiveMaxPool3d(output_size=[2, 2, 2])"
            "tandem::nn::LPPool2d(norm_type=2, kernel_size=[3, 3], stride=[3, 3], ceil_mode=false)");
}

TEST(Upsample, ResizesAsInterpolate) {
  manual_seed(13);
  const Tensor line = randn({2, 3, 8}), picture = randn({2, 3, 6, 6});
  nn::Upsample twice(nn::UpsampleOptions().scale_factor(std::vector<double>{2, 2}).mode(kBilinear));
  EXPECT_TRUE(same(twice(picture), upsample_bilinear2d(picture, {12, 12}, false, 2, 2)));
  nn::Upsample linear(nn::UpsampleOptions().size(std::vector<int64_t>{5}).mode(kLinear).align_corners(true));
  EXPECT_TRUE(same(linear(line), upsample_linear1d(line, {5}, true)));
  nn::Upsample area(nn::UpsampleOptions().size(std::vector<int64_t>{3, 4}).mode(kArea));
  EXPECT_TRUE(same(area(picture), adaptive_avg_pool2d(picture, {3, 4})));
  EXPECT_EQ(text(area), "tandem::nn::Upsample()");
}

TEST(Functional, AntialiasedRowsDoNotDependOnEachOther) {
  manual_seed(14);
  const Tensor picture = randn({1, 2, 3, 8});
  const auto resize = [](const Tensor& x, std::vector<int64_t> sizes) {
    return F::interpolate(x, F::InterpolateFuncOptions().size(std::move(sizes)).mode(kBilinear).antialias(true));
  };
  for (const int64_t width : {1, 2}) {
    const Tensor all = resize(picture, {3, width});
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_TRUE(same(all.narrow(2, row, 1), resize(picture.narrow(2, row, 1), {1, width}))) << row;
    }
  }
}

TEST(Layers, TrainTogether) {
  // One pass through a small CNN gives every parameter a gradient.
  manual_seed(10);
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)), nn::BatchNorm2d(4), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Dropout(0.1), nn::AdaptiveAvgPool2d(2), nn::Flatten(), nn::Linear(16, 3));
  const Tensor x = randn({2, 1, 8, 8}), target = tensor({0, 2});
  F::cross_entropy(net(x), target).backward();
  for (const auto& p : net->named_parameters()) EXPECT_TRUE(p.value().grad().defined()) << p.key();
}

TEST(Functional, PadHasTheModesOfTheOp) {
  const Tensor x = randn({2, 3, 4});
  EXPECT_TRUE(same(F::pad(x, F::PadFuncOptions({1, 2}).value(3)), constant_pad_nd(x, {1, 2}, 3)));
  EXPECT_TRUE(same(F::pad(x, F::PadFuncOptions({1, 2}).mode(kReflect)), reflection_pad1d(x, {1, 2})));
  EXPECT_TRUE(same(F::pad(x, F::PadFuncOptions({1, 2, 0, 1}).mode(kReplicate)), replication_pad2d(x, {1, 2, 0, 1})));
  EXPECT_TRUE(same(F::pad(x, F::PadFuncOptions({1, 2}).mode(kCircular)), pad_circular(x, {1, 2})));
}

}  // namespace
}  // namespace tandem
