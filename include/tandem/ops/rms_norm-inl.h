#pragma once
#include <limits>

#include "tandem/ops/norm_forms-inl.h"
#include "tandem/ops/rms_norm.h"
#include "tandem/tensor/factories.h"

namespace tandem {

TANDEM_OPS Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight,
                           std::optional<double> given_eps) {
  const Op<"rms_norm"> op;
  const size_t lead = detail::leading_dimensions(x, normalized_shape);
  const Dims shape(normalized_shape);
  checks::sizes("weight", weight, shape);
  const DType wide = checks::sum_dtype(x.dtype());
  if (weight.defined() && is_differentiable(weight.dtype()) && weight.dtype() != x.dtype() && weight.dtype() != wide) {
    return rms_norm(x, normalized_shape, to(weight, wide), given_eps);
  }
  const double least = x.dtype() == kDouble ? std::numeric_limits<double>::epsilon()
                                            : static_cast<double>(std::numeric_limits<float>::epsilon());
  const double eps = given_eps.value_or(least);
  checks::not_negative("eps", eps);
  return op.apply(
      [&](const Tensor& x, const Tensor& weight) {
        checks::parameter_dtype(x, "weight", weight);
        const int64_t n = numel_of(shape), rows = numel_of(x.sizes().slice(0, lead));
        const Tensor y = empty(x.sizes(), x.options());
        const Tensor rstd = empty({rows}, x.options().dtype(checks::sum_dtype(x.dtype())));
        if (x.numel() > 0) {
          backend(x).layer_norm(detail::as_rows(y, rows, n), Tensor(), Tensor(), rstd,
                                detail::as_rows(contiguous(x), rows, n), Tensor(), detail::as_vector(weight), Tensor(),
                                eps);
        }
        return Result{y, save(x, weight, rstd), [shape, eps](const Backward& b) -> Grads {
                        auto [gx, gweight] = rms_norm_backward(b.grad(), b.saved(0), shape, b.saved(2), b.saved(1), eps,
                                                               {b.needs(0), b.needs(1)});
                        return {gx, gweight};
                      }};
      },
      x, weight);
}

TANDEM_OPS std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& gy, const Tensor& x, IntArrayRef normalized_shape,
                                                        const Tensor& rstd, const Tensor& weight, double eps,
                                                        std::array<bool, 2> output_mask) {
  const Op<"rms_norm_backward"> op;
  const size_t lead = detail::leading_dimensions(x, normalized_shape);
  const Dims shape(normalized_shape);
  checks::floating("gy", gy);
  checks::sizes("gy", gy, x.sizes());
  checks::sizes("weight", weight, shape);
  const int64_t n = numel_of(shape), rows = numel_of(x.sizes().slice(0, lead));
  detail::check_statistics(x, {rows}, rstd, rstd);
  if (GradMode::is_enabled()) {
    Dims over;
    for (size_t d = lead; d < x.sizes().size(); ++d) over.push_back(static_cast<int64_t>(d));
    const detail::Normalized normal(detail::widened(x), over, eps, false);
    const Tensor wide_gy = detail::widened(gy), &xhat = normal.xhat;
    Tensor gx, gweight;
    if (output_mask[0]) {
      const Tensor g = weight.defined() ? mul(wide_gy, weight) : wide_gy;
      gx = mul(sub(g, mul(xhat, mean(mul(g, xhat), over, true))), normal.rstd);
    }
    if (output_mask[1]) gweight = sum_to_size(mul(wide_gy, xhat), shape);
    return {gx, gweight};
  }
  std::vector<Tensor> grads = op.apply_n(
      [&](const Tensor& gy, const Tensor& x, const Tensor& rstd, const Tensor& weight) {
        const TensorOptions parameter =
            x.options().dtype(weight.defined() ? weight.dtype() : checks::sum_dtype(x.dtype()));
        Tensor gx, gweight;
        if (output_mask[0]) gx = empty(x.sizes(), x.options());
        if (output_mask[1]) gweight = x.numel() > 0 ? empty(shape, parameter) : zeros(shape, parameter);
        if (x.numel() > 0) {
          backend(x).layer_norm_backward(detail::as_rows(gx, rows, n), detail::as_vector(gweight), Tensor(),
                                         detail::as_rows(contiguous(gy), rows, n), Tensor(),
                                         detail::as_rows(contiguous(x), rows, n), Tensor(), contiguous(rstd),
                                         detail::as_vector(weight));
        }
        return Result{std::vector<Tensor>{gx, gweight}};
      },
      gy, x, rstd, weight);
  return {grads[0], grads[1]};
}

}  // namespace tandem
