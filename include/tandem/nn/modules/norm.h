#pragma once
// BatchNorm1d, BatchNorm2d, LayerNorm.
#include "tandem/nn/module.h"
#include "tandem/nn/options/norm.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Base class of the batch norms. Buffers: running_mean, running_var ([C], f32) and num_batches_tracked (i64).
/// In training, the statistics of the batch are used for normalisation, and the running statistics are updated with
/// weight `momentum`. In eval mode, the running statistics are used. If momentum is nullopt, each training step reads
/// num_batches_tracked, and so waits for the device on CUDA.
class BatchNormImplBase : public Module {
 public:
  /// `type`, such as "BatchNorm2d", is the name in messages and when printed. Throws StateError for invalid options.
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

/// Layer norm over the last dimensions, which have the sizes `normalized_shape`. Throws StateError if these are empty
/// or one is below 0, or for an eps below 0.
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
#pragma GCC visibility pop
