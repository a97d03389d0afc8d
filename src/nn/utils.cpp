#include "tandem/nn/utils.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::utils {
namespace {

void check_defined(const std::vector<Tensor>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    TANDEM_CHECK(parameters[i].defined(), StateError, "parameter {} is an undefined tensor; give it a value first", i);
  }
}

std::vector<Tensor> defined_gradients(const std::vector<Tensor>& parameters) {
  check_defined(parameters);
  std::vector<Tensor> grads;
  grads.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& g = parameters[i].grad();
    if (!g.defined()) continue;
    TANDEM_CHECK(is_differentiable(g.dtype()), DTypeError,
                 "the gradient of parameter {} is {}, but must be floating and not float8; drop it with zero_grad()", i,
                 checks::show(g));
    checks::not_expanded("the gradient of parameter", g, i);
    grads.push_back(g);
  }
  return grads;
}

void warn_if_scaled(const std::vector<Tensor>& parameters) {
  const bool scaled = std::any_of(parameters.begin(), parameters.end(), [](const Tensor& p) {
    const autograd::GradientScale scale = autograd::gradient_scale(p);
    return scale.is(autograd::LossScale::Kind::scaled) && scale.is_unchanged;
  });
  if (!scaled) return;
  warn_once(
      "these gradients are still multiplied by a GradScaler's scale, but are compared with an unscaled threshold; call "
      "scaler.unscale_(optimizer) before clipping");
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const OpScope op("clip_grad_norm_");
  TANDEM_CHECK(max_norm >= 0, StateError, "max_norm = {}; it must be at least 0", max_norm);
  TANDEM_CHECK(norm_type > 0, StateError, "norm_type = {}; it must be positive (inf: the largest)", norm_type);
  NoGradGuard no_grad;
  const std::vector<Tensor> grads = defined_gradients(parameters);
  if (grads.empty()) return zeros({});
  warn_if_scaled(parameters);
  DType widest = kFloat;
  for (const Tensor& g : grads) widest = promote_types(widest, g.dtype());
  std::vector<Tensor> norms;
  norms.reserve(grads.size());
  for (const Tensor& g : grads)  // norms may be beyond the range of f32
    norms.push_back(norm(g, norm_type, kDouble).to(grads[0].device(), /*non_blocking=*/true));
  const Tensor wide = norms.size() == 1 ? norms[0] : norm(stack(norms), norm_type), total = wide.to(widest);
  if (error_if_nonfinite) {
    const double value = wide.item<double>();
    TANDEM_CHECK(
        std::isfinite(value), StateError,
        "the gradients' {}-norm is {}; skip this step, or pass error_if_nonfinite = false to scale by it anyway",
        norm_type, value);
  }
  const Tensor factor = (Scalar(max_norm) / (wide + 1e-6)).clamp({}, 1.0).to(widest);
  const autograd::KeepGradientScales scales(parameters);
  for (const Tensor& g : grads) g.mul_(factor.to(g.device(), /*non_blocking=*/true));
  return total;
}

Tensor clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const OpScope op("clip_grad_value_");
  TANDEM_CHECK(clip_value >= 0, StateError, "clip_value = {}; it must be at least 0", clip_value);
  NoGradGuard no_grad;
  const std::vector<Tensor> grads = defined_gradients(parameters);
  warn_if_scaled(parameters);
  const autograd::KeepGradientScales scales(parameters);
  for (const Tensor& g : grads) g.clamp_(-clip_value, clip_value);
}

void clip_grad_value_(const Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value);
}

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  const OpScope op("parameters_to_vector");
  TANDEM_CHECK(!parameters.empty(), StateError, "the list is empty; give at least one tensor");
  check_defined(parameters);
  std::vector<Tensor> flat;
  flat.reserve(parameters.size());
  for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
  return cat(flat);
}

void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  const OpScope op("vector_to_parameters");
  checks::defined("the vector", vector);
  TANDEM_CHECK(vector.dim() == 1, ShapeError, "needs rank 1, got {}; flatten it with view({{-1}})",
               checks::show(vector));
  check_defined(parameters);
  int64_t count = 0;
  for (const Tensor& p : parameters) count += p.numel();
  TANDEM_CHECK(vector.numel() == count, ShapeError,
               "the vector has {} elements, but the parameters have {}; parameters_to_vector returns a matching one",
               vector.numel(), count);
  NoGradGuard no_grad;
  int64_t at = 0;
  for (const Tensor& p : parameters) {
    p.copy_(vector.narrow(0, at, p.numel()).view(p.sizes()));
    at += p.numel();
  }
}

}  // namespace tandem::nn::utils
