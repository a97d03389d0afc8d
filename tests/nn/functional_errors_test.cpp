// Functional forms reject bad input under the name of their op; a test checks that each has a row.
#include <map>

#include "support/bad_input.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

namespace F = nn::functional;

BadInputs activations_and_layers() {
  const Tensor none, x = ones({2, 3}), y = ones({5}), image = ones({2, 3, 8, 8}), w = ones({4, 3, 3, 3});
  const Tensor weight = ones({2, 3}).requires_grad_(), t = tensor({0, 1}), far = on_another_device({2, 3});
  const F::AdaptiveAvgPool2dFuncOptions open({std::nullopt, 2});
  return {
      UNDEFINED("relu", F::relu(none)),
      UNDEFINED("gelu", F::gelu(none)),
      BAD_INPUT("gelu", F::gelu(x, F::GELUFuncOptions().approximate("q")), StateError, "\"none\" or \"tanh\"", "\"q\""),
      UNDEFINED("sigmoid", F::sigmoid(none)),
      UNDEFINED("tanh", F::tanh(none)),
      UNDEFINED("softmax", F::softmax(none, 0)),
      BAD_INPUT("softmax", F::softmax(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      UNDEFINED("log_softmax", F::log_softmax(none, 0)),
      BAD_INPUT("log_softmax", F::log_softmax(x, -3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      BAD_INPUT("linear", F::linear(none, x), StateError, "x is an undefined tensor"),
      BAD_INPUT("linear", F::linear(x, none), StateError, "weight is an undefined tensor"),
      BAD_INPUT("linear", F::linear(x, ones({4, 5})), ShapeError, "x is [2, 3] f32", "weight is [4, 5] f32"),
      ON_TWO_DEVICES("linear", F::linear(x, far)),

      UNDEFINED("conv2d", F::conv2d(none, w)),
      UNDEFINED("conv2d", F::conv2d(none, w, F::Conv2dFuncOptions().padding(kSame))),
      UNDEFINED("conv2d", F::conv2d(image, none)),
      UNDEFINED("conv2d", F::conv2d(image, none, F::Conv2dFuncOptions().padding(kSame))),
      BAD_INPUT("conv2d", F::conv2d(image, ones({4, 2, 3, 3})), ShapeError, "[2, 3, 8, 8]", "3 channels", "needs 2"),
      BAD_INPUT("conv2d", F::conv2d(image, w, F::Conv2dFuncOptions().stride(2).padding(kSame)), StateError, "kSame",
                "stride [2, 2]", "stride 1"),
      BAD_INPUT("conv2d", F::conv2d(image, ones({4, 3, 3}), F::Conv2dFuncOptions().padding(kSame)), ShapeError,
                "[4, 3, 3]", "[O, C / groups, KH, KW]"),
      BAD_INPUT("conv2d", F::conv2d(x, w, F::Conv2dFuncOptions().padding(kSame)), ShapeError, "[2, 3]", "[N, C, H, W]"),
      UNDEFINED("max_pool2d", F::max_pool2d(none, F::MaxPool2dFuncOptions(2))),
      BAD_INPUT("max_pool2d", F::max_pool2d(image, F::MaxPool2dFuncOptions(20)), ShapeError, "20", "[2, 3, 8, 8]"),
      UNDEFINED("avg_pool2d", F::avg_pool2d(none, F::AvgPool2dFuncOptions(2))),
      BAD_INPUT("avg_pool2d", F::avg_pool2d(image, F::AvgPool2dFuncOptions(0)), StateError, "kernel_size = [0, 0]"),
      UNDEFINED("adaptive_avg_pool2d", F::adaptive_avg_pool2d(none, F::AdaptiveAvgPool2dFuncOptions(2))),
      BAD_INPUT("adaptive_avg_pool2d", F::adaptive_avg_pool2d(y, F::AdaptiveAvgPool2dFuncOptions(2)), ShapeError,
                "[5] f32", "[N, C, H, W]"),
      UNDEFINED("adaptive_avg_pool2d", F::adaptive_avg_pool2d(none, open)),
      BAD_INPUT("adaptive_avg_pool2d", F::adaptive_avg_pool2d(y, open), IndexError, "dimension -2", "rank 1"),
      UNDEFINED("dropout", F::dropout(none)),
      BAD_INPUT("dropout", F::dropout(x, F::DropoutFuncOptions().p(2)), StateError, "p = 2", "[0, 1]"),
      UNDEFINED("batch_norm", F::batch_norm(none, none, none)),
      BAD_INPUT("batch_norm", F::batch_norm(x, ones({2}), ones({2})), ShapeError, "running_mean is [2] f32", "[3]"),
      BAD_INPUT("batch_norm", F::batch_norm(x, none, none), StateError, "no running statistics", "training = true"),
      UNDEFINED("layer_norm", F::layer_norm(none, F::LayerNormFuncOptions({3}))),
      BAD_INPUT("layer_norm", F::layer_norm(x, F::LayerNormFuncOptions({2})), ShapeError, "[2]", "[2, 3] f32"),
      UNDEFINED("embedding", F::embedding(none, x)),
      UNDEFINED("embedding", F::embedding(t, none)),
      BAD_INPUT("embedding", F::embedding(t, y), ShapeError, "[5] f32", "[entries, features]"),
      BAD_INPUT("embedding", F::embedding(tensor({2}), x), IndexError, "index 2", "size 2", "at most 1"),
      BAD_INPUT("embedding", F::embedding(t, x, F::EmbeddingFuncOptions().padding_idx(2)), IndexError,
                "padding_idx = 2", "[2, 3]", "[-2, 1]"),
      UNDEFINED("embedding", F::embedding(t, none, F::EmbeddingFuncOptions().padding_idx(2))),
      UNDEFINED("pad", F::pad(none, F::PadFuncOptions({1, 1}))),
      BAD_INPUT("pad", F::pad(x, F::PadFuncOptions({1})), ShapeError, "pad is [1]", "[2, 3] f32"),
      BAD_INPUT("pad", F::pad(x, F::PadFuncOptions({3, 3}).mode(kReflect)), ShapeError, "pad 3", "at most 2"),
      UNDEFINED("leaky_relu", F::leaky_relu(none)),
      UNDEFINED("elu", F::elu(none)),
      UNDEFINED("celu", F::celu(none)),
      UNDEFINED("selu", F::selu(none)),
      UNDEFINED("silu", F::silu(none)),
      UNDEFINED("mish", F::mish(none)),
      UNDEFINED("relu6", F::relu6(none)),
      UNDEFINED("rrelu", F::rrelu(none)),
      UNDEFINED("hardtanh", F::hardtanh(none)),
      UNDEFINED("hardsigmoid", F::hardsigmoid(none)),
      UNDEFINED("hardswish", F::hardswish(none)),
      UNDEFINED("hardshrink", F::hardshrink(none)),
      UNDEFINED("softshrink", F::softshrink(none)),
      UNDEFINED("tanhshrink", F::tanhshrink(none)),
      UNDEFINED("softsign", F::softsign(none)),
      UNDEFINED("logsigmoid", F::logsigmoid(none)),
      UNDEFINED("softplus", F::softplus(none)),
      UNDEFINED("glu", F::glu(none)),
      UNDEFINED("gumbel_softmax", F::gumbel_softmax(none)),
      UNDEFINED("prelu", F::prelu(none, x)),
      UNDEFINED("threshold", F::threshold(none, F::ThresholdFuncOptions(0, 1))),
      UNDEFINED("softmin", F::softmin(none, F::SoftminFuncOptions(0))),
      BAD_INPUT("elu", F::elu(weight, F::ELUFuncOptions().inplace(true)), AutogradError, "leaf", "[2, 3] f32",
                "NoGradGuard"),
      BAD_INPUT("threshold", F::threshold(weight, F::ThresholdFuncOptions(0, 1).inplace(true)), AutogradError, "leaf",
                "[2, 3] f32", "NoGradGuard"),
      // In place
      BAD_INPUT("relu", F::relu(weight, F::ReLUFuncOptions(true)), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("dropout", F::dropout(weight, F::DropoutFuncOptions().inplace(true)), AutogradError, "leaf",
                "[2, 3] f32", "NoGradGuard"),
  };
}

BadInputs losses() {
  const Tensor none, x = full({2, 3}, 0.5), y = ones({5}), t = tensor({0, 2});
  return {
      UNDEFINED("cross_entropy", F::cross_entropy(none, t)),
      UNDEFINED("cross_entropy", F::cross_entropy(x, none)),
      BAD_INPUT("cross_entropy", F::cross_entropy(x, y), ShapeError, "[5] f32", "[2, 3] f32", "pass i64"),
      BAD_INPUT("cross_entropy", F::cross_entropy(x, t, F::CrossEntropyFuncOptions().weight(y)), ShapeError,
                "weight is [5] f32", "[3]"),
      BAD_INPUT("cross_entropy", F::cross_entropy(x, t, F::CrossEntropyFuncOptions().label_smoothing(2)), StateError,
                "label_smoothing = 2", "[0, 1]"),
      UNDEFINED("nll_loss", F::nll_loss(none, t)),
      BAD_INPUT("nll_loss", F::nll_loss(x, y), DTypeError, "target is [5] f32", ".to(kLong)"),
      BAD_INPUT("nll_loss", F::nll_loss(x, tensor({0, 3})), IndexError, "index 3", "size 3", "at most 2"),
      UNDEFINED("mse_loss", F::mse_loss(x, none)),
      BAD_INPUT("mse_loss", F::mse_loss(x, y), ShapeError, "[2, 3]", "[5]", "equal or 1"),
      UNDEFINED("binary_cross_entropy", F::binary_cross_entropy(x, none)),
      BAD_INPUT("binary_cross_entropy", F::binary_cross_entropy(x, y), ShapeError, "[2, 3] f32", "[5] f32"),
      UNDEFINED("l1_loss", F::l1_loss(x, none)),
      BAD_INPUT("smooth_l1_loss", F::smooth_l1_loss(x, x, {}, -1), StateError, "beta = -1", "at least 0"),
      BAD_INPUT("smooth_l1_loss", F::smooth_l1_loss(x, x, F::SmoothL1LossFuncOptions().beta(1), 2), StateError,
                "1 in the options", "2 as an argument", "once"),
      BAD_INPUT("huber_loss", F::huber_loss(x, x, F::HuberLossFuncOptions().delta(0)), StateError, "delta = 0"),
      UNDEFINED("kl_div", F::kl_div(none, x, F::KLDivFuncOptions(kBatchMean))),
      BAD_INPUT("poisson_nll_loss", F::poisson_nll_loss(x, y), ShapeError, "[2, 3]", "[5]", "equal or 1"),
      BAD_INPUT("gaussian_nll_loss", F::gaussian_nll_loss(x, x, y), ShapeError, "var is [5] f32"),
      UNDEFINED("hinge_embedding_loss", F::hinge_embedding_loss(none, x)),
      UNDEFINED("soft_margin_loss", F::soft_margin_loss(x, none)),
      BAD_INPUT("multilabel_soft_margin_loss", F::multilabel_soft_margin_loss(x, y), ShapeError, "[2, 3] f32",
                "[5] f32"),
      BAD_INPUT("multilabel_margin_loss", F::multilabel_margin_loss(x, t), ShapeError, "[2] i64", "[2, 3]"),
      BAD_INPUT("multi_margin_loss", F::multi_margin_loss(x, t, F::MultiMarginLossFuncOptions().p(3)), StateError,
                "p = 3", "1 or 2"),
      UNDEFINED("margin_ranking_loss", F::margin_ranking_loss(x, x, none)),
      UNDEFINED("cosine_embedding_loss", F::cosine_embedding_loss(x, none, t)),
      UNDEFINED("triplet_margin_loss", F::triplet_margin_loss(x, x, none)),
      UNDEFINED("triplet_margin_with_distance_loss", F::triplet_margin_with_distance_loss(x, none, x)),
      UNDEFINED("ctc_loss", F::ctc_loss(x, t, none, t)),
      UNDEFINED("binary_cross_entropy_with_logits", F::binary_cross_entropy_with_logits(x, none)),
      BAD_INPUT("binary_cross_entropy_with_logits", F::binary_cross_entropy_with_logits(x, y), ShapeError, "[2, 3] f32",
                "[5] f32"),
  };
}

BadInputs resampling() {
  using Resize = F::InterpolateFuncOptions;
  const Tensor none, x = ones({2, 3}), line = ones({2, 3, 4}), picture = ones({2, 3, 4, 4});
  const Tensor volume = ones({2, 3, 4, 4, 4});
  return {
      BAD_INPUT("max_pool1d", F::max_pool1d(line, F::MaxPool1dFuncOptions(9)), ShapeError, "no window fits"),
      BAD_INPUT("avg_pool1d", F::avg_pool1d(line, F::AvgPool1dFuncOptions(9)), ShapeError, "no window fits"),
      BAD_INPUT("max_pool3d", F::max_pool3d(volume, F::MaxPool3dFuncOptions(9)), ShapeError, "no window fits"),
      BAD_INPUT("avg_pool3d", F::avg_pool3d(volume, F::AvgPool3dFuncOptions(9)), ShapeError, "no window fits"),
      BAD_INPUT("max_pool1d_with_indices", F::max_pool1d_with_indices(line, F::MaxPool1dFuncOptions(9)), ShapeError,
                "no window fits"),
      BAD_INPUT("lp_pool1d", F::lp_pool1d(line, F::LPPool1dFuncOptions(0, 2)), StateError, "norm_type = 0"),
      UNDEFINED("adaptive_max_pool1d", F::adaptive_max_pool1d(none, F::AdaptiveMaxPool1dFuncOptions(2))),
      BAD_INPUT("adaptive_max_pool1d", F::adaptive_max_pool1d_with_indices(line, F::AdaptiveMaxPool1dFuncOptions(0)),
                StateError, "[0", "at least 1"),
      BAD_INPUT("max_pool2d_with_indices", F::max_pool2d_with_indices(picture, F::MaxPool2dFuncOptions(9)), ShapeError,
                "no window fits"),
      BAD_INPUT("lp_pool2d", F::lp_pool2d(picture, F::LPPool2dFuncOptions(0, 2)), StateError, "norm_type = 0"),
      UNDEFINED("adaptive_max_pool2d", F::adaptive_max_pool2d(none, F::AdaptiveMaxPool2dFuncOptions(2))),
      BAD_INPUT("adaptive_max_pool2d", F::adaptive_max_pool2d_with_indices(picture, F::AdaptiveMaxPool2dFuncOptions(0)),
                StateError, "[0", "at least 1"),
      BAD_INPUT("max_pool3d_with_indices", F::max_pool3d_with_indices(volume, F::MaxPool3dFuncOptions(9)), ShapeError,
                "no window fits"),
      BAD_INPUT("lp_pool3d", F::lp_pool3d(volume, F::LPPool3dFuncOptions(0, 2)), StateError, "norm_type = 0"),
      UNDEFINED("adaptive_max_pool3d", F::adaptive_max_pool3d(none, F::AdaptiveMaxPool3dFuncOptions(2))),
      BAD_INPUT("adaptive_max_pool3d", F::adaptive_max_pool3d_with_indices(volume, F::AdaptiveMaxPool3dFuncOptions(0)),
                StateError, "[0", "at least 1"),
      UNDEFINED("adaptive_avg_pool1d", F::adaptive_avg_pool1d(none, F::AdaptiveAvgPool1dFuncOptions(2))),
      UNDEFINED("adaptive_avg_pool3d", F::adaptive_avg_pool3d(none, F::AdaptiveAvgPool3dFuncOptions(2))),
      UNDEFINED("interpolate", F::interpolate(none, Resize().size(std::vector<int64_t>{2}))),
      BAD_INPUT("interpolate", F::interpolate(x, Resize().size(std::vector<int64_t>{2})), ShapeError, "[2, 3] f32",
                "[N, C, L]"),
      BAD_INPUT("interpolate", F::interpolate(line), StateError, "none of size and scale_factor", "give one"),
      BAD_INPUT("interpolate",
                F::interpolate(line, Resize().size(std::vector<int64_t>{2}).scale_factor(std::vector<double>{2})),
                StateError, "both of size and scale_factor", "give one"),
      BAD_INPUT("interpolate", F::interpolate(picture, Resize().size(std::vector<int64_t>{2})), ShapeError,
                "size has 1 entries", "2 dimensions"),
      BAD_INPUT("interpolate", F::interpolate(line, Resize().scale_factor(std::vector<double>{0.01})), ShapeError,
                "scale_factor = 0.01", "0 elements"),
      BAD_INPUT("interpolate", F::interpolate(line, Resize().size(std::vector<int64_t>{2}).mode(kBilinear)), StateError,
                "the mode", "[2, 3, 4] f32", "kLinear"),
      BAD_INPUT("interpolate", F::interpolate(line, Resize().size(std::vector<int64_t>{2}).mode(kTanh)), StateError,
                "the mode"),
      BAD_INPUT("interpolate", F::interpolate(line, Resize().size(std::vector<int64_t>{2}).align_corners(true)),
                StateError, "align_corners", "omit it"),
  };
}

TEST(FunctionalErrors, BadInputIsRefused) {
  expect_refused(activations_and_layers());
  expect_refused(losses());
  expect_refused(resampling());
}

TEST(FunctionalErrors, EveryFunctionHasARow) {
  BadInputs rows = activations_and_layers();
  const BadInputs more = losses();
  rows.insert(rows.end(), more.begin(), more.end());
  const BadInputs pools = resampling();
  rows.insert(rows.end(), pools.begin(), pools.end());
  const std::map<std::string, const char*> same_op = {
      {"adaptive_max_pool1d_with_indices", "errors name adaptive_max_pool1d"},
      {"adaptive_max_pool2d_with_indices", "errors name adaptive_max_pool2d"},
      {"adaptive_max_pool3d_with_indices", "errors name adaptive_max_pool3d"},
  };
  expect_covered(declared_functions("nn/functional.h"), rows, same_op);
}

}  // namespace
}  // namespace tandem::testing
