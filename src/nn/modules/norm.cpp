#include "tandem/nn/modules/norm.h"

#include "src/nn/checks-inl.h"
#include "src/nn/text-inl.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

BatchNormImplBase::BatchNormImplBase(const BatchNormOptions& o, const char* type) : options(o), type_(type) { reset(); }

void BatchNormImplBase::reset() {
  const OpScope op(type_);
  const int64_t n = options.num_features();
  TANDEM_CHECK(n > 0, StateError, "num_features = {}; it must be at least 1", n);
  checks::not_negative("eps", options.eps());
  if (options.momentum()) checks::not_negative("momentum", *options.momentum());
  const bool affine = options.affine(), track = options.track_running_stats();
  const Tensor w = affine ? empty({n}) : Tensor(), b = affine ? empty({n}) : Tensor();
  const Tensor mean = track ? zeros({n}) : Tensor(), var = track ? ones({n}) : Tensor();
  parameters_.clear();
  buffers_.clear();
  weight = register_parameter("weight", w);
  bias = register_parameter("bias", b);
  running_mean = register_buffer("running_mean", mean);
  running_var = register_buffer("running_var", var);
  num_batches_tracked = register_buffer("num_batches_tracked", track ? zeros({}, kLong) : Tensor());
  reset_parameters();
}

void BatchNormImplBase::reset_running_stats() {
  if (!options.track_running_stats()) return;
  init::zeros_(running_mean);
  init::ones_(running_var);
  init::zeros_(num_batches_tracked);
}

void BatchNormImplBase::reset_parameters() {
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
  const Tensor y = functional::batch_norm(input, running_mean, running_var,
                                          functional::BatchNormFuncOptions()
                                              .weight(weight)
                                              .bias(bias)
                                              .training(is_training() || !running_mean.defined())
                                              .momentum(momentum)
                                              .eps(options.eps()));
  if (counts) {
    NoGradGuard no_grad;
    num_batches_tracked.add_(1);
  }
  return y;
}

void BatchNormImplBase::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::{}({}, eps={}, momentum={}, affine={}, track_running_stats={})", type_,
        options.num_features(), options.eps(),
        options.momentum() ? fmt::format("{}", *options.momentum()) : std::string("None"), options.affine(),
        options.track_running_stats());
}

void BatchNorm1dImpl::check_input_dim(const Tensor& input) const {
  TANDEM_CHECK(input.dim() == 2 || input.dim() == 3, ShapeError, "the input is {}; it must be [N, C] or [N, C, L]",
               checks::show(input));
}

void BatchNorm2dImpl::check_input_dim(const Tensor& input) const {
  TANDEM_CHECK(input.dim() == 4, ShapeError, "the input is {}; it must be [N, C, H, W]", checks::show(input));
}

LayerNormImpl::LayerNormImpl(LayerNormOptions o) : options(std::move(o)) { reset(); }

void LayerNormImpl::reset() {
  const OpScope op("LayerNorm");
  TANDEM_CHECK(!options.normalized_shape().empty(), StateError,
               "normalized_shape is empty; give the sizes of the last dimensions");
  for (int64_t size : options.normalized_shape()) {
    TANDEM_CHECK(size >= 0, StateError, "normalized_shape = {}; each size must be at least 0",
                 to_string(options.normalized_shape()));
  }
  checks::not_negative("eps", options.eps());
  const bool affine = options.elementwise_affine();
  const Tensor w = affine ? tandem::empty(options.normalized_shape()) : Tensor();
  const Tensor b = affine ? tandem::empty(options.normalized_shape()) : Tensor();
  parameters_.clear();
  weight = register_parameter("weight", w);
  bias = register_parameter("bias", b);
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
