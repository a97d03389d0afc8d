#pragma once
// nn::functional: layers without state, with libtorch's signatures: tensors, then one options object. The declarations
// in tandem/ops/ document accepted arguments and exceptions.
#include <tuple>

#include "tandem/nn/options/activation.h"
#include "tandem/nn/options/conv.h"
#include "tandem/nn/options/distance.h"
#include "tandem/nn/options/dropout.h"
#include "tandem/nn/options/embedding.h"
#include "tandem/nn/options/fold.h"
#include "tandem/nn/options/linear.h"
#include "tandem/nn/options/loss.h"
#include "tandem/nn/options/multihead_attention.h"
#include "tandem/nn/options/norm.h"
#include "tandem/nn/options/padding.h"
#include "tandem/nn/options/pixelshuffle.h"
#include "tandem/nn/options/pool.h"
#include "tandem/nn/options/upsampling.h"
#include "tandem/nn/options/vision.h"

#pragma GCC visibility push(default)
namespace tandem::nn::functional {

// ---- activations
/// max(input, 0); `inplace` overwrites the input.
Tensor relu(const Tensor& input, const ReLUFuncOptions& options = {});
/// input Phi(input), or the tanh approximation.
Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
/// 1 / (1 + e^-input)
Tensor sigmoid(const Tensor& input);
/// The hyperbolic tangent.
Tensor tanh(const Tensor& input);
/// Softmax along the options' dimension, and its logarithm.
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);
/// The activations below are those of tandem/ops/activation.h; `inplace` overwrites the input.
Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& options = {});
Tensor elu(const Tensor& input, const ELUFuncOptions& options = {});
Tensor celu(const Tensor& input, const CELUFuncOptions& options = {});
Tensor selu(const Tensor& input, const SELUFuncOptions& options = {});
Tensor silu(const Tensor& input, const SiLUFuncOptions& options = {});
Tensor mish(const Tensor& input, const MishFuncOptions& options = {});
Tensor relu6(const Tensor& input, const ReLU6FuncOptions& options = {});
Tensor rrelu(const Tensor& input, const RReLUFuncOptions& options = {});
Tensor prelu(const Tensor& input, const Tensor& weight);
Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& options = {});
Tensor hardsigmoid(const Tensor& input, const HardsigmoidFuncOptions& options = {});
Tensor hardswish(const Tensor& input, const HardswishFuncOptions& options = {});
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options = {});
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options = {});
Tensor tanhshrink(const Tensor& input);
Tensor softsign(const Tensor& input);
Tensor logsigmoid(const Tensor& input);
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
Tensor threshold(const Tensor& input, const ThresholdFuncOptions& options);
Tensor glu(const Tensor& input, const GLUFuncOptions& options = {});
Tensor softmin(const Tensor& input, const SoftminFuncOptions& options);
Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options = {});

// ---- layers
/// input weight^T + bias; [..., in] and [out, in] -> [..., out]
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
/// input: [N, C, H, W] or [C, H, W]. kSame with a stride other than 1 throws StateError.
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {});
/// input: [N, C, L] or [C, L].
Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {});
/// input: [N, C, D, H, W] or [C, D, H, W].
Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options = {});
/// The gradient of the convolution with the same weight: [C_in, C_out / groups, ...]. Sizes of `input` as above.
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const ConvTranspose1dFuncOptions& options = {});
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& options = {});
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const ConvTranspose3dFuncOptions& options = {});
/// The blocks of each image as columns: [N, C, H, W] -> [N, C KH KW, OH OW].
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);
/// Images from columns, of which overlapping ones are summed: [N, C KH KW, OH OW] -> [N, C, H, W].
Tensor fold(const Tensor& input, const FoldFuncOptions& options);
/// Largest values or means of windows (tandem/ops/pool.h, pool_nd.h); `adaptive_` forms take the result's sizes.
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options);
Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options);
Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& options);
/// Values, and i64 indices among the elements of each channel.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input, const MaxPool3dFuncOptions& options);
/// Means of windows, or largest values with the result's sizes.
Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options);
Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& options);
Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options);
Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& options);
Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options);
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options);
Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& options);
/// Values, and i64 indices as above.
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool3dFuncOptions& options);
/// (sum of x^p over each window)^(1/p)
Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options);
Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options);
Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options);
/// Resizes [N, C, L], [N, C, H, W] or [N, C, D, H, W] to a size, or by a factor. Throws StateError for a mode that does
/// not fit the rank.
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});
/// In training, zeroes elements with probability p and scales the others by 1 / (1 - p).
Tensor dropout(const Tensor& input, const DropoutFuncOptions& options = {});
/// The same for whole channels; input: [N, C, ...].
Tensor dropout1d(const Tensor& input, const Dropout1dFuncOptions& options = {});
Tensor dropout2d(const Tensor& input, const Dropout2dFuncOptions& options = {});
Tensor dropout3d(const Tensor& input, const Dropout3dFuncOptions& options = {});
/// Dropout for networks with selu: of elements, or of whole channels.
Tensor alpha_dropout(const Tensor& input, const AlphaDropoutFuncOptions& options = {});
Tensor feature_alpha_dropout(const Tensor& input, const FeatureAlphaDropoutFuncOptions& options = {});
/// running_mean and running_var (both or neither) are updated in training.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options = {});
/// Normalises over the last dimensions; see tandem/ops/norm_layers.h.
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
/// The normalisations below are those of tandem/ops/group_norm.h and rms_norm.h.
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options);
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options);
/// input / max(norm, eps), with the norm of order p along `dim`.
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {});
/// Returns the rows of `weight` with the given indices. Throws IndexError if padding_idx is not a row.
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {});
/// Returns the output, of query's sizes, and the weights, [N, L, S] or, not averaged, [N, heads, L, S]; weights are
/// undefined without need_weights, and no [L, S] matrix is stored then. query: [L, N, E] or [L, E]; key and value: [S,
/// N, ...] or [S, ...]. The masks are merged without a dimension of heads unless attn_mask has one. With need_weights,
/// a query whose keys are all masked gives NaN, as in PyTorch; else it gives 0 before the last projection. Throws
/// ShapeError, DTypeError or StateError for inputs or options that do not fit.
std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& options);
/// Sums, means or maxima of rows of `weight`: input holds their indices.
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options = {});
/// The values of `input` at the positions in `grid`, and the positions of an affine map (tandem/ops/grid_sample.h).
Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options = {});
Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);
/// The reverse of max pooling: zeros, with the elements of `input` at the places that pooling found.
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& options);
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& options);
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const MaxUnpool3dFuncOptions& options);
/// Max pooling with windows at random places, to a given size.
Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options);
Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& options);
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool3dFuncOptions& options);
/// x1 weight x2 + bias for each output feature.
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});
/// Similarity or distance of corresponding rows (tandem/ops/distance.h).
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options = {});
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options = {});
/// The distances of all pairs of rows of [n, m], in row-major order: [n (n - 1) / 2].
Tensor pdist(const Tensor& input, double p = 2.0);
/// One vector of 0 and 1 per class: [...] -> [..., num_classes]; -1 means the largest class plus 1.
Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);
/// Rearranges channels into pixels, and back.
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);
/// Adds entries around the last dimensions, or removes them if the numbers are negative.
Tensor pad(const Tensor& input, const PadFuncOptions& options);

// ---- losses
/// input: logits [N, C, ...]; target: classes, or probabilities.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options = {});
/// input: log-probabilities [N, C, ...]; target: classes.
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options = {});
/// (input - target)^2, reduced.
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options = {});
/// input: probabilities. Throws StateError under autocast.
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options = {});
/// input: logits.
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options = {});
/// |input - target|, reduced, also in the form that is quadratic near 0.
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options = {});
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options = {});
/// `beta` takes precedence over the options' value, which must not be set.
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options, double beta);
/// Quadratic near 0 and linear beyond `delta`.
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options = {});
/// input: log-probabilities.
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options = {});
/// Negative log likelihood of a Poisson or a normal distribution (tandem/ops/pointwise_loss.h).
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& options = {});
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLLossFuncOptions& options = {});
/// input: distances; target: 1 or -1.
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            const HingeEmbeddingLossFuncOptions& options = {});
/// target: 1 or -1.
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& options = {});
/// input: logits; target: probabilities of the input's sizes.
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options = {});
/// target: the classes of each sample, ended by a negative number.
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options = {});
/// target: classes.
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& options = {});
/// target: 1 if input1 should be larger, else -1.
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options = {});
/// target: 1 if the inputs should be similar, else -1.
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options = {});
/// Makes anchors closer to positives than to negatives by a margin (tandem/ops/margin_loss.h).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options = {});
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options = {});
/// log_probs: [T, N, C] or [T, C], results of log_softmax.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options = {});

}  // namespace tandem::nn::functional
#pragma GCC visibility pop
