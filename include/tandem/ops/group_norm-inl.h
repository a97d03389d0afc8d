#pragma once
// Group, instance and local response normalisation, on the kernels of batch and layer normalisation.
#include <algorithm>

#include "tandem/math/binary.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/cast_operands.h"
#include "tandem/ops/group_norm.h"
#include "tandem/ops/norm_forms-inl.h"
#include "tandem/ops/norm_layers.h"
#include "tandem/ops/pool.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// The sizes of x [N, C, ...] in groups of channels.
struct GroupSizes {
  int64_t samples, groups, channels, inner;  ///< channels: of each group

  GroupSizes(const Tensor& x, int64_t num_groups) {
    TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must be [N, C, ...]", checks::show(x));
    TANDEM_CHECK(num_groups > 0 && x.size(1) % num_groups == 0, ShapeError,
                 "num_groups = {}, which does not divide the channels of x {}", num_groups, checks::show(x));
    samples = x.size(0);
    groups = num_groups;
    channels = x.size(1) / num_groups;
    inner = numel_of(x.sizes().slice(2, x.sizes().size() - 2));
  }
  int64_t rows() const { return samples * groups; }
  int64_t planes() const { return samples * groups * channels; }
  int64_t length() const { return channels * inner; }
};

/// Repeats a statistic of each group [rows] for the group's channels: [planes].
inline Tensor for_planes(const Tensor& statistic, const GroupSizes& s) {
  return as_vector(
      broadcast_view(make_view(statistic, {s.rows(), 1}, {1, 1}, statistic.storage_offset()), {s.rows(), s.channels}));
}
/// Repeats a parameter [C] for each sample: [planes].
inline Tensor for_samples(const Tensor& parameter, const GroupSizes& s) {
  return parameter.defined() ? as_vector(broadcast_view(parameter, {s.samples, s.groups * s.channels})) : parameter;
}
/// A contiguous tensor as one sample with a channel for each plane, without history.
inline Tensor as_planes(const Tensor& x, const GroupSizes& s) {
  return make_view(x, {1, s.planes(), s.inner}, {s.planes() * s.inner, s.inner, 1}, x.storage_offset());
}

}  // namespace detail

TANDEM_OPS Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                             double eps) {
  const Op<"group_norm"> op;
  checks::floating("x", x);
  const detail::GroupSizes s(x, num_groups);
  checks::per_channel("weight", weight, x);
  checks::per_channel("bias", bias, x);
  checks::not_negative("eps", eps);
  return op.apply(
      [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        checks::parameter_dtype(x, "weight", weight);
        checks::parameter_dtype(x, "bias", bias);
        const Tensor in = contiguous(x), y = empty(x.sizes(), x.options());
        const TensorOptions statistics = x.options().dtype(checks::sum_dtype(x.dtype()));
        const Tensor mean = empty({s.rows()}, statistics);
        Tensor rstd = mean;
        if (x.numel() > 0) {
          const Tensor var = empty({s.rows()}, x.options().dtype(kDouble));  // may be beyond the range of f32
          backend(x).var_mean(detail::as_rows(var, s.rows(), 1), detail::as_rows(mean, s.rows(), 1),
                              detail::as_rows(in, s.rows(), s.length()), 0);
          rstd = to(rsqrt(add(var, eps)), statistics.dtype());
          backend(x).batch_norm_inference(detail::as_planes(y, s), detail::as_planes(in, s),
                                          detail::for_planes(mean, s), detail::for_planes(rstd, s),
                                          detail::for_samples(weight, s), detail::for_samples(bias, s), std::nullopt);
        }
        return Result{y, save(x, weight, mean, rstd), [num_groups, eps](const Backward& b) -> Grads {
                        auto [gx, gweight, gbias] =
                            group_norm_backward(b.grad(), b.saved(0), num_groups, b.saved(2), b.saved(3), b.saved(1),
                                                eps, {b.needs(0), b.needs(1), b.needs(2)});
                        return {gx, gweight, gbias};
                      }};
      },
      x, weight, bias);
}

TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> group_norm_backward(const Tensor& gy, const Tensor& x, int64_t num_groups,
                                                                  const Tensor& mean, const Tensor& rstd,
                                                                  const Tensor& weight, double eps,
                                                                  std::array<bool, 3> output_mask) {
  const Op<"group_norm_backward"> op;
  checks::floating("x", x);
  checks::floating("gy", gy);
  checks::sizes("gy", gy, x.sizes());
  const detail::GroupSizes s(x, num_groups);
  checks::per_channel("weight", weight, x);
  detail::check_statistics(x, {s.rows()}, mean, rstd);
  const Dims parameter_sizes{x.size(1)};
  if (GradMode::is_enabled()) {
    const Dims sizes{s.samples, s.groups, s.channels, s.inner}, affine{s.groups, s.channels, 1};
    const detail::Normalized normal(reshape(detail::widened(x), sizes), {2, 3}, eps);
    auto grads =
        detail::normalize_backward_in_ops(reshape(detail::widened(gy), sizes), normal.xhat, normal.rstd, {2, 3},
                                          weight.defined() ? reshape(weight, affine) : weight, affine, output_mask);
    if (grads[0].defined()) grads[0] = reshape(grads[0], x.sizes());
    for (size_t i : {1, 2}) {
      if (grads[i].defined()) grads[i] = reshape(grads[i], parameter_sizes);
    }
    return {grads[0], grads[1], grads[2]};
  }
  std::vector<Tensor> grads = op.apply_n(
      [&](const Tensor& gy, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight) {
        const DType wide = checks::sum_dtype(x.dtype());
        const DType parameter = weight.defined() ? weight.dtype() : wide;
        const Tensor in = contiguous(x), g = contiguous(gy);
        Tensor gx, gweight, gbias;
        if (output_mask[0]) gx = empty(x.sizes(), x.options());
        if (x.numel() == 0) {
          if (output_mask[1]) gweight = zeros(parameter_sizes, x.options().dtype(parameter));
          if (output_mask[2]) gbias = zeros(parameter_sizes, x.options().dtype(parameter));
          return Result{std::vector<Tensor>{gx, gweight, gbias}};
        }
        if (output_mask[1] || output_mask[2]) {
          // Sums over each plane, then over the samples.
          const TensorOptions sums = x.options().dtype(wide);
          const Tensor by_plane = empty({2, s.samples, x.size(1)}, sums), flat = view(by_plane, {2, s.planes()});
          backend(x).batch_norm_backward(Tensor(), select(flat, 0, 0), select(flat, 0, 1), detail::as_planes(g, s),
                                         detail::as_planes(in, s), detail::for_planes(contiguous(mean), s),
                                         detail::for_planes(contiguous(rstd), s), Tensor(), false);
          const Tensor total = to(tandem::sum(by_plane, {1}), parameter);
          if (output_mask[1]) gweight = clone(select(total, 0, 0));
          if (output_mask[2]) gbias = clone(select(total, 0, 1));
        }
        if (output_mask[0]) {
          Tensor scaled = g;
          if (weight.defined()) {
            scaled = empty(x.sizes(), x.options().dtype(wide));
            const Tensor factor = make_view(contiguous(weight), {1, x.size(1), 1}, {0, 1, 0}, 0);
            const Tensor flat = make_view(scaled, {s.samples, x.size(1), s.inner}, {x.size(1) * s.inner, s.inner, 1},
                                          scaled.storage_offset());
            const Dims sizes{s.samples, x.size(1), s.inner};
            backend(x).binary(flat, kernels::Binary::mul, view(g, sizes), detail::broadcast_view(factor, sizes), 1);
          }
          backend(x).layer_norm_backward(detail::as_rows(gx, s.rows(), s.length()), Tensor(), Tensor(),
                                         detail::as_rows(scaled, s.rows(), s.length()), Tensor(),
                                         detail::as_rows(in, s.rows(), s.length()), contiguous(mean), contiguous(rstd),
                                         Tensor());
        }
        return Result{std::vector<Tensor>{gx, gweight, gbias}};
      },
      gy, x, mean, rstd, weight);
  return {grads[0], grads[1], grads[2]};
}

TANDEM_OPS Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                                const Tensor& running_var, bool use_input_stats, double momentum, double eps,
                                bool /*cudnn_enabled*/) {
  const OpScope op("instance_norm");
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must be [N, C, ...]", checks::show(x));
  const int64_t samples = x.size(0), channels = x.size(1), planes = numel_of({samples, channels});
  for (const auto& [which, t] : {std::pair<const char*, const Tensor&>{"weight", weight},
                                 {"bias", bias},
                                 {"running_mean", running_mean},
                                 {"running_var", running_var}}) {
    checks::per_channel(which, t, x);
  }
  TANDEM_CHECK(running_mean.defined() == running_var.defined(), StateError,
               "running_mean is {}, running_var is {}; give both or neither", checks::show(running_mean),
               checks::show(running_var));
  const auto repeated = [&](const Tensor& t) {
    return t.defined() ? reshape(expand(t, {samples, channels}), {planes}) : t;
  };
  Dims sizes = x.impl().sizes;
  sizes[0] = 1;
  sizes[1] = planes;
  const bool updates = use_input_stats && running_mean.defined() && x.numel() > 0;
  // Of one channel, repeated() is a view of one number, which batch_norm refuses.
  const bool copies = updates || (running_mean.defined() && channels == 1);
  const auto statistic = [&](const Tensor& t) { return copies ? clone(repeated(t)) : repeated(t); };
  const Tensor mean = statistic(running_mean), var = statistic(running_var);
  const Tensor y =
      batch_norm(reshape(x, sizes), repeated(weight), repeated(bias), mean, var, use_input_stats, momentum, eps);
  if (updates) {
    NoGradGuard no_grad;
    running_mean.copy_(tandem::mean(view(mean, {samples, channels}), {0}));
    running_var.copy_(tandem::mean(view(var, {samples, channels}), {0}));
  }
  return reshape(y, x.sizes());
}

TANDEM_OPS Tensor local_response_norm(const Tensor& x, int64_t size, double alpha, double beta, double k) {
  const OpScope op("local_response_norm");
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 3, ShapeError, "x is {}, but must be [N, C, ...] of rank 3 or more", checks::show(x));
  TANDEM_CHECK(size > 0, StateError, "size = {}, but must be positive", size);
  if (x.numel() == 0) return x;
  const DType result = detail::cast_of_composite("pow", x).dtype();
  const int64_t inner = x.numel() / (x.size(0) * x.size(1));
  // Beyond the channels there are only zeros.
  const int64_t before = std::min(size / 2, x.size(1)), after = std::min((size - 1) / 2, x.size(1));
  const int64_t window = before + 1 + after;
  // Squares may be beyond the range of f32, their roots are not. Only the CPU looks whether they are.
  const bool in_range = x.is_cpu() && k >= 0x1p-40 && !any(ne(detail::range_unit(x, {}, 0, 0x1p50), 1)).item<bool>();
  const Tensor wide = to(x, in_range ? checks::sum_dtype(x.dtype()) : kDouble);
  const Tensor squares = reshape(square(wide), {x.size(0), 1, x.size(1), inner});
  const auto gap = [&](int64_t channels) { return zeros({x.size(0), 1, channels, inner}, squares.options()); };
  const Tensor padded = cat({std::vector<Tensor>{gap(before), squares, gap(after)}}, 2);
  const Tensor average = reshape(avg_pool2d(padded, {window, 1}, {1, 1}), x.sizes());
  const double share = static_cast<double>(window) / static_cast<double>(size);
  return to(div(wide, pow(add(mul(average, alpha * share), k), beta)), result);
}

}  // namespace tandem
