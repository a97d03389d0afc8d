#include "tandem/nn/parallel/sync_batch_norm.h"

#include <tuple>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/distributed/init.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/norm_forms-inl.h"
#include "tandem/ops/norm_layers.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {
namespace {

using autograd::AutogradContext;
using autograd::variable_list;
using Group = std::shared_ptr<distributed::ProcessGroup>;

Dims all_but_channels(const Tensor& x) {
  Dims dims{0};
  for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

struct Moments {
  Tensor mean, variance;  // of the joint batch, [C]; the variance is biased
  double count;           // values per channel
};

/// Mean and sum of squared deviations of parts give those of the whole without a second pass over the data.
/// Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
Moments joint_moments(const Tensor& x, distributed::ProcessGroup& group) {
  const int64_t channels = x.size(1);
  int64_t count = 1;
  for (const int64_t d : all_but_channels(x)) count *= x.size(d);
  const Tensor wide = x.to(checks::sum_dtype(x.dtype()));
  Tensor mean = zeros({channels}, wide.options()), variance = mean;
  // A rank without values contributes nothing: its mean would be NaN.
  if (count > 0) std::tie(variance, mean) = var_mean(wide, all_but_channels(x), /*unbiased=*/false);
  const Tensor mine = cat({mean, variance * count, full({1}, count, mean.options())});
  std::vector<Tensor> parts;
  for (int r = 0; r < group.size(); ++r) parts.push_back(empty_like(mine));
  group.all_gather(parts, mine);
  const Tensor all = stack(parts);  // [ranks, 2 C + 1]
  const Tensor means = all.narrow(1, 0, channels), squares = all.narrow(1, channels, channels),
               counts = all.narrow(1, 2 * channels, 1);
  const Tensor total = counts.sum();
  const Tensor joint = (means * counts).sum(IntArrayRef{0}) / total;
  const Tensor spread = (means - joint).square() * counts;
  return {joint, (squares + spread).sum(IntArrayRef{0}) / total, total.item<double>()};
}

struct SyncedBatchNorm : autograd::Function<SyncedBatchNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& mean, const Tensor& variance, double count, double eps, const Group& group) {
    const Tensor rstd = (variance + eps).rsqrt();
    ctx->save_for_backward({x, weight, mean, rstd});
    ctx->saved_data["count"] = count;
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["group"] = group;
    return batch_norm(x, weight, bias, mean, variance, /*training=*/false, 0, eps);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    TANDEM_CHECK(!GradMode::is_enabled(), AutogradError,
                 "SyncBatchNorm cannot be differentiated twice; use BatchNorm for models with gradient penalties");
    const variable_list saved = ctx->get_saved_variables();
    const Tensor &gy = grads[0], &x = saved[0], &weight = saved[1], &mean = saved[2], &rstd = saved[3];
    // The derivative for constant statistics, and the sums that its correction needs: in the dtype of the statistics,
    // because the correction may nearly cancel the derivative.
    const DType dtype = mean.dtype();
    const Tensor wide = x.to(dtype), scale_of_affine = weight.defined() ? weight.to(dtype) : weight;
    const auto [gx, gweight, gbias] =
        batch_norm_backward(gy.to(dtype), wide, mean, rstd, scale_of_affine, /*training=*/false,
                            ctx->saved_data["eps"].toDouble(), {true, true, true});
    const Tensor joint = cat({gweight, gbias});
    ctx->saved_data["group"].to<Group>()->all_reduce(joint);
    const Tensor average = joint / ctx->saved_data["count"].toDouble();
    const int64_t channels = x.size(1);
    const Tensor scale = weight.defined() ? rstd * scale_of_affine : rstd;
    const Tensor slope = scale * rstd * average.narrow(0, 0, channels),
                 shift = scale * average.narrow(0, channels, channels);
    const Dims shape = tandem::detail::channel_sizes(x);
    const Tensor correction = (wide - mean.view(shape)) * slope.view(shape) + shift.view(shape);
    if (!weight.defined()) return {(gx - correction).to(x.dtype()), {}, {}, {}, {}, {}, {}, {}};
    const DType parameter = weight.dtype();
    return {(gx - correction).to(x.dtype()), gweight.to(parameter), gbias.to(parameter), {}, {}, {}, {}, {}};
  }
};

BatchNormImplBase::TrainingFunction synced(const Group& group) {
  return [group](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                 const Tensor& running_var, double momentum, double eps) {
    const OpScope op("SyncBatchNorm");
    const Moments moments = [&] {
      const NoGradGuard no_grad;
      const amp::AutocastOff no_autocast;
      Moments m = joint_moments(x, *group);
      TANDEM_CHECK(m.count > 1, ShapeError,
                   "one value per channel on all ranks together, whose variance is 0; use a larger batch, or eval()");
      if (running_mean.defined()) {
        running_mean.mul_(1 - momentum).add_(m.mean, momentum);
        running_var.mul_(1 - momentum).add_(m.variance, momentum * m.count / (m.count - 1));
      }
      return m;
    }();
    return SyncedBatchNorm::apply(x, weight, bias, moments.mean, moments.variance, moments.count, eps, group);
  };
}

Group or_world(Group group) { return group ? std::move(group) : distributed::world(); }

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(const BatchNormOptions& options_, Group group)
    : Cloneable(options_, "SyncBatchNorm") {
  set_training_function(synced(or_world(std::move(group))));
}

void SyncBatchNormImpl::check_input_dim(const Tensor& input) const {
  TANDEM_CHECK(input.dim() >= 2, ShapeError, "the input is {}; it must be [N, C, ...]", checks::show(input));
}

int64_t SyncBatchNormImpl::convert_sync_batchnorm(Module& module, Group group) {
  const OpScope op("convert_sync_batchnorm");
  const auto function = synced(or_world(std::move(group)));
  int64_t count = 0;
  module.apply([&](Module& part) {
    auto* norm = dynamic_cast<BatchNormImplBase*>(&part);
    if (!norm) return;
    norm->set_training_function(function);
    ++count;
  });
  return count;
}

}  // namespace tandem::nn
