// Layers reject invalid options in the constructor, and inputs that do not fit in forward.
#include <cmath>

#include "support/bad_input.h"
#include "tandem/nn/nn.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

TEST(LayerErrors, Options) {
  using namespace nn;
  const int64_t huge = int64_t{1} << 32;
  const double nan = std::nan("");
  expect_refused({
      BAD_INPUT("Linear", Linear(-1, 3), StateError, "in_features = -1", "out_features = 3", "at least 0"),
      BAD_INPUT("Linear", Linear(3, -1), StateError, "in_features = 3", "out_features = -1", "at least 0"),
      BAD_INPUT("Conv2d", Conv2d(0, 1, 3), StateError, "in_channels = 0", "out_channels = 1", "at least 1"),
      BAD_INPUT("Conv2d", Conv2d(1, 0, 3), StateError, "in_channels = 1", "out_channels = 0", "at least 1"),
      BAD_INPUT("Conv2d", Conv2d(1, 1, 0), StateError, "kernel_size = [0, 0]", "at least 1"),
      BAD_INPUT("Conv2d", Conv2d(Conv2dOptions(4, 6, 3).groups(4)), StateError, "groups = 4", "in_channels = 4",
                "out_channels = 6"),
      BAD_INPUT("Conv2d", Conv2d(Conv2dOptions(4, 6, 3).groups(0)), StateError, "groups = 0"),
      BAD_INPUT("Conv2d", Conv2d(Conv2dOptions(4, 6, 3).stride(2).padding(kSame)), StateError, "kSame", "stride [2, 2]",
                "stride 1"),
      BAD_INPUT("ExpandingArray", Conv2dOptions(4, 6, {3, 3, 3}), StateError, "3 values", "give 2"),
      BAD_INPUT("ExpandingArray", MaxPool2dOptions(std::vector<int64_t>{}), StateError, "0 values", "give 2"),
      BAD_INPUT("Conv2d", Conv2d(Conv2dOptions(4, 6, 3).stride({1, 0})), StateError, "stride = [1, 0]", "at least 1"),
      BAD_INPUT("Conv2d", Conv2d(Conv2dOptions(4, 6, 3).padding(-1)), StateError, "padding = [-1, -1]", "at least 0"),
      BAD_INPUT("Conv2d", Conv2d(Conv2dOptions(4, 6, 3).dilation(0)), StateError, "dilation = [0, 0]", "at least 1"),
      BAD_INPUT("Linear", Linear(huge, huge), ShapeError, "need more bytes", "check the sizes"),
      BAD_INPUT("Conv2d", Conv2d(huge, huge, 3), ShapeError, "need more bytes", "check the sizes"),
      BAD_INPUT("Embedding", Embedding(huge, huge), ShapeError, "need more bytes", "check the sizes"),
      BAD_INPUT("BatchNorm2d", BatchNorm2d(int64_t{1} << 62), ShapeError, "need more bytes", "check the sizes"),
      BAD_INPUT("LayerNorm", LayerNorm(std::vector<int64_t>{huge, huge}), ShapeError, "need more bytes",
                "check the sizes"),
      BAD_INPUT("MaxPool2d", MaxPool2d(0), StateError, "kernel_size = [0, 0]", "at least 1"),
      BAD_INPUT("MaxPool2d", MaxPool2d(MaxPool2dOptions(2).stride(-1)), StateError, "stride = [-1, -1]", "at least 1"),
      BAD_INPUT("MaxPool2d", MaxPool2d(MaxPool2dOptions(2).padding(-1)), StateError, "padding = [-1, -1]"),
      BAD_INPUT("MaxPool2d", MaxPool2d(MaxPool2dOptions(3).padding(2)), StateError, "padding = [2, 2]", "at most half",
                "kernel_size = [3, 3]"),
      BAD_INPUT("MaxPool2d", MaxPool2d(MaxPool2dOptions(2).dilation(0)), StateError, "dilation = [0, 0]"),
      BAD_INPUT("AvgPool2d", AvgPool2d(-2), StateError, "kernel_size = [-2, -2]", "at least 1"),
      BAD_INPUT("AvgPool2d", AvgPool2d(AvgPool2dOptions(2).padding(2)), StateError, "padding = [2, 2]", "at most half"),
      BAD_INPUT("AvgPool2d", AvgPool2d(AvgPool2dOptions(2).divisor_override(0)), StateError, "divisor_override = 0"),
      BAD_INPUT("AdaptiveAvgPool2d", AdaptiveAvgPool2d(0), StateError, "output_size has 0", "at least 1", "nullopt"),
      BAD_INPUT("BatchNorm1d", BatchNorm1d(-1), StateError, "num_features = -1", "at least 1"),
      BAD_INPUT("BatchNorm2d", BatchNorm2d(0), StateError, "num_features = 0", "at least 1"),
      BAD_INPUT("BatchNorm1d", BatchNorm1d(BatchNorm1dOptions(3).eps(-1)), StateError, "eps = -1", "at least 0"),
      BAD_INPUT("BatchNorm2d", BatchNorm2d(BatchNorm2dOptions(3).eps(nan)), StateError, "eps = nan", "finite"),
      BAD_INPUT("BatchNorm1d", BatchNorm1d(BatchNorm1dOptions(3).momentum(-1)), StateError, "momentum = -1"),
      BAD_INPUT("BatchNorm2d", BatchNorm2d(BatchNorm2dOptions(3).momentum(nan)), StateError, "momentum = nan"),
      BAD_INPUT("LayerNorm", LayerNorm(std::vector<int64_t>{2, -1}), StateError, "normalized_shape = [2, -1]",
                "at least 0"),
      BAD_INPUT("LayerNorm", LayerNorm(LayerNormOptions({3}).eps(-1)), StateError, "eps = -1", "at least 0"),
      BAD_INPUT("LayerNorm", LayerNorm(LayerNormOptions({3}).eps(nan)), StateError, "eps = nan", "finite"),
      BAD_INPUT("GELU", GELU(GELUOptions().approximate("x")), StateError, "\"x\"", "\"tanh\""),
      BAD_INPUT("LayerNorm", LayerNorm(std::vector<int64_t>{}), StateError, "normalized_shape is empty", "give"),
      BAD_INPUT("Dropout", Dropout(1.5), StateError, "p = 1.5", "[0, 1]"),
      BAD_INPUT("Dropout", Dropout(std::nan("")), StateError, "p = nan", "[0, 1]"),
      BAD_INPUT("ConvPaddingMode", Conv2dOptions(1, 1, 1).padding_mode(kBorder), StateError, "kBorder", "kReplicate"),
      BAD_INPUT("ConvPaddingMode", Conv2dOptions(1, 1, 1).padding_mode(kConstant), StateError, "kZeros"),
      BAD_INPUT("Embedding", Embedding(-1, 2), StateError, "num_embeddings = -1", "embedding_dim = 2", "at least 0"),
      BAD_INPUT("Embedding", Embedding(2, -1), StateError, "num_embeddings = 2", "embedding_dim = -1", "at least 0"),
      BAD_INPUT("Embedding", Embedding(EmbeddingOptions(5, 3).padding_idx(5)), IndexError, "padding_idx = 5",
                "5 embeddings", "[-5, 4]"),
      BAD_INPUT("Embedding", Embedding(EmbeddingOptions(5, 3).padding_idx(-6)), IndexError, "padding_idx = -6",
                "5 embeddings"),
      BAD_INPUT("Embedding", Embedding(EmbeddingOptions(3, 2)._weight(ones({2, 2}))), ShapeError, "[2, 2]", "[3, 2]"),
      BAD_INPUT("Embedding", Embedding(EmbeddingOptions(3, 2)._weight(ones({3, 2}, kLong))), DTypeError, "[3, 2] i64",
                ".to(kFloat)"),
  });
}

TEST(LayerErrors, Inputs) {
  using namespace nn;
  const Tensor none, x = ones({2, 3}), y = ones({5}), n = ones({2, 3}, kLong), image = ones({2, 3, 8, 8});
  const Tensor far = on_another_device({2, 3});
  expect_refused({
      BAD_INPUT("linear", Linear(3, 4)(none), StateError, "x is an undefined tensor"),
      BAD_INPUT("linear", Linear(3, 4)(y), ShapeError, "x is [5] f32", "weight is [4, 3] f32"),
      BAD_INPUT("linear", Linear(3, 4)(n), DTypeError, "x is [2, 3] i64", "floating"),
      BAD_INPUT("linear", Linear(3, 4)(x.to(kDouble)), DTypeError, "[2, 3] f64", "[4, 3] f32", ".to()"),
      ON_TWO_DEVICES("linear", Linear(3, 4)(far)),
      UNDEFINED("conv2d", Conv2d(3, 6, 3)(none)),
      BAD_INPUT("conv2d", Conv2d(4, 6, 3)(image), ShapeError, "[2, 3, 8, 8]", "3 channels", "needs 4"),
      BAD_INPUT("conv2d", Conv2d(3, 6, 3)(x), ShapeError, "[2, 3]", "[N, C, H, W]"),
      UNDEFINED("max_pool2d", MaxPool2d(2)(none)),
      BAD_INPUT("max_pool2d", MaxPool2d(2)(y), ShapeError, "[5] f32", "[N, C, H, W]"),
      UNDEFINED("avg_pool2d", AvgPool2d(2)(none)),
      BAD_INPUT("avg_pool2d", AvgPool2d(20)(image), ShapeError, "20", "[2, 3, 8, 8]", "has 8"),
      UNDEFINED("adaptive_avg_pool2d", AdaptiveAvgPool2d(2)(none)),
      UNDEFINED("BatchNorm1d", BatchNorm1d(3)(none)),
      UNDEFINED("BatchNorm2d", BatchNorm2d(3)(none)),
      BAD_INPUT("BatchNorm2d", BatchNorm2d(3)(x), ShapeError, "[2, 3]", "[N, C, H, W]"),
      BAD_INPUT("BatchNorm1d", BatchNorm1d(3)(image), ShapeError, "[2, 3, 8, 8]", "[N, C] or [N, C, L]"),
      BAD_INPUT("batch_norm", BatchNorm1d(4)(x), ShapeError, "[4] f32", "[3]"),
      BAD_INPUT("batch_norm", BatchNorm1d(3)(ones({1, 3})), ShapeError, "one value per channel", "[1, 3] f32"),
      UNDEFINED("layer_norm", LayerNorm(std::vector<int64_t>{3})(none)),
      BAD_INPUT("layer_norm", LayerNorm(std::vector<int64_t>{4})(x), ShapeError, "[4]", "[2, 3] f32"),
      BAD_INPUT("layer_norm", LayerNorm(std::vector<int64_t>{3})(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      UNDEFINED("dropout", Dropout(0.5)(none)),
      BAD_INPUT("dropout", Dropout(0.5)(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      UNDEFINED("embedding", Embedding(5, 3)(none)),
      BAD_INPUT("embedding", Embedding(5, 3)(x), DTypeError, "[2, 3] f32", ".to(kLong)"),
      BAD_INPUT("embedding", Embedding(5, 3)(tensor({7})), IndexError, "index 7", "size 5", "at most 4"),
      UNDEFINED("relu", ReLU()(none)),
      UNDEFINED("gelu", GELU()(none)),
      UNDEFINED("sigmoid", Sigmoid()(none)),
      UNDEFINED("tanh", Tanh()(none)),
      UNDEFINED("softmax", Softmax(0)(none)),
      BAD_INPUT("softmax", Softmax(2)(x), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      UNDEFINED("log_softmax", LogSoftmax(0)(none)),
      BAD_INPUT("log_softmax", LogSoftmax(-3)(x), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      UNDEFINED("flatten", Flatten()(none)),
      BAD_INPUT("flatten", Flatten()(y), IndexError, "dimension 1", "rank 1", "[-1, 0]"),
  });
}

TEST(LayerErrors, RefusedResetKeepsTheModule) {
  const auto check = [](auto module, auto spoil) {
    const size_t tensors = module->parameters().size() + module->buffers().size();
    spoil(module->options);
    EXPECT_THROW(module->reset(), Error);
    EXPECT_EQ(module->parameters().size() + module->buffers().size(), tensors) << module->name();
  };
  const int64_t huge = int64_t{1} << 62;
  check(nn::Linear(2, 3), [=](auto& options) { options.in_features(huge); });
  check(nn::Conv2d(2, 3, 1), [=](auto& options) { options.in_channels(huge); });
  check(nn::ConvTranspose2d(2, 3, 1), [=](auto& options) { options.in_channels(huge); });
  check(nn::Embedding(2, 3), [=](auto& options) { options.num_embeddings(huge); });
  check(nn::BatchNorm1d(2), [=](auto& options) { options.num_features(huge); });
  check(nn::LayerNorm(std::vector<int64_t>{2}), [=](auto& options) { options.normalized_shape({huge}); });
}

TEST(LayerErrors, OptionsOfConvolutions) {
  using namespace nn;
  const Tensor none;
  const int64_t huge = int64_t{1} << 32;
  expect_refused({
      BAD_INPUT("Conv1d", Conv1d(0, 1, 3), StateError, "in_channels = 0", "at least 1"),
      BAD_INPUT("Conv1d", Conv1d(Conv1dOptions(1, 1, 3).stride(0)), StateError, "stride = [0]", "at least 1"),
      BAD_INPUT("Conv3d", Conv3d(Conv3dOptions(1, 1, {1, 0, 1})), StateError, "kernel_size = [1, 0, 1]", "at least 1"),
      BAD_INPUT("Conv3d", Conv3d(Conv3dOptions(1, 1, 3).stride({1, 1, 2}).padding(kSame)), StateError, "kSame",
                "stride [1, 1, 2]"),
      BAD_INPUT("Conv3d", Conv3d(huge, huge, 3), ShapeError, "need more bytes", "check the sizes"),
      BAD_INPUT("ConvTranspose1d", ConvTranspose1d(1, 0, 3), StateError, "out_channels = 0", "at least 1"),
      BAD_INPUT("ConvTranspose1d", ConvTranspose1d(ConvTranspose1dOptions(1, 1, 3).output_padding(1)), StateError,
                "output_padding = [1]", "below stride = [1] or dilation = [1]"),
      BAD_INPUT("ConvTranspose2d", ConvTranspose2d(ConvTranspose2dOptions(4, 6, 3).groups(4)), StateError, "groups = 4",
                "out_channels = 6"),
      BAD_INPUT("ConvTranspose2d", ConvTranspose2d(ConvTranspose2dOptions(4, 6, 3).output_padding(-1)), StateError,
                "output_padding = [-1, -1]", "at least 0"),
      BAD_INPUT("ConvTranspose3d", ConvTranspose3d(ConvTranspose3dOptions(4, 6, 3).padding(-1)), StateError,
                "padding = [-1, -1, -1]", "at least 0"),
      BAD_INPUT("ExpandingArray", ConvTranspose3dOptions(4, 6, {3, 3}), StateError, "2 values", "give 3"),
      BAD_INPUT("Unfold", Unfold(0), StateError, "kernel_size = [0, 0]", "at least 1"),
      BAD_INPUT("Unfold", Unfold(UnfoldOptions(2).padding(-1)), StateError, "padding = [-1, -1]", "at least 0"),
      BAD_INPUT("Fold", Fold(FoldOptions({4, 0}, 2)), StateError, "output_size = [4, 0]", "at least 1"),
      BAD_INPUT("Fold", Fold(FoldOptions(4, 2).dilation(0)), StateError, "dilation = [0, 0]", "at least 1"),
      UNDEFINED("conv1d", Conv1d(3, 6, 3)(none)),
      UNDEFINED("conv3d", Conv3d(3, 6, 3)(none)),
      UNDEFINED("conv_transpose1d", ConvTranspose1d(3, 6, 3)(none)),
      UNDEFINED("conv_transpose2d", ConvTranspose2d(3, 6, 3)(none)),
      UNDEFINED("conv_transpose3d", ConvTranspose3d(3, 6, 3)(none)),
      UNDEFINED("unfold", Unfold(2)(none)),
      UNDEFINED("fold", Fold(4, 2)(none)),
  });
}

TEST(LayerErrors, RefusedBatchIsNotCounted) {
  nn::BatchNorm1d norm(3);
  EXPECT_THROWS(norm(ones({4, 5})), ShapeError, "batch_norm: ");
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 0);
  norm(ones({4, 3}));
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 1);
}

TEST(LayerErrors, OptionsOfLosses) {
  using namespace nn;
  const Tensor n = ones({3}, kLong), matrix = ones({2, 3});
  const auto none = static_cast<LossReduction>(7);
  using CrossEntropy = CrossEntropyLossOptions;
  using WithLogits = BCEWithLogitsLossOptions;
  expect_refused({
      BAD_INPUT("CrossEntropyLoss", CrossEntropyLoss(CrossEntropy().label_smoothing(2)), StateError,
                "label_smoothing = 2", "[0, 1]"),
      BAD_INPUT("CrossEntropyLoss", CrossEntropyLoss(CrossEntropy().label_smoothing(std::nan(""))), StateError,
                "label_smoothing = nan", "[0, 1]"),
      BAD_INPUT("CrossEntropyLoss", CrossEntropyLoss(CrossEntropy().reduction(none)), StateError, "reduction = 7",
                "Mean or Sum"),
      BAD_INPUT("CrossEntropyLoss", CrossEntropyLoss(CrossEntropy().weight(n)), DTypeError, "[3] i64", ".to(kFloat)"),
      BAD_INPUT("CrossEntropyLoss", CrossEntropyLoss(CrossEntropy().weight(matrix)), ShapeError, "[2, 3] f32",
                "[classes]"),
      BAD_INPUT("NLLLoss", NLLLoss(NLLLossOptions().reduction(none)), StateError, "reduction = 7", "Mean or Sum"),
      BAD_INPUT("NLLLoss", NLLLoss(NLLLossOptions().weight(matrix)), ShapeError, "[2, 3] f32", "[classes]"),
      BAD_INPUT("MSELoss", MSELoss(none), StateError, "reduction = 7", "Mean or Sum"),
      BAD_INPUT("BCELoss", BCELoss(BCELossOptions().reduction(none)), StateError, "reduction = 7", "Mean or Sum"),
      BAD_INPUT("BCELoss", BCELoss(BCELossOptions().weight(n)), DTypeError, "[3] i64", ".to(kFloat)"),
      BAD_INPUT("MaxPool1d", MaxPool1d(0), StateError, "kernel_size = [0]", "at least 1"),
      BAD_INPUT("MaxPool3d", MaxPool3d(MaxPool3dOptions(2).padding(2)), StateError, "padding = [2, 2, 2]", "half"),
      BAD_INPUT("AvgPool1d", AvgPool1d(AvgPool1dOptions(2).stride(0)), StateError, "stride = [0]", "at least 1"),
      BAD_INPUT("AvgPool3d", AvgPool3d(-1), StateError, "kernel_size = [-1, -1, -1]", "at least 1"),
      BAD_INPUT("AdaptiveAvgPool1d", AdaptiveAvgPool1d(0), StateError, "output_size has 0", "at least 1"),
      BAD_INPUT("AdaptiveAvgPool3d", AdaptiveAvgPool3d(0), StateError, "output_size has 0", "at least 1"),
      BAD_INPUT("AdaptiveMaxPool1d", AdaptiveMaxPool1d(0), StateError, "output_size has 0", "at least 1"),
      BAD_INPUT("AdaptiveMaxPool2d", AdaptiveMaxPool2d(0), StateError, "output_size has 0", "at least 1"),
      BAD_INPUT("AdaptiveMaxPool3d", AdaptiveMaxPool3d(0), StateError, "output_size has 0", "at least 1"),
      BAD_INPUT("LPPool1d", LPPool1d(LPPool1dOptions(0, 2)), StateError, "norm_type = 0"),
      BAD_INPUT("LPPool2d", LPPool2d(LPPool2dOptions(2, 0)), StateError, "kernel_size = [0, 0]"),
      BAD_INPUT("LPPool3d", LPPool3d(LPPool3dOptions(2, 0)), StateError, "kernel_size = [0, 0, 0]"),
      BAD_INPUT("Upsample",
                Upsample(UpsampleOptions().size(std::vector<int64_t>{2}).scale_factor(std::vector<double>{2})),
                StateError, "both size and scale_factor"),
      BAD_INPUT("L1Loss", L1Loss(none), StateError, "reduction = 7", "Mean or Sum"),
      BAD_INPUT("SmoothL1Loss", SmoothL1Loss(none), StateError, "reduction = 7", "Mean or Sum"),
      BAD_INPUT("SmoothL1Loss", SmoothL1Loss(SmoothL1LossOptions().beta(-1)), StateError, "beta = -1"),
      BAD_INPUT("HuberLoss", HuberLoss(HuberLossOptions().delta(0)), StateError, "delta = 0", "positive"),
      BAD_INPUT("HuberLoss", HuberLoss(none), StateError, "reduction = 7", "Mean or Sum"),
      BAD_INPUT("KLDivLoss", KLDivLoss(none), StateError, "reduction = 7", "Mean or Sum"),
      BAD_INPUT("PoissonNLLLoss", PoissonNLLLoss(PoissonNLLLossOptions().eps(-1)), StateError, "eps = -1"),
      BAD_INPUT("PoissonNLLLoss", PoissonNLLLoss(PoissonNLLLossOptions().reduction(none)), StateError, "reduction = 7"),
      BAD_INPUT("GaussianNLLLoss", GaussianNLLLoss(GaussianNLLLossOptions().eps(0)), StateError, "eps = 0"),
      BAD_INPUT("GaussianNLLLoss", GaussianNLLLoss(GaussianNLLLossOptions().reduction(none)), StateError,
                "reduction = 7"),
      BAD_INPUT("HingeEmbeddingLoss", HingeEmbeddingLoss(HingeEmbeddingLossOptions().reduction(none)), StateError,
                "reduction = 7"),
      BAD_INPUT("SoftMarginLoss", SoftMarginLoss(none), StateError, "reduction = 7"),
      BAD_INPUT("MultiLabelSoftMarginLoss", MultiLabelSoftMarginLoss(MultiLabelSoftMarginLossOptions().reduction(none)),
                StateError, "reduction = 7"),
      BAD_INPUT("MultiLabelSoftMarginLoss", MultiLabelSoftMarginLoss(MultiLabelSoftMarginLossOptions().weight(n)),
                DTypeError, "weight is [3] i64"),
      BAD_INPUT("MultiLabelMarginLoss", MultiLabelMarginLoss(none), StateError, "reduction = 7"),
      BAD_INPUT("MultiMarginLoss", MultiMarginLoss(MultiMarginLossOptions().p(3)), StateError, "p = 3", "1 or 2"),
      BAD_INPUT("MultiMarginLoss", MultiMarginLoss(MultiMarginLossOptions().weight(matrix)), ShapeError, "[2, 3] f32",
                "[classes]"),
      BAD_INPUT("MarginRankingLoss", MarginRankingLoss(MarginRankingLossOptions().reduction(none)), StateError,
                "reduction = 7"),
      BAD_INPUT("CosineEmbeddingLoss", CosineEmbeddingLoss(CosineEmbeddingLossOptions().reduction(none)), StateError,
                "reduction = 7"),
      BAD_INPUT("TripletMarginLoss", TripletMarginLoss(TripletMarginLossOptions().p(0)), StateError, "p = 0"),
      BAD_INPUT("TripletMarginWithDistanceLoss",
                TripletMarginWithDistanceLoss(TripletMarginWithDistanceLossOptions().reduction(none)), StateError,
                "reduction = 7"),
      BAD_INPUT("CTCLoss", CTCLoss(CTCLossOptions().blank(-1)), StateError, "blank = -1", "at least 0"),
      BAD_INPUT("CTCLoss", CTCLoss(CTCLossOptions().reduction(none)), StateError, "reduction = 7"),
      BAD_INPUT("BCEWithLogitsLoss", BCEWithLogitsLoss(WithLogits().reduction(none)), StateError, "reduction = 7"),
      BAD_INPUT("BCEWithLogitsLoss", BCEWithLogitsLoss(WithLogits().weight(n)), DTypeError, "weight is [3] i64"),
      BAD_INPUT("BCEWithLogitsLoss", BCEWithLogitsLoss(WithLogits().pos_weight(n)), DTypeError,
                "pos_weight is [3] i64"),
  });
}

TEST(LayerErrors, Losses) {
  using namespace nn;
  using CrossEntropy = CrossEntropyLossOptions;
  using WithLogits = BCEWithLogitsLossOptions;
  const Tensor far = on_another_device({2, 3});
  const Tensor none, x = full({2, 3}, 0.5), y = ones({5}), t = tensor({0, 2}), one = tensor({1});
  expect_refused({
      UNDEFINED("cross_entropy", CrossEntropyLoss()(none, t)),
      BAD_INPUT("cross_entropy", CrossEntropyLoss()(x, one), ShapeError, "[2, 3] f32", "must be [2]", "[1] i64"),
      BAD_INPUT("cross_entropy", CrossEntropyLoss(CrossEntropyLossOptions().weight(y))(x, t), ShapeError,
                "weight is [5] f32", "[3]"),
      ON_TWO_DEVICES("cross_entropy", CrossEntropyLoss(CrossEntropy().weight(on_another_device({3})))(x, t)),
      ON_TWO_DEVICES("cross_entropy", CrossEntropyLoss()(x, far)),
      ON_TWO_DEVICES("binary_cross_entropy", BCELoss(BCELossOptions().weight(far))(x, x)),
      ON_TWO_DEVICES("binary_cross_entropy_with_logits", BCEWithLogitsLoss(WithLogits().weight(far))(x, x)),
      ON_TWO_DEVICES("binary_cross_entropy_with_logits", BCEWithLogitsLoss(WithLogits().pos_weight(far))(x, x)),
      UNDEFINED("nll_loss", NLLLoss()(none, t)),
      BAD_INPUT("nll_loss", NLLLoss()(x, one), ShapeError, "[2, 3] f32", "must be [2]", "[1] i64"),
      UNDEFINED("mse_loss", MSELoss()(none, x)),
      BAD_INPUT("mse_loss", MSELoss()(x, y), ShapeError, "[2, 3]", "[5]", "equal or 1"),
      UNDEFINED("l1_loss", L1Loss()(none, x)),
      UNDEFINED("smooth_l1_loss", SmoothL1Loss()(none, x)),
      UNDEFINED("huber_loss", HuberLoss()(none, x)),
      UNDEFINED("kl_div", KLDivLoss()(none, x)),
      UNDEFINED("poisson_nll_loss", PoissonNLLLoss()(none, x)),
      UNDEFINED("gaussian_nll_loss", GaussianNLLLoss()(none, x, x)),
      UNDEFINED("hinge_embedding_loss", HingeEmbeddingLoss()(none, x)),
      UNDEFINED("soft_margin_loss", SoftMarginLoss()(none, x)),
      UNDEFINED("multilabel_soft_margin_loss", MultiLabelSoftMarginLoss()(none, x)),
      UNDEFINED("multilabel_margin_loss", MultiLabelMarginLoss()(none, x)),
      UNDEFINED("multi_margin_loss", MultiMarginLoss()(none, t)),
      UNDEFINED("margin_ranking_loss", MarginRankingLoss()(none, x, x)),
      UNDEFINED("cosine_embedding_loss", CosineEmbeddingLoss()(none, x, t)),
      UNDEFINED("triplet_margin_loss", TripletMarginLoss()(none, x, x)),
      UNDEFINED("triplet_margin_with_distance_loss", TripletMarginWithDistanceLoss()(none, x, x)),
      UNDEFINED("ctc_loss", CTCLoss()(none, t, t, t)),
      UNDEFINED("binary_cross_entropy", BCELoss()(none, x)),
      BAD_INPUT("binary_cross_entropy", BCELoss()(x, y), ShapeError, "[2, 3] f32", "[5] f32"),
      UNDEFINED("binary_cross_entropy_with_logits", BCEWithLogitsLoss()(none, x)),
      BAD_INPUT("binary_cross_entropy_with_logits", BCEWithLogitsLoss()(x, y), ShapeError, "[2, 3] f32", "[5] f32"),
  });
}

TEST(LayerErrors, Transformers) {
  using namespace nn;
  using Layer = TransformerEncoderLayerOptions;
  const Tensor none, x = ones({3, 2, 4});
  const TransformerEncoderLayer empty{nullptr};
  const activation_t::Function no_function;
  const Transformer small(TransformerOptions(4, 2, 1, 1).dim_feedforward(3));
  expect_refused({
      BAD_INPUT("MultiheadAttention", MultiheadAttention(0, 1), StateError, "embed_dim = 0", "at least 1"),
      BAD_INPUT("MultiheadAttention", MultiheadAttention(4, 3), StateError, "embed_dim = 4", "num_heads = 3"),
      BAD_INPUT("MultiheadAttention", MultiheadAttention(MultiheadAttentionOptions(4, 2).kdim(0)), StateError,
                "kdim = 0", "vdim = 4"),
      BAD_INPUT("MultiheadAttention", MultiheadAttention(MultiheadAttentionOptions(4, 2).dropout(2)), StateError,
                "dropout = 2", "[0, 1]"),
      BAD_INPUT("multi_head_attention_forward", MultiheadAttention(4, 2)(x, none, none), StateError,
                "key is an undefined tensor"),
      BAD_INPUT("TransformerEncoderLayer", TransformerEncoderLayer(4, 3), StateError, "d_model = 4", "nhead = 3"),
      BAD_INPUT("TransformerEncoderLayer", TransformerEncoderLayer(Layer(4, 2).dim_feedforward(-1)), StateError,
                "dim_feedforward = -1"),
      BAD_INPUT("TransformerEncoderLayer", TransformerEncoderLayer(Layer(4, 2).layer_norm_eps(-1)), StateError,
                "layer_norm_eps = -1"),
      BAD_INPUT("TransformerDecoderLayer", TransformerDecoderLayer(Layer(4, 2).dropout(-1)), StateError,
                "dropout = -1"),
      BAD_INPUT("activation", Layer(4, 2).activation(kTanh), StateError, "kReLU, kGELU or a function"),
      BAD_INPUT("activation", Layer(4, 2).activation(no_function), StateError, "the function is empty"),
      BAD_INPUT("TransformerEncoder", TransformerEncoder(TransformerEncoderOptions(Layer(4, 2), 0)), StateError,
                "num_layers = 0", "at least 1"),
      BAD_INPUT("TransformerEncoder", TransformerEncoder(empty, 1), StateError, "encoder_layer is empty"),
      BAD_INPUT("TransformerDecoder", TransformerDecoder(TransformerDecoderOptions(Layer(4, 2), -1)), StateError,
                "num_layers = -1"),
      BAD_INPUT("Transformer", small(none, x), StateError, "src is an undefined tensor"),
      BAD_INPUT("Transformer", small(x, ones({3, 1, 4})), ShapeError, "src [3, 2, 4]", "tgt [3, 1, 4]", "batch"),
      BAD_INPUT("Transformer", small(x, ones({3, 4})), ShapeError, "[L, N, E] or [L, E]"),
      BAD_INPUT("Transformer", small(ones({3, 2, 6}), ones({3, 2, 6})), ShapeError, "d_model = 4"),
      BAD_INPUT("generate_square_subsequent_mask", Transformer::Impl::generate_square_subsequent_mask(-1), StateError,
                "size = -1"),
  });
}

}  // namespace
}  // namespace tandem::testing
