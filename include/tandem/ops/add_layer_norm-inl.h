#pragma once
#include "tandem/amp/policy_overrides.h"
#include "tandem/ops/add_layer_norm.h"
#include "tandem/ops/cast_operands.h"
#include "tandem/ops/norm_forms-inl.h"
#include "tandem/ops/norm_layers.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// The weight and the bias as autocast passes them to layer_norm, where the policy makes y f32.
inline std::vector<Tensor> parameters_of_norm(const Op<"add_layer_norm">&, const Tensor& weight, const Tensor& bias) {
  const amp::Cast cast = amp::detail::current_policy(amp::policy_row("add_layer_norm"));
  return cast_operands(cast == amp::Cast::f32_dtype ? amp::Cast::f32 : amp::Cast::keep, {weight, bias});
}

}  // namespace detail

TANDEM_OPS std::tuple<Tensor, Tensor> add_layer_norm(const Tensor& x, const Tensor& residual,
                                                     IntArrayRef normalized_shape, const Tensor& weight,
                                                     const Tensor& bias, double eps) {
  const Op<"add_layer_norm"> op;
  const size_t lead = detail::leading_dimensions(x, normalized_shape);
  checks::floating("residual", residual);
  TANDEM_CHECK(residual.sizes() == x.sizes(), ShapeError,
               "residual is {}, but x is {}; their sizes must be equal: expand() the smaller one",
               checks::show(residual), checks::show(x));
  const Dims shape(normalized_shape);
  checks::sizes("weight", weight, shape);
  checks::sizes("bias", bias, shape);
  checks::not_negative("eps", eps);
  const std::vector<Tensor> parameters = detail::parameters_of_norm(op, weight, bias);
  std::vector<Tensor> outputs = op.apply_n(
      [&](const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias,
          std::optional<DType> dtype) {
        const Tensor sum = empty(x.sizes(), x.options().dtype(promote_types(x.dtype(), residual.dtype())));
        checks::parameter_dtype(sum, "weight", weight);
        checks::parameter_dtype(sum, "bias", bias);
        // Autocast leaves f64 as it is.
        const DType result = sum.dtype() == kDouble ? kDouble : dtype.value_or(sum.dtype());
        const int64_t n = numel_of(shape), rows = numel_of(x.sizes().slice(0, lead));
        const Tensor y = empty(x.sizes(), x.options().dtype(result));
        const TensorOptions statistics = x.options().dtype(checks::sum_dtype(sum.dtype()));
        const Tensor mean = empty({rows}, statistics), rstd = empty({rows}, statistics);
        if (x.numel() > 0) {
          backend(x).layer_norm(detail::as_rows(y, rows, n), detail::as_rows(sum, rows, n), mean, rstd,
                                detail::as_rows(contiguous(x), rows, n), detail::as_rows(contiguous(residual), rows, n),
                                detail::as_vector(weight), detail::as_vector(bias), eps);
        }
        return Result{std::vector<Tensor>{y, sum}, save(sum, weight, mean, rstd),
                      [shape, eps](const Backward& b) -> Grads {
                        Tensor g = b.grad(1), gweight, gbias;
                        if (b.grad(0).defined()) {
                          std::tie(g, gweight, gbias) =
                              layer_norm_backward(b.grad(0), b.saved(0), shape, b.saved(2), b.saved(3), b.saved(1), eps,
                                                  {b.needs(0) || b.needs(1), b.needs(2), b.needs(3)}, b.grad(1));
                        }
                        return {b.needs(0) ? g : Tensor(), b.needs(1) ? g : Tensor(), gweight, gbias};
                      }};
      },
      x, residual, parameters[0], parameters[1], std::optional<DType>());
  return {outputs[0], outputs[1]};
}

}  // namespace tandem
