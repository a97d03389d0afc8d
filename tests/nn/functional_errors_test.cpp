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
      BAD_INPUT("conv2d", F::conv2d(image, w, F::Conv2dFuncOptions().stride(2).padding(kSame)), StateError, "'same'",
                "stride [2, 2]", "stride 1"),
      BAD_INPUT("conv2d", F::conv2d(image, ones({4, 3, 3}), F::Conv2dFuncOptions().padding(kSame)), ShapeError,
                "[4, 3, 3]", "[O, C / groups, KH, KW]"),
      BAD_INPUT("conv2d", F::conv2d(x, w, F::Conv2dFuncOptions().padding(kSame)), ShapeError, "[2, 3]", "[N, C, H, W]"),
      UNDEFINED("conv1d", F::conv1d(none, x)),
      BAD_INPUT("conv1d", F::conv1d(image, w, F::Conv1dFuncOptions().padding(kSame)), ShapeError, "[4, 3, 3, 3]",
                "[O, C / groups, K]"),
      UNDEFINED("conv3d", F::conv3d(none, x)),
      BAD_INPUT("conv3d", F::conv3d(image, w), ShapeError, "weight is [4, 3, 3, 3]", "[O, C / groups, KD, KH, KW]"),
      UNDEFINED("conv_transpose1d", F::conv_transpose1d(none, x)),
      UNDEFINED("conv_transpose2d", F::conv_transpose2d(none, w)),
      BAD_INPUT("conv_transpose2d", F::conv_transpose2d(image, w), ShapeError, "3 channels", "needs 4"),
      UNDEFINED("conv_transpose3d", F::conv_transpose3d(none, x)),
      UNDEFINED("unfold", F::unfold(none, F::UnfoldFuncOptions(2))),
      BAD_INPUT("unfold", F::unfold(image, F::UnfoldFuncOptions(9)), ShapeError, "spans 9", "has 8"),
      UNDEFINED("fold", F::fold(none, F::FoldFuncOptions(4, 2))),
      BAD_INPUT("fold", F::fold(x, F::FoldFuncOptions(4, 2)), ShapeError, "x is [2, 3]", "4 cells"),
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

BadInputs attention() {
  const auto options = [](int64_t embedding, int64_t heads) {
    return F::MultiheadAttentionForwardFuncOptions(embedding, heads, ones({3 * embedding, embedding}), Tensor(),
                                                   Tensor(), Tensor(), false, 0, ones({embedding, embedding}),
                                                   Tensor());
  };
  const auto run = [](const Tensor& q, const Tensor& k, const Tensor& v, const auto& o) {
    return std::get<0>(F::multi_head_attention_forward(q, k, v, o));
  };
  const char* const op = "multi_head_attention_forward";
  const Tensor none, q = ones({3, 2, 4}), k = ones({5, 2, 4}), wide = ones({5, 2, 6}), long_bias = ones({7});
  const auto o = options(4, 2);
  const auto with = [&] { return options(4, 2); };
  return {
      BAD_INPUT(op, run(none, k, k, o), StateError, "query is an undefined tensor"),
      BAD_INPUT(op, run(q, none, k, o), StateError, "key is an undefined tensor"),
      BAD_INPUT(op, run(q, k, none, o), StateError, "value is an undefined tensor"),
      BAD_INPUT(op, run(ones({4}), k, k, o), ShapeError, "query [4] f32", "[L, N, E] or [L, E]"),
      BAD_INPUT(op, run(q, ones({5, 4}), k, o), ShapeError, "key [5, 4] f32", "[L, N, E] or [L, E]"),
      BAD_INPUT(op, run(q, k, k, options(6, 2)), ShapeError, "query [3, 2, 4] f32 has 4 features", "must have 6"),
      BAD_INPUT(op, run(q, k, k, options(4, 3)), StateError, "the embedding size 4", "num_heads = 3"),
      BAD_INPUT(op, run(q, k, ones({6, 2, 4}), o), ShapeError, "key [5, 2, 4]", "value [6, 2, 4]", "length"),
      BAD_INPUT(op, run(q, ones({5, 1, 4}), ones({5, 1, 4}), o), ShapeError, "differ in the batch (dimension 1)"),
      BAD_INPUT(op, run(q, wide, wide, o), ShapeError, "key [5, 2, 6]", "use_separate_proj_weight"),
      BAD_INPUT(op, run(q, k, k, with().in_proj_weight(ones({4, 4}))), ShapeError, "[4, 4] f32", "[12, 4]"),
      BAD_INPUT(op, run(q, k, k, with().in_proj_bias(long_bias)), ShapeError, "in_proj_bias is [7] f32", "[12]"),
      BAD_INPUT(op, run(q, k, k, with().in_proj_weight(none)), StateError, "in_proj_weight is an undefined tensor"),
      BAD_INPUT(op, run(q, k, k, with().use_separate_proj_weight(true)), StateError, "q_proj_weight is an undefined"),
      BAD_INPUT(op, run(q, k, k, with().bias_k(ones({1, 1, 4}))), StateError, "give both or neither"),
      BAD_INPUT(op, run(q, k, k, with().bias_k(ones({4})).bias_v(ones({4}))), ShapeError, "[4] f32", "[1, 1, 4]"),
      BAD_INPUT(op, run(q, k, k, with().static_k(ones({4, 5, 3}))), ShapeError, "[4, 5, 3] f32", "[4, 5, 2]"),
      BAD_INPUT(op, run(q, k, k, with().key_padding_mask(ones({2, 4}, kBool))), ShapeError,
                "key_padding_mask is [2, 4] bool", "[2, 5]"),
      BAD_INPUT(op, run(q, k, k, with().key_padding_mask(ones({2, 5}, kLong))), DTypeError,
                "key_padding_mask is [2, 5] i64", "bool or floating"),
      BAD_INPUT(op, run(q, k, k, with().attn_mask(ones({3, 4}, kBool))), ShapeError, "attn_mask is [3, 4] bool",
                "[3, 5]"),
      BAD_INPUT(op, run(q, k, k, with().attn_mask(ones({2, 3, 5}))), ShapeError, "[2, 3, 5] f32", "[4, 3, 5]"),
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
      BAD_INPUT("interpolate", F::interpolate(line, Resize().size(std::vector<int64_t>{2}).antialias(true)), StateError,
                "antialias", "kBicubic", "omit it"),
  };
}

BadInputs sampling() {
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), line = ones({2, 3, 4}), image = ones({1, 2, 4, 4});
  const Tensor volume = ones({1, 2, 4, 4, 4}), rows = tensor({0, 1}), grid = ones({1, 2, 2, 2}), y = ones({5});
  const Tensor weight = ones({2, 3, 4}).requires_grad_();
  const F::EmbeddingBagFuncOptions bags = F::EmbeddingBagFuncOptions().offsets(tensor({0}));
  const auto wide = [](auto options, int64_t size) { return options.output_size(std::vector<int64_t>(1, size)); };
  const F::FractionalMaxPool2dFuncOptions plane(2);
  const F::FractionalMaxPool3dFuncOptions cube(2);
  const auto inplace = F::Dropout2dFuncOptions().inplace(true);
  return {
      UNDEFINED("dropout1d", F::dropout1d(none)),
      BAD_INPUT("dropout1d", F::dropout1d(ones({2, 3, 4, 5})), ShapeError, "[2, 3, 4, 5]", "[N, C, L] or [C, L]"),
      UNDEFINED("dropout2d", F::dropout2d(none)),
      BAD_INPUT("dropout2d", F::dropout2d(y), ShapeError, "[5] f32"),
      BAD_INPUT("dropout2d", F::dropout2d(weight, inplace), AutogradError, "leaf"),
      BAD_INPUT("dropout3d", F::dropout3d(x, F::Dropout3dFuncOptions().p(2)), StateError, "p = 2", "[0, 1]"),
      UNDEFINED("alpha_dropout", F::alpha_dropout(none)),
      UNDEFINED("feature_alpha_dropout", F::feature_alpha_dropout(none)),
      UNDEFINED("instance_norm", F::instance_norm(none)),
      UNDEFINED("group_norm", F::group_norm(none, F::GroupNormFuncOptions(1))),
      BAD_INPUT("group_norm", F::group_norm(x, F::GroupNormFuncOptions(2)), ShapeError, "[2, 3] f32"),
      UNDEFINED("rms_norm", F::rms_norm(none, F::RMSNormFuncOptions({3}))),
      UNDEFINED("local_response_norm", F::local_response_norm(none, F::LocalResponseNormFuncOptions(2))),
      UNDEFINED("normalize", F::normalize(none)),
      BAD_INPUT("normalize", F::normalize(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("normalize", F::normalize(x, F::NormalizeFuncOptions().dim(2)), IndexError, "dimension 2"),
      UNDEFINED("embedding_bag", F::embedding_bag(none, x, bags)),
      UNDEFINED("embedding_bag", F::embedding_bag(rows, none, F::EmbeddingBagFuncOptions().padding_idx(0))),
      BAD_INPUT("embedding_bag", F::embedding_bag(rows, x), ShapeError, "need offsets"),
      BAD_INPUT("embedding_bag",
                F::embedding_bag(rows, x, F::EmbeddingBagFuncOptions().offsets(tensor({0})).padding_idx(-3)),
                IndexError, "padding_idx = -3", "[-2, 1]"),
      UNDEFINED("grid_sample", F::grid_sample(none, grid)),
      BAD_INPUT("grid_sample", F::grid_sample(image, grid, F::GridSampleFuncOptions().mode(kArea)), StateError,
                "kBilinear, kNearest or kBicubic"),
      BAD_INPUT("grid_sample", F::grid_sample(image, x), ShapeError, "grid is [2, 3]", "[N, OH, OW, 2]"),
      UNDEFINED("affine_grid", F::affine_grid(none, {1, 1, 2, 2})),
      UNDEFINED("max_unpool1d", F::max_unpool1d(none, n, F::MaxUnpool1dFuncOptions(2))),
      UNDEFINED("max_unpool1d", F::max_unpool1d(line, none, F::MaxUnpool1dFuncOptions(2))),
      BAD_INPUT("max_unpool1d", F::max_unpool1d(line, n, F::MaxUnpool1dFuncOptions(2)), ShapeError, "[2, 3] i64",
                "[2, 3, 4] f32"),
      BAD_INPUT("max_unpool1d", F::max_unpool1d(line, n, wide(F::MaxUnpool1dFuncOptions(2), 12)), ShapeError,
                "output_size = [12]", "between 6 and 10"),
      BAD_INPUT("max_unpool2d", F::max_unpool2d(image, n, wide(F::MaxUnpool2dFuncOptions(2), 12)), ShapeError,
                "has 1 entries", "2 or 4"),
      BAD_INPUT("max_unpool3d", F::max_unpool3d(x, n, F::MaxUnpool3dFuncOptions(2)), ShapeError, "x is [2, 3] f32"),
      BAD_INPUT("fractional_max_pool2d", F::fractional_max_pool2d(image, plane), StateError, "none of output_size"),
      UNDEFINED("fractional_max_pool2d", F::fractional_max_pool2d(none, plane)),
      BAD_INPUT("fractional_max_pool3d", F::fractional_max_pool3d(volume, cube), StateError, "none of output_size"),
      BAD_INPUT("fractional_max_pool3d", F::fractional_max_pool3d(x, cube), ShapeError, "x is [2, 3] f32"),
      UNDEFINED("bilinear", F::bilinear(none, x, ones({1, 3, 3}))),
      UNDEFINED("cosine_similarity", F::cosine_similarity(none, x)),
      UNDEFINED("pairwise_distance", F::pairwise_distance(none, x)),
      UNDEFINED("pdist", F::pdist(none)),
      UNDEFINED("one_hot", F::one_hot(none)),
      UNDEFINED("pixel_shuffle", F::pixel_shuffle(none, F::PixelShuffleFuncOptions(2))),
      UNDEFINED("pixel_unshuffle", F::pixel_unshuffle(none, F::PixelUnshuffleFuncOptions(2))),
  };
}

TEST(FunctionalErrors, BadInputIsRefused) {
  expect_refused(sampling());
  expect_refused(activations_and_layers());
  expect_refused(losses());
  expect_refused(resampling());
  expect_refused(attention());
}

TEST(FunctionalErrors, EveryFunctionHasARow) {
  BadInputs rows = activations_and_layers();
  const BadInputs more = losses();
  rows.insert(rows.end(), more.begin(), more.end());
  const BadInputs pools = resampling();
  rows.insert(rows.end(), pools.begin(), pools.end());
  const BadInputs attentions = attention();
  rows.insert(rows.end(), attentions.begin(), attentions.end());
  const BadInputs samples = sampling();
  rows.insert(rows.end(), samples.begin(), samples.end());
  const std::map<std::string, const char*> same_op = {
      {"adaptive_max_pool1d_with_indices", "errors name adaptive_max_pool1d"},
      {"adaptive_max_pool2d_with_indices", "errors name adaptive_max_pool2d"},
      {"adaptive_max_pool3d_with_indices", "errors name adaptive_max_pool3d"},
      {"fractional_max_pool2d_with_indices", "errors name fractional_max_pool2d"},
      {"fractional_max_pool3d_with_indices", "errors name fractional_max_pool3d"},
  };
  expect_covered(declared_functions("nn/functional.h"), rows, same_op);
}

}  // namespace
}  // namespace tandem::testing
