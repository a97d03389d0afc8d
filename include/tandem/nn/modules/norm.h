#pragma once
// BatchNorm1d, BatchNorm2d, LayerNorm.
#include "tandem/nn/module.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// What the batch norms share. Buffers: running_mean, running_var ([C], f32) and num_batches_tracked (i64).
/// In training the batch's statistics normalise, and the running ones are updated with weight `momentum`; in eval mode
/// the running ones normalise. With momentum nullopt each training step reads num_batches_tracked, which on CUDA waits.
class BatchNormImplBase : public Module {
 public:
  /// `type` ("BatchNorm2d") is the name in messages and in print. Throws StateError for options outside their domains.
  BatchNormImplBase(const BatchNormOptions& options, const char* type);
  void reset();
  void reset_parameters();
  void reset_running_stats();
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  BatchNormOptions options;
  Tensor weight, bias;                                    ///< undefined without affine
  Tensor running_mean, running_var, num_batches_tracked;  ///< undefined without track_running_stats

 protected:
  virtual void check_input_dim(const Tensor& input) const = 0;
  const char* type_;
};

/// Batch norm of [N, C] or [N, C, L]; other ranks throw ShapeError.
class BatchNorm1dImpl : public BatchNormImplBase {
 public:
  explicit BatchNorm1dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_, "BatchNorm1d") {}

 protected:
  void check_input_dim(const Tensor& input) const override;
};
TANDEM_MODULE(BatchNorm1d);

/// Batch norm of [N, C, H, W]; other ranks throw ShapeError.
class BatchNorm2dImpl : public BatchNormImplBase {
 public:
  explicit BatchNorm2dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_, "BatchNorm2d") {}

 protected:
  void check_input_dim(const Tensor& input) const override;
};
TANDEM_MODULE(BatchNorm2d);

/// Layer norm over the last dimensions, which are `normalized_shape`. Throws StateError when that is empty
/// or has a size below 0, or for an eps below 0.
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape) : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(LayerNormOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  LayerNormOptions options;
  Tensor weight, bias;  ///< undefined without elementwise_affine
};
TANDEM_MODULE(LayerNorm);

}  // namespace tandem::nn
