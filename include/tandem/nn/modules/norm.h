#pragma once
// Batch norms, instance norms, LayerNorm, GroupNorm, RMSNorm, and norms over adjacent channels.
#include <functional>
#include <string_view>
#include <utility>

#include "tandem/nn/modules/options_module.h"
#include "tandem/nn/options/norm.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Base class of batch and instance norms. Buffers: running_mean, running_var ([C], f32) and num_batches_tracked (i64).
template <class Options>
class NormImplBase : public ResettableModule {
 public:
  /// `type`, such as "BatchNorm2d", is the name in messages and when printed. Throws StateError for invalid options.
  NormImplBase(const Options& options, const char* type);
  void reset() override;
  void reset_parameters();
  /// Sets the running means to 0, the variances to 1 and the counter to 0.
  void reset_running_stats();
  void pretty_print(std::ostream& stream) const override;

  Options options;
  Tensor weight, bias;                                    ///< undefined without affine
  Tensor running_mean, running_var, num_batches_tracked;  ///< undefined without track_running_stats

 protected:
  /// Throws ShapeError for a rank that the class does not take.
  virtual void check_input_dim(const Tensor& input) const = 0;
  const char* type_;
};

/// Base class of the batch norms. In training, the statistics of the batch are used for normalisation, and the running
/// statistics are updated with weight `momentum`. In eval mode, the running statistics are used. If momentum is
/// nullopt, each training step reads num_batches_tracked, and so waits for the device on CUDA.
class BatchNormImplBase : public NormImplBase<BatchNormOptions> {
 public:
  /// Normalises an input by the statistics of a batch, which may be larger than this input, and updates the running
  /// statistics (undefined if they are not tracked).
  using TrainingFunction =
      std::function<Tensor(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                           const Tensor& running_var, double momentum, double eps)>;

  using NormImplBase::NormImplBase;
  Tensor forward(const Tensor& input);
  /// Replaces functional::batch_norm in training; an empty function restores it. See nn/parallel/sync_batch_norm.h.
  void set_training_function(TrainingFunction function) { training_function_ = std::move(function); }

 private:
  TrainingFunction training_function_;
};

/// Base class of the instance norms, which normalise each channel of each sample. The running statistics, if tracked,
/// are updated in training and used in eval mode.
class InstanceNormImplBase : public NormImplBase<InstanceNormOptions> {
 public:
  /// `sizes`, such as "H, W", are those of an input after its channels.
  InstanceNormImplBase(const InstanceNormOptions& norm_options, const char* type, const char* sizes)
      : NormImplBase(norm_options, type), sizes_(sizes) {}
  Tensor forward(const Tensor& input);

 protected:
  void check_input_dim(const Tensor& input) const override;

 private:
  int64_t unbatched_rank() const;
  std::string_view sizes_;
};

/// Batch norm of [N, C] or [N, C, L]; other ranks throw ShapeError.
class BatchNorm1dImpl : public Cloneable<BatchNorm1dImpl, BatchNormImplBase> {
 public:
  explicit BatchNorm1dImpl(const BatchNormOptions& options_);

 protected:
  void check_input_dim(const Tensor& input) const override;
};
TANDEM_MODULE(BatchNorm1d);

/// Batch norm of [N, C, H, W]; other ranks throw ShapeError.
class BatchNorm2dImpl : public Cloneable<BatchNorm2dImpl, BatchNormImplBase> {
 public:
  explicit BatchNorm2dImpl(const BatchNormOptions& options_);

 protected:
  void check_input_dim(const Tensor& input) const override;
};
TANDEM_MODULE(BatchNorm2d);

/// Batch norm of [N, C, D, H, W]; other ranks throw ShapeError.
class BatchNorm3dImpl : public Cloneable<BatchNorm3dImpl, BatchNormImplBase> {
 public:
  explicit BatchNorm3dImpl(const BatchNormOptions& options_);

 protected:
  void check_input_dim(const Tensor& input) const override;
};
TANDEM_MODULE(BatchNorm3d);

/// Instance norm of [N, C, L] or [C, L]; other ranks throw ShapeError.
class InstanceNorm1dImpl : public Cloneable<InstanceNorm1dImpl, InstanceNormImplBase> {
 public:
  explicit InstanceNorm1dImpl(const InstanceNormOptions& options_);
};
TANDEM_MODULE(InstanceNorm1d);

/// Instance norm of [N, C, H, W] or [C, H, W]; other ranks throw ShapeError.
class InstanceNorm2dImpl : public Cloneable<InstanceNorm2dImpl, InstanceNormImplBase> {
 public:
  explicit InstanceNorm2dImpl(const InstanceNormOptions& options_);
};
TANDEM_MODULE(InstanceNorm2d);

/// Instance norm of [N, C, D, H, W] or [C, D, H, W]; other ranks throw ShapeError.
class InstanceNorm3dImpl : public Cloneable<InstanceNorm3dImpl, InstanceNormImplBase> {
 public:
  explicit InstanceNorm3dImpl(const InstanceNormOptions& options_);
};
TANDEM_MODULE(InstanceNorm3d);

/// functional::group_norm with a weight (1) and a bias (0) per channel. Throws StateError unless num_groups divides
/// num_channels, and for an eps below 0.
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels);
  explicit GroupNormImpl(const GroupNormOptions& options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  GroupNormOptions options;
  Tensor weight, bias;  ///< undefined without affine
};
TANDEM_MODULE(GroupNorm);

/// functional::rms_norm over the last dimensions, with a weight (1). Throws as LayerNorm.
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  RMSNormImpl(std::vector<int64_t> normalized_shape);
  explicit RMSNormImpl(RMSNormOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  RMSNormOptions options;
  Tensor weight;  ///< undefined without elementwise_affine
};
TANDEM_MODULE(RMSNorm);

/// functional::local_response_norm
TANDEM_OPTIONS_MODULE(LocalResponseNorm);

/// x / (k + alpha / size s)^beta for [N, C, H, W], with s the sum of x^2 over the channels c - p to c + p around
/// channel c, p = floor((size - 1) / 2). As in PyTorch, channel 0 counts in the sums of all channels.
TANDEM_OPTIONS_MODULE(CrossMapLRN2d);

/// Layer norm over the last dimensions, which have the sizes `normalized_shape`. Throws StateError if these are empty
/// or one is below 0, or for an eps below 0.
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape);
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
