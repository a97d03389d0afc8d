#include "tandem/nn/modules/norm.h"

#include <algorithm>

#include "src/nn/checks-inl.h"
#include "src/nn/define-inl.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

namespace {

void check_momentum(std::optional<double> momentum) {
  if (momentum) checks::not_negative("momentum", *momentum);
}

void check_normalized_shape(const std::vector<int64_t>& shape) {
  TANDEM_CHECK(!shape.empty(), StateError, "normalized_shape is empty; give the sizes of the last dimensions");
  for (int64_t size : shape) {
    TANDEM_CHECK(size >= 0, StateError, "normalized_shape = {}; each size must be at least 0", to_string(shape));
  }
}

void check_channels(int64_t size) { TANDEM_CHECK(size >= 1, StateError, "size = {}; it must be at least 1", size); }

}  // namespace

template <class Options>
NormImplBase<Options>::NormImplBase(const Options& o, const char* type) : options(o), type_(type) {
  reset();
}

template <class Options>
void NormImplBase<Options>::reset() {
  const OpScope op(type_);
  const int64_t n = options.num_features();
  TANDEM_CHECK(n > 0, StateError, "num_features = {}; it must be at least 1", n);
  checks::not_negative("eps", options.eps());
  check_momentum(options.momentum());
  const bool affine = options.affine(), track = options.track_running_stats();
  const Tensor w = affine ? empty({n}) : Tensor(), b = affine ? empty({n}) : Tensor();
  const Tensor mean = track ? zeros({n}) : Tensor(), var = track ? ones({n}) : Tensor();
  parameters_.clear();
  buffers_.clear();
  register_parameter(weight, "weight", w);
  register_parameter(bias, "bias", b);
  register_buffer(running_mean, "running_mean", mean);
  register_buffer(running_var, "running_var", var);
  register_buffer(num_batches_tracked, "num_batches_tracked", track ? zeros({}, kLong) : Tensor());
  reset_parameters();
}

template <class Options>
void NormImplBase<Options>::reset_running_stats() {
  if (!options.track_running_stats()) return;
  init::zeros_(running_mean);
  init::ones_(running_var);
  init::zeros_(num_batches_tracked);
}

template <class Options>
void NormImplBase<Options>::reset_parameters() {
  reset_running_stats();
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

Tensor BatchNormImplBase::forward(const Tensor& input) {
  {
    const OpScope op(type_);
    checks::defined("the input", input);
    check_input_dim(input);
  }
  const bool counts = is_training() && num_batches_tracked.defined();
  double momentum = options.momentum().value_or(0.0);
  if (counts && !options.momentum()) momentum = 1 / (num_batches_tracked.item<double>() + 1);
  const bool training = is_training() || !running_mean.defined();
  const Tensor y =
      is_training() && training_function_
          ? training_function_(input, weight, bias, running_mean, running_var, momentum, options.eps())
          : functional::batch_norm(
                input, running_mean, running_var,
                functional::BatchNormFuncOptions().weight(weight).bias(bias).training(training).momentum(momentum).eps(
                    options.eps()));
  if (counts) {
    NoGradGuard no_grad;
    num_batches_tracked.add_(1);
  }
  return y;
}

template <class Options>
void NormImplBase<Options>::pretty_print(std::ostream& stream) const {
  Description(stream, type_)
      .value(options.num_features())
      .field("eps", options.eps())
      .field("momentum", options.momentum())
      .field("affine", options.affine())
      .field("track_running_stats", options.track_running_stats());
}

template class NormImplBase<BatchNormOptions>;
template class NormImplBase<InstanceNormOptions>;

BatchNorm1dImpl::BatchNorm1dImpl(const BatchNormOptions& options_) : Cloneable(options_, "BatchNorm1d") {}

void BatchNorm1dImpl::check_input_dim(const Tensor& input) const {
  TANDEM_CHECK(input.dim() == 2 || input.dim() == 3, ShapeError, "the input is {}; it must be [N, C] or [N, C, L]",
               checks::show(input));
}

BatchNorm2dImpl::BatchNorm2dImpl(const BatchNormOptions& options_) : Cloneable(options_, "BatchNorm2d") {}

void BatchNorm2dImpl::check_input_dim(const Tensor& input) const {
  TANDEM_CHECK(input.dim() == 4, ShapeError, "the input is {}; it must be [N, C, H, W]", checks::show(input));
}

BatchNorm3dImpl::BatchNorm3dImpl(const BatchNormOptions& options_) : Cloneable(options_, "BatchNorm3d") {}

InstanceNorm1dImpl::InstanceNorm1dImpl(const InstanceNormOptions& options_)
    : Cloneable(options_, "InstanceNorm1d", "L") {}

InstanceNorm2dImpl::InstanceNorm2dImpl(const InstanceNormOptions& options_)
    : Cloneable(options_, "InstanceNorm2d", "H, W") {}

InstanceNorm3dImpl::InstanceNorm3dImpl(const InstanceNormOptions& options_)
    : Cloneable(options_, "InstanceNorm3d", "D, H, W") {}

void BatchNorm3dImpl::check_input_dim(const Tensor& input) const {
  TANDEM_CHECK(input.dim() == 5, ShapeError, "the input is {}; it must be [N, C, D, H, W]", checks::show(input));
}

int64_t InstanceNormImplBase::unbatched_rank() const { return 2 + std::ranges::count(sizes_, ','); }

Tensor InstanceNormImplBase::forward(const Tensor& input) {
  {
    const OpScope op(type_);
    checks::defined("the input", input);
    check_input_dim(input);
  }
  const bool batched = input.dim() == unbatched_rank() + 1;
  const Tensor y = functional::instance_norm(batched ? input : input.unsqueeze(0),
                                             functional::InstanceNormFuncOptions()
                                                 .running_mean(running_mean)
                                                 .running_var(running_var)
                                                 .weight(weight)
                                                 .bias(bias)
                                                 .use_input_stats(is_training() || !running_mean.defined())
                                                 .momentum(options.momentum())
                                                 .eps(options.eps()));
  return batched ? y : y.squeeze(0);
}

void InstanceNormImplBase::check_input_dim(const Tensor& input) const {
  const int64_t rank = unbatched_rank();
  TANDEM_CHECK(input.dim() == rank || input.dim() == rank + 1, ShapeError,
               "the input is {}; it must be [N, C, {}] or [C, {}]", checks::show(input), sizes_, sizes_);
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& o) : options(o) { reset(); }

GroupNormImpl::GroupNormImpl(int64_t num_groups, int64_t num_channels)
    : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}

void GroupNormImpl::reset() {
  const OpScope op("GroupNorm");
  const int64_t groups = options.num_groups(), channels = options.num_channels();
  TANDEM_CHECK(groups >= 1 && channels >= 1 && channels % groups == 0, StateError,
               "num_groups = {}, num_channels = {}; both must be at least 1, and num_groups must divide num_channels",
               groups, channels);
  checks::not_negative("eps", options.eps());
  const Tensor w = options.affine() ? empty({channels}) : Tensor(), b = options.affine() ? empty({channels}) : Tensor();
  parameters_.clear();
  register_parameter(weight, "weight", w);
  register_parameter(bias, "bias", b);
  reset_parameters();
}

void GroupNormImpl::reset_parameters() {
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

Tensor GroupNormImpl::forward(const Tensor& input) {
  return functional::group_norm(
      input, functional::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}

void GroupNormImpl::pretty_print(std::ostream& stream) const {
  Description(stream, "GroupNorm")
      .value(options.num_groups())
      .value(options.num_channels())
      .field("eps", options.eps())
      .field("affine", options.affine());
}

RMSNormImpl::RMSNormImpl(RMSNormOptions o) : options(std::move(o)) { reset(); }

RMSNormImpl::RMSNormImpl(std::vector<int64_t> normalized_shape)
    : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}

void RMSNormImpl::reset() {
  const OpScope op("RMSNorm");
  check_normalized_shape(options.normalized_shape());
  if (options.eps()) checks::not_negative("eps", *options.eps());
  const Tensor w = options.elementwise_affine() ? tandem::empty(options.normalized_shape()) : Tensor();
  parameters_.clear();
  register_parameter(weight, "weight", w);
  reset_parameters();
}

void RMSNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
}

Tensor RMSNormImpl::forward(const Tensor& input) {
  return functional::rms_norm(
      input, functional::RMSNormFuncOptions(options.normalized_shape()).weight(weight).eps(options.eps()));
}

void RMSNormImpl::pretty_print(std::ostream& stream) const {
  Description(stream, "RMSNorm")
      .value(options.normalized_shape())
      .field("eps", options.eps())
      .field("elementwise_affine", options.elementwise_affine());
}

TANDEM_DEFINE_MODULE(
    LocalResponseNorm, functional::local_response_norm(input, options),
    .value(options.size()).field("alpha", options.alpha()).field("beta", options.beta()).field("k", options.k()),
    check_channels(options.size()))

void CrossMapLRN2dImpl::reset() {
  const OpScope op("CrossMapLRN2d");
  check_channels(options.size());
}

Tensor CrossMapLRN2dImpl::forward(const Tensor& input) {
  const OpScope op("CrossMapLRN2d");
  checks::floating("the input", input);
  TANDEM_CHECK(input.dim() == 4, ShapeError, "the input is {}; it must be [N, C, H, W]", checks::show(input));
  if (input.numel() == 0) return input.clone();
  const int64_t reach = (options.size() - 1) / 2, channels = input.size(1);
  const Tensor squares = square(input);
  // Sums over channels as means of rows: the channels become the rows of an image.
  const Tensor rows = reshape(squares, {input.size(0), 1, channels, input.size(2) * input.size(3)});
  Tensor sums = reshape(tandem::avg_pool2d(rows, {2 * reach + 1, 1}, {1, 1}, {reach, 0}), input.sizes());
  sums = mul(sums, 2 * reach + 1);
  if (channels > reach + 1) {
    const Tensor first =
        expand(narrow(squares, 1, 0, 1), {input.size(0), channels - reach - 1, input.size(2), input.size(3)});
    sums = cat({narrow(sums, 1, 0, reach + 1), add(narrow(sums, 1, reach + 1, channels - reach - 1), first)}, 1);
  }
  const Tensor scale = add(mul(sums, options.alpha() / static_cast<double>(options.size())), options.k());
  return mul(input, pow(scale, -options.beta()));
}

void CrossMapLRN2dImpl::pretty_print(std::ostream& stream) const {
  Description(stream, "CrossMapLRN2d")
      .value(options.size())
      .field("alpha", options.alpha())
      .field("beta", options.beta())
      .field("k", options.k());
}

LayerNormImpl::LayerNormImpl(LayerNormOptions o) : options(std::move(o)) { reset(); }

LayerNormImpl::LayerNormImpl(std::vector<int64_t> normalized_shape)
    : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}

void LayerNormImpl::reset() {
  const OpScope op("LayerNorm");
  check_normalized_shape(options.normalized_shape());
  checks::not_negative("eps", options.eps());
  const bool affine = options.elementwise_affine();
  const Tensor w = affine ? tandem::empty(options.normalized_shape()) : Tensor();
  const Tensor b = affine ? tandem::empty(options.normalized_shape()) : Tensor();
  parameters_.clear();
  register_parameter(weight, "weight", w);
  register_parameter(bias, "bias", b);
  reset_parameters();
}

void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}

Tensor LayerNormImpl::forward(const Tensor& input) {
  return functional::layer_norm(
      input, functional::LayerNormFuncOptions(options.normalized_shape()).weight(weight).bias(bias).eps(options.eps()));
}

void LayerNormImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::LayerNorm({}, eps={}, elementwise_affine={})", to_string(options.normalized_shape()),
        options.eps(), options.elementwise_affine());
}

}  // namespace tandem::nn
