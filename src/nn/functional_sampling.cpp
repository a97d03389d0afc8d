// nn::functional: embeddings and bags of them, grids, unpooling, fractional pooling, and other layers that call one op.
#include <cmath>

#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

EmbeddingBagMode::EmbeddingBagMode(LossReduction reduction) : mode(reduction == kSum ? BagMode::Sum : BagMode::Mean) {
  const OpScope op("EmbeddingBagMode");
  TANDEM_CHECK(reduction == kSum || reduction == kMean, StateError, "mode = {}; it must be kSum, kMean or kMax",
               static_cast<int>(reduction));
}

namespace functional {
namespace {

/// The sizes of the result of unpooling; Source: torch.nn.functional._unpool_output_size.
template <size_t D>
Dims unpooled_sizes(const Tensor& input, const MaxUnpoolFuncOptions<D>& o) {
  checks::defined("x", input);
  TANDEM_CHECK(input.dim() > static_cast<int64_t>(D), ShapeError, "x is {}, but must have {} dimensions or more",
               checks::show(input), D + 1);
  Dims sizes;
  for (size_t d = 0; d < D; ++d) {
    const int64_t size = input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D));
    const Checked smallest =
        (Checked(size) - 1) * (*o.stride())[d] + (*o.kernel_size())[d] - Checked((*o.padding())[d]) * 2;
    TANDEM_CHECK(smallest.value().has_value(), ShapeError, "the result for x {} is too large", checks::show(input));
    sizes.push_back(*smallest.value());
  }
  if (!o.output_size()) return sizes;
  const std::vector<int64_t>& wanted = *o.output_size();
  TANDEM_CHECK(wanted.size() == D || wanted.size() == D + 2, ShapeError,
               "output_size = {} has {} entries, but must have {} or {}", to_string(wanted), wanted.size(), D, D + 2);
  for (size_t d = 0; d < D; ++d) {
    const int64_t size = wanted[wanted.size() - D + d], stride = (*o.stride())[d];
    TANDEM_CHECK(size > sizes[d] - stride && size < sizes[d] + stride, ShapeError,
                 "output_size = {}, but entry {} must be between {} and {} for x {}", to_string(wanted), d,
                 sizes[d] - stride, sizes[d] + stride, checks::show(input));
    sizes[d] = size;
  }
  return sizes;
}

/// Returns padding_idx as the ops want it: not negative, or -1 for none. Limits the norms of the rows that are looked
/// up.
template <class Options>
int64_t prepare_table(const Tensor& input, const Tensor& weight, const Options& o) {
  int64_t padding_idx = -1;
  if (o.padding_idx()) {
    checks::defined("weight", weight);
    const int64_t rows = weight.dim() == 0 ? 0 : weight.size(0), index = *o.padding_idx();
    TANDEM_CHECK(index >= -rows && index < rows, IndexError,
                 "padding_idx = {} is not a row of a table of {}; use one in [{}, {}]", index,
                 to_string(weight.sizes()), -rows, rows - 1);
    padding_idx = index < 0 ? index + rows : index;
  }
  if (o.max_norm()) embedding_renorm_(weight, input, *o.max_norm(), o.norm_type());
  return padding_idx;
}

/// fractional_max_pool of D dimensions, with the sizes and random numbers that the options lack.
template <size_t D, class Pool>
std::tuple<Tensor, Tensor> fractional_pool(const Tensor& input, const FractionalMaxPoolOptions<D>& o, Pool pool) {
  checks::floating("x", input);
  constexpr auto dims = static_cast<int64_t>(D);
  TANDEM_CHECK(input.dim() == dims + 1 || input.dim() == dims + 2, ShapeError,
               "x is {}, but must have {} or {} dimensions", checks::show(input), D + 1, D + 2);
  TANDEM_CHECK(o.output_size().has_value() != o.output_ratio().has_value(), StateError,
               "{} of output_size and output_ratio are given; give one of them", o.output_size() ? "both" : "none");
  ExpandingArray<D> sizes = o.output_size().value_or(ExpandingArray<D>(0));
  if (o.output_ratio()) {
    for (size_t d = 0; d < D; ++d) {
      const double ratio = (**o.output_ratio())[d];
      TANDEM_CHECK(ratio > 0 && ratio < 1, StateError, "output_ratio contains {}, but must be between 0 and 1", ratio);
      (*sizes)[d] = static_cast<int64_t>(static_cast<double>(input.size(static_cast<int64_t>(d) - dims)) * ratio);
    }
  }
  Tensor samples = o._random_samples();
  if (!samples.defined()) {
    const int64_t batch = input.dim() == dims + 1 ? 1 : input.size(0);
    samples = rand({batch, input.size(-dims - 1), dims}, TensorOptions(input.dtype()).device(input.device()));
  }
  return pool(input, o.kernel_size(), sizes, samples);
}

/// Overwrites the input with the result if `inplace`.
Tensor placed(const Tensor& input, Tensor y, bool inplace) { return inplace && !y.is_same(input) ? input.copy_(y) : y; }

/// feature_dropout of [N, C, ...], or of [C, ...] with `unbatched` dimensions.
Tensor channel_dropout(const Tensor& input, int64_t unbatched, double p, bool training) {
  if (!input.defined() || input.dim() != unbatched) return feature_dropout(input, p, training);
  return squeeze(feature_dropout(unsqueeze(input, 0), p, training), 0);
}

}  // namespace

Tensor dropout1d(const Tensor& input, const Dropout1dFuncOptions& o) {
  const OpScope op("dropout1d");
  TANDEM_CHECK(!input.defined() || input.dim() == 2 || input.dim() == 3, ShapeError,
               "input is {}, but must be [N, C, L] or [C, L]", checks::show(input));
  return placed(input, channel_dropout(input, 2, o.p(), o.training()), o.inplace());
}
Tensor dropout2d(const Tensor& input, const Dropout2dFuncOptions& o) {
  const OpScope op("dropout2d");
  return placed(input, feature_dropout(input, o.p(), o.training()), o.inplace());
}
Tensor dropout3d(const Tensor& input, const Dropout3dFuncOptions& o) {
  const OpScope op("dropout3d");
  return placed(input, channel_dropout(input, 4, o.p(), o.training()), o.inplace());
}
Tensor alpha_dropout(const Tensor& input, const AlphaDropoutFuncOptions& o) {
  const OpScope op("alpha_dropout");
  return placed(input, tandem::alpha_dropout(input, o.p(), o.training()), o.inplace());
}
Tensor feature_alpha_dropout(const Tensor& input, const FeatureAlphaDropoutFuncOptions& o) {
  const OpScope op("feature_alpha_dropout");
  return placed(input, tandem::feature_alpha_dropout(input, o.p(), o.training()), o.inplace());
}

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& o) {
  return tandem::instance_norm(input, o.weight(), o.bias(), o.running_mean(), o.running_var(), o.use_input_stats(),
                               o.momentum(), o.eps());
}
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& o) {
  return tandem::group_norm(input, o.num_groups(), o.weight(), o.bias(), o.eps());
}
Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& o) {
  return tandem::rms_norm(input, o.normalized_shape(), o.weight(), o.eps());
}
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& o) {
  return tandem::local_response_norm(input, o.size(), o.alpha(), o.beta(), o.k());
}
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& o) {
  const OpScope op("normalize");
  checks::floating("input", input);
  const Tensor length = norm(input, o.p(), {o.dim()}, true);
  return div(input, clamp_min(length, o.eps()));
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& o) {
  const OpScope op("embedding");
  const int64_t padding_idx = prepare_table(input, weight, o);
  return tandem::embedding(weight, input, padding_idx, o.scale_grad_by_freq());
}

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& o) {
  const OpScope op("embedding_bag");
  const int64_t padding_idx = prepare_table(input, weight, o);
  return tandem::embedding_bag(weight, input, o.offsets(), o.mode().mode, o.per_sample_weights(),
                               o.include_last_offset(), padding_idx, o.scale_grad_by_freq());
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& o) {
  const OpScope op("grid_sample");
  TANDEM_CHECK(o.mode() == kBilinear || o.mode() == kNearest || o.mode() == kBicubic, StateError,
               "mode = {}; it must be kBilinear, kNearest or kBicubic", static_cast<int>(o.mode()));
  const int64_t mode = o.mode() == kBilinear ? 0 : o.mode() == kNearest ? 1 : 2;
  return grid_sampler(input, grid, mode, static_cast<int64_t>(o.padding_mode()), o.align_corners().value_or(false));
}

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  const OpScope op("affine_grid");
  return affine_grid_generator(theta, size, align_corners);
}

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& o) {
  const OpScope op("max_unpool1d");
  const Dims sizes = unpooled_sizes(input, o);
  checks::defined("indices", indices);
  TANDEM_CHECK(indices.dim() == input.dim(), ShapeError, "indices is {}, but must have the sizes of x {}",
               checks::show(indices), checks::show(input));
  return squeeze(tandem::max_unpool2d(unsqueeze(input, -1), unsqueeze(indices, -1), {sizes[0], 1}), -1);
}
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& o) {
  const OpScope op("max_unpool2d");
  return tandem::max_unpool2d(input, indices, unpooled_sizes(input, o));
}
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const MaxUnpool3dFuncOptions& o) {
  const OpScope op("max_unpool3d");
  return tandem::max_unpool3d(input, indices, unpooled_sizes(input, o));
}

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool2dFuncOptions& o) {
  const OpScope op("fractional_max_pool2d");
  return fractional_pool(input, o, tandem::fractional_max_pool2d);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool3dFuncOptions& o) {
  const OpScope op("fractional_max_pool3d");
  return fractional_pool(input, o, tandem::fractional_max_pool3d);
}
Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& o) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, o));
}
Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& o) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, o));
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  return tandem::bilinear(input1, input2, weight, bias);
}
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& o) {
  return tandem::cosine_similarity(x1, x2, o.dim(), o.eps());
}
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& o) {
  return tandem::pairwise_distance(x1, x2, o.p(), o.eps(), o.keepdim());
}
Tensor pdist(const Tensor& input, double p) { return tandem::pdist(input, p); }
Tensor one_hot(const Tensor& tensor, int64_t num_classes) { return tandem::one_hot(tensor, num_classes); }
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& o) {
  return tandem::pixel_shuffle(input, o.upscale_factor());
}
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& o) {
  return tandem::pixel_unshuffle(input, o.downscale_factor());
}

}  // namespace functional
}  // namespace tandem::nn
