#pragma once
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/norm_forms-inl.h"
#include "tandem/ops/norm_layers.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

// ---- layer_norm

TANDEM_OPS Tensor layer_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                             double eps) {
  const Op<"layer_norm"> op;
  const size_t lead = detail::leading_dimensions(x, normalized_shape);
  const Dims shape(normalized_shape);
  checks::sizes("weight", weight, shape);
  checks::sizes("bias", bias, shape);
  checks::not_negative("eps", eps);
  return op.apply(
      [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        checks::parameter_dtype(x, "weight", weight);
        checks::parameter_dtype(x, "bias", bias);
        const int64_t n = numel_of(shape), rows = numel_of(x.sizes().slice(0, lead));
        const Tensor in = contiguous(x);
        const Tensor y = empty(x.sizes(), x.options());
        const TensorOptions statistics = x.options().dtype(checks::sum_dtype(x.dtype()));
        const Tensor mean = empty({rows}, statistics), rstd = empty({rows}, statistics);
        if (x.numel() > 0) {
          backend(x).layer_norm(detail::as_rows(y, rows, n), Tensor(), mean, rstd, detail::as_rows(in, rows, n),
                                Tensor(), detail::as_vector(weight), detail::as_vector(bias), eps);
        }
        return Result{y, save(x, weight, mean, rstd), [shape, eps](const Backward& b) -> Grads {
                        auto [gx, gweight, gbias] =
                            layer_norm_backward(b.grad(), b.saved(0), shape, b.saved(2), b.saved(3), b.saved(1), eps,
                                                {b.needs(0), b.needs(1), b.needs(2)});
                        return {gx, gweight, gbias};
                      }};
      },
      x, weight, bias);
}

TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> layer_norm_backward(const Tensor& gy, const Tensor& x,
                                                                  IntArrayRef normalized_shape, const Tensor& mean,
                                                                  const Tensor& rstd, const Tensor& weight, double eps,
                                                                  std::array<bool, 3> output_mask, const Tensor& gsum) {
  const Op<"layer_norm_backward"> op;
  checks::floating("x", x);
  checks::floating("gy", gy);
  checks::sizes("gy", gy, x.sizes());
  if (gsum.defined()) checks::floating("gsum", gsum);
  checks::sizes("gsum", gsum, x.sizes());
  const Dims shape(normalized_shape);
  TANDEM_CHECK(shape.size() <= x.sizes().size() &&
                   x.sizes().slice(x.sizes().size() - shape.size(), shape.size()) == normalized_shape,
               ShapeError, "x is {}, whose last sizes are not normalized_shape {}", checks::show(x),
               to_string(normalized_shape));
  const size_t lead = x.sizes().size() - shape.size();
  checks::sizes("weight", weight, shape);
  detail::check_statistics(x, {numel_of(x.sizes().slice(0, lead))}, mean, rstd);
  if (GradMode::is_enabled()) {
    Dims over;
    for (size_t d = lead; d < x.sizes().size(); ++d) over.push_back(static_cast<int64_t>(d));
    const detail::Normalized normal(detail::widened(x), over, eps);
    auto [gx, gweight, gbias] = detail::normalize_backward_in_ops(detail::widened(gy), normal.xhat, normal.rstd, over,
                                                                  weight, shape, output_mask);
    if (gx.defined() && gsum.defined()) gx = add(gx, gsum);
    return {gx, gweight, gbias};
  }
  std::vector<Tensor> grads = op.apply_n(
      [&](const Tensor& gy, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
          const Tensor& gsum) {
        const int64_t n = numel_of(shape), rows = numel_of(x.sizes().slice(0, lead));
        // Parameter gradients are sums over the rows. They have the weight's dtype; without a weight, that of sums.
        const TensorOptions parameter =
            x.options().dtype(weight.defined() ? weight.dtype() : checks::sum_dtype(x.dtype()));
        Tensor gx, gweight, gbias;
        if (output_mask[0]) gx = empty(x.sizes(), x.options());
        if (output_mask[1]) gweight = x.numel() > 0 ? empty(shape, parameter) : zeros(shape, parameter);
        if (output_mask[2]) gbias = x.numel() > 0 ? empty(shape, parameter) : zeros(shape, parameter);
        if (x.numel() > 0) {
          const Tensor more = gsum.defined() ? detail::as_rows(contiguous(gsum), rows, n) : Tensor();
          backend(x).layer_norm_backward(detail::as_rows(gx, rows, n), detail::as_vector(gweight),
                                         detail::as_vector(gbias), detail::as_rows(contiguous(gy), rows, n), more,
                                         detail::as_rows(contiguous(x), rows, n), contiguous(mean), contiguous(rstd),
                                         detail::as_vector(weight));
        }
        return Result{std::vector<Tensor>{gx, gweight, gbias}};
      },
      gy, x, mean, rstd, weight, gsum);
  return {grads[0], grads[1], grads[2]};
}

// ---- batch_norm

namespace detail {

inline void check_running_statistics(const Tensor& x, const char* which, const Tensor& r) {
  if (!r.defined()) return;
  checks::floating(which, r);
  checks::per_channel(which, r, x);
  TANDEM_CHECK(r.device() == x.device(), DeviceError, "{} is on {}, but x is on {}; move the module with .to(device)",
               which, r.device().str(), x.device().str());
  checks::not_expanded(which, r);
  TANDEM_CHECK(!r.requires_grad(), AutogradError,
               "{} {} requires grad, but is updated without recording; pass a buffer that does not require grad", which,
               checks::show(r));
}

}  // namespace detail

TANDEM_OPS Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                             const Tensor& running_var, bool training, double momentum, double eps,
                             bool /*cudnn_enabled*/) {
  const Op<"batch_norm"> op;
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must be [N, C, ...]", checks::show(x));
  checks::per_channel("weight", weight, x);
  checks::per_channel("bias", bias, x);
  TANDEM_CHECK(running_mean.defined() == running_var.defined(), StateError,
               "running_mean is {}, running_var is {}; give both or neither", checks::show(running_mean),
               checks::show(running_var));
  TANDEM_CHECK(training || running_mean.defined(), StateError,
               "no running statistics outside training; give running_mean and running_var, or training = "
               "true");
  detail::check_running_statistics(x, "running_mean", running_mean);
  detail::check_running_statistics(x, "running_var", running_var);
  checks::not_negative("eps", eps);
  checks::not_negative("momentum", momentum);
  TANDEM_CHECK(!training || x.numel() == 0 || x.numel() / x.size(1) > 1, ShapeError,
               "one value per channel (x is {}), whose variance is 0; use a larger batch, or {}", checks::show(x),
               running_mean.defined() ? "eval()" : "running statistics in eval()");
  // The running statistics are captured, not passed as inputs, so that no policy replaces them by casts.
  return op.apply(
      [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
        checks::parameter_dtype(x, "weight", weight);
        checks::parameter_dtype(x, "bias", bias);
        const Tensor in = checks::dense(x), scale = detail::as_vector(weight), shift = detail::as_vector(bias);
        const Tensor y = empty_like(in);
        if (!training) {
          if (x.numel() > 0) backend(x).batch_norm_inference(y, in, running_mean, running_var, scale, shift, eps);
          return Result{y, save(x, weight, running_mean, running_var), [eps](const Backward& b) -> Grads {
                          const Tensor x = b.saved(0);
                          const DType t = checks::sum_dtype(x.dtype());
                          const Tensor mean = to(b.saved(2), t), rstd = rsqrt(add(to(b.saved(3), t), eps));
                          auto [gx, gweight, gbias] = batch_norm_backward(b.grad(), x, mean, rstd, b.saved(1), false,
                                                                          eps, {b.needs(0), b.needs(1), b.needs(2)});
                          return {gx, gweight, gbias};
                        }};
        }
        const TensorOptions statistics = x.options().dtype(checks::sum_dtype(x.dtype()));
        const Tensor mean = empty({x.size(1)}, statistics), rstd = empty({x.size(1)}, statistics);
        if (x.numel() > 0) {
          backend(x).batch_norm_train(y, mean, rstd, running_mean, running_var, in, scale, shift, momentum, eps);
          if (running_mean.defined()) {
            running_mean.impl().storage->bump_version();
            running_var.impl().storage->bump_version();
          }
        }
        return Result{y, save(x, weight, mean, rstd), [eps](const Backward& b) -> Grads {
                        auto [gx, gweight, gbias] =
                            batch_norm_backward(b.grad(), b.saved(0), b.saved(2), b.saved(3), b.saved(1), true, eps,
                                                {b.needs(0), b.needs(1), b.needs(2)});
                        return {gx, gweight, gbias};
                      }};
      },
      x, weight, bias);
}

TANDEM_OPS std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& gy, const Tensor& x, const Tensor& mean,
                                                                  const Tensor& rstd, const Tensor& weight,
                                                                  bool training, double eps,
                                                                  std::array<bool, 3> output_mask) {
  const Op<"batch_norm_backward"> op;
  checks::floating("x", x);
  checks::floating("gy", gy);
  checks::sizes("gy", gy, x.sizes());
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}, but must be [N, C, ...]", checks::show(x));
  checks::per_channel("weight", weight, x);
  detail::check_statistics(x, {x.size(1)}, mean, rstd);
  if (GradMode::is_enabled()) {
    const Dims channel = detail::channel_sizes(x);
    const Tensor wide = detail::widened(x), scale = weight.defined() ? view(contiguous(weight), channel) : weight;
    Dims over;
    Tensor xhat, spread;
    if (training) {
      over.push_back(0);
      for (int64_t d = 2; d < x.dim(); ++d) over.push_back(d);
      detail::Normalized normal(wide, over, eps);
      xhat = normal.xhat;
      spread = normal.rstd;
    } else {
      spread = view(rstd, channel);
      xhat = mul(sub(wide, view(mean, channel)), spread);
    }
    auto grads =
        detail::normalize_backward_in_ops(detail::widened(gy), xhat, spread, over, scale, channel, output_mask);
    for (size_t i : {1, 2}) {
      if (grads[i].defined()) grads[i] = view(grads[i], {x.size(1)});
    }
    return {grads[0], grads[1], grads[2]};
  }
  std::vector<Tensor> grads = op.apply_n(
      [&](const Tensor& gy, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight) {
        const Tensor in = checks::dense(x);
        const TensorOptions parameter =
            x.options().dtype(weight.defined() ? weight.dtype() : checks::sum_dtype(x.dtype()));
        const Dims channels{x.size(1)};
        Tensor gx, gweight, gbias;
        if (output_mask[0]) gx = empty_like(in);
        if (output_mask[1]) gweight = x.numel() > 0 ? empty(channels, parameter) : zeros(channels, parameter);
        if (output_mask[2]) gbias = x.numel() > 0 ? empty(channels, parameter) : zeros(channels, parameter);
        if (x.numel() > 0) {
          backend(x).batch_norm_backward(gx, gweight, gbias, checks::dense(gy, checks::layout(in)), in,
                                         contiguous(mean), contiguous(rstd), detail::as_vector(weight), training);
        }
        return Result{std::vector<Tensor>{gx, gweight, gbias}};
      },
      gy, x, mean, rstd, weight);
  return {grads[0], grads[1], grads[2]};
}

}  // namespace tandem
