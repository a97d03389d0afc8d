#include "tandem/nn/utils/weight_norm.h"

#include <utility>
#include <vector>

#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::utils::detail {
namespace {

Tensor parameter(const Module& module, const std::string& name) {
  const auto parameters = module.named_parameters(false);
  const Tensor* const found = parameters.find(name);
  TANDEM_CHECK(found && found->defined(), StateError, "{} has no parameter '{}'; named_parameters() lists them",
               module.name(), name);
  return *found;
}

Tensor buffer(const Module& module, const std::string& name) { return module.named_buffers(false)[name]; }

/// The 2-norm over all dimensions but `dim`, which stay with size 1.
Tensor norm_except(const Tensor& v, std::optional<int64_t> dim) {
  if (!dim) return v.norm();
  std::vector<int64_t> others;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (d != wrap_dim(*dim, v.dim())) others.push_back(d);
  }
  return others.empty() ? v.abs() : v.norm(2, others, true);
}

Tensor normalised_weight(const Module& module, const std::string& name, std::optional<int64_t> dim) {
  const Tensor g = parameter(module, name + "_g"), v = parameter(module, name + "_v");
  // In f16 the derivative of a small norm overflows.
  const DType wide = checks::sum_dtype(v.dtype());
  const Tensor wide_v = v.to(wide);
  return (wide_v * (g.to(wide) / norm_except(wide_v, dim))).to(v.dtype());
}

/// `weight` as a matrix whose rows are the indices of `dim`.
Tensor as_matrix(const Tensor& weight, int64_t dim) { return weight.movedim(dim, 0).flatten(1); }

Tensor unit(const Tensor& x, double eps) { return x / x.norm().clamp_min(eps); }

/// How spectral_norm was called.
struct Spectral {
  int64_t iterations;
  double eps;
  int64_t dim;
};

Tensor spectral_weight(const Module& module, const std::string& name, const Spectral& options, bool iterate) {
  const Tensor original = parameter(module, name + "_orig"), matrix = as_matrix(original, options.dim);
  const Tensor kept_u = buffer(module, name + "_u"), kept_v = buffer(module, name + "_v");
  Tensor u = kept_u, v = kept_v;
  if (iterate) {
    const NoGradGuard no_grad;
    for (int64_t i = 0; i < options.iterations; ++i) {
      v = unit(mv(matrix.t(), u), options.eps);
      u = unit(mv(matrix, v), options.eps);
    }
    kept_u.copy_(u);  // the graph of an earlier call may hold the tensors themselves
    kept_v.copy_(v);
  } else {
    u = u.clone();
    v = v.clone();
  }
  return original / dot(u, mv(matrix, v));
}

/// The hook that computes a weight before each call. `compute` makes no power iteration unless `iterate`.
struct WeightHook {
  WeightMember weight;
  std::function<Tensor(const Module&, bool iterate)> compute;

  void operator()(Module& module, std::vector<Tensor>&) const {
    weight(module) = compute(module, module.is_training());
  }
};

std::string hook_of(const char* kind, const std::string& name) { return std::string(kind) + "." + name; }

/// Returns the parameter `name`, which must be the member `weight`.
Tensor parameter_at(Module& module, const WeightMember& weight, const std::string& name) {
  const Tensor w = parameter(module, name);
  TANDEM_CHECK(w.is_same(weight(module)), StateError,
               "the parameter '{}' of {} is not the member that was passed; pass its own, such as &LinearImpl::bias",
               name, module.name());
  return w;
}

/// Makes the weight a parameter again, with the value that the next call in eval mode would use, in place of `part`.
void restore(Module& module, const char* kind, const std::string& name, const std::string& part) {
  const WeightHook* hook = nullptr;
  const std::shared_ptr<const ForwardHooks> hooks = module.forward_hooks();
  if (hooks) {
    for (const ForwardHooks::Entry& entry : hooks->entries()) {
      if (entry.name == hook_of(kind, name)) hook = entry.before.target<WeightHook>();
    }
  }
  TANDEM_CHECK(hook, StateError, "{} has no {} of '{}'", module.name(), kind, name);
  const Tensor value = hook->compute(module, false).detach().clone();
  const bool requires_grad = parameter(module, name + part).requires_grad();
  module.remove_forward_hook(hook_of(kind, name));
  module.unregister_parameter(name + part);
  hook->weight(module) = module.register_parameter(name, value, requires_grad);
}

}  // namespace

void weight_norm(Module& module, const WeightMember& weight, const std::string& name, std::optional<int64_t> dim) {
  const OpScope op("weight_norm");
  if (dim == -1) dim.reset();
  const Tensor w = parameter_at(module, weight, name), g = norm_except(w.detach(), dim);
  const auto compute = [name, dim](const Module& m, bool) { return normalised_weight(m, name, dim); };
  module.register_forward_pre_hook(WeightHook{weight, compute}, hook_of("weight_norm", name));
  module.unregister_parameter(name);
  module.register_parameter(name + "_g", g.clone(), w.requires_grad());
  module.register_parameter(name + "_v", w.detach().clone(), w.requires_grad());
  weight(module) = compute(module, false);
}

void spectral_norm(Module& module, const WeightMember& weight, const std::string& name, int64_t n_power_iterations,
                   double eps, int64_t dim) {
  const OpScope op("spectral_norm");
  TANDEM_CHECK(n_power_iterations >= 1, StateError, "n_power_iterations = {}; it must be at least 1",
               n_power_iterations);
  const Tensor w = parameter_at(module, weight, name), matrix = as_matrix(w.detach(), dim);
  const Spectral options{n_power_iterations, eps, dim};
  const auto compute = [name, options](const Module& m, bool iterate) {
    return spectral_weight(m, name, options, iterate);
  };
  module.register_forward_pre_hook(WeightHook{weight, compute}, hook_of("spectral_norm", name));
  module.unregister_parameter(name);
  module.register_parameter(name + "_orig", w, w.requires_grad());
  module.register_buffer(name + "_u", unit(randn({matrix.size(0)}, matrix.options()), eps));
  module.register_buffer(name + "_v", unit(randn({matrix.size(1)}, matrix.options()), eps));
  weight(module) = w.detach();
}

void remove_weight_norm(Module& module, const std::string& name) {
  const OpScope op("remove_weight_norm");
  restore(module, "weight_norm", name, "_v");
  module.unregister_parameter(name + "_g");
}

void remove_spectral_norm(Module& module, const std::string& name) {
  const OpScope op("remove_spectral_norm");
  restore(module, "spectral_norm", name, "_orig");
  module.unregister_buffer(name + "_u");
  module.unregister_buffer(name + "_v");
}

}  // namespace tandem::nn::utils::detail
