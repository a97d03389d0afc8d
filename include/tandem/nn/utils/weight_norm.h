#pragma once
// weight_norm, spectral_norm: weights that are computed from other parameters before each forward().
#include <functional>
#include <optional>
#include <string>

#include "tandem/nn/module.h"

#pragma GCC visibility push(default)
namespace tandem::nn::utils {

namespace detail {
/// Where a module keeps its handle of the weight.
using WeightMember = std::function<Tensor&(Module&)>;
void weight_norm(Module& module, const WeightMember& weight, const std::string& name, std::optional<int64_t> dim);
void remove_weight_norm(Module& module, const std::string& name);
void spectral_norm(Module& module, const WeightMember& weight, const std::string& name, int64_t n_power_iterations,
                   double eps, int64_t dim);
void remove_spectral_norm(Module& module, const std::string& name);

template <class M>
WeightMember member_of(Tensor M::*member) {
  return [member](Module& module) -> Tensor& { return static_cast<M&>(module).*member; };
}
/// Transposed convolutions have their outputs in dimension 1 of the weight.
template <class M>
inline constexpr int64_t output_dim = requires(M& m) {
  m.options.output_padding();
}
? 1 : 0;
}  // namespace detail

/// Replaces the parameter `name` by `name`_g and `name`_v, from which it is computed before each call of the module:
///
///   weight = g v / |v|
///
/// |v| is the 2-norm over all dimensions but `dim`, or over all for nullopt or -1; g has a number for each index of
/// `dim`. The values do not change. `weight` is the module's member for the parameter. The module must be called
/// through its holder, a container or nn::call (call.h), by one thread at a time; its clone() throws. Create optimizers
/// afterwards: the parameters are new. Returns the module. Throws StateError if it has no such parameter or `weight` is
/// another one, IndexError for a dimension out of range. Source: Salimans and Kingma, "Weight Normalization" (2016);
/// torch.nn.utils.weight_norm.
template <class Holder, class M = typename Holder::Impl>
Holder weight_norm(const Holder& module, const std::string& name = "weight", std::optional<int64_t> dim = 0,
                   Tensor M::*weight = &M::weight) {
  detail::weight_norm(*module, detail::member_of<M>(weight), name, dim);
  return module;
}
/// Undoes weight_norm: `name` is a parameter again, with the current value. Throws StateError if the module has none.
template <class Holder>
Holder remove_weight_norm(const Holder& module, const std::string& name = "weight") {
  detail::remove_weight_norm(*module, name);
  return module;
}

/// Replaces the parameter `name` by `name`_orig, from which it is computed before each call of the module:
///
///   weight = orig / sigma,   sigma = u^T W v
///
/// W is orig as a matrix whose rows are the indices of `dim` (1 for transposed convolutions unless given); sigma
/// approximates its largest singular value. `name`_orig is the old parameter itself. The buffers `name`_u and `name`_v
/// are the vectors of a power iteration, of which each call in training mode makes n_power_iterations steps. Otherwise
/// as weight_norm; throws StateError also for n_power_iterations below 1. Source: Miyato et al., "Spectral
/// Normalization for Generative Adversarial Networks" (2018); torch.nn.utils.spectral_norm.
template <class Holder, class M = typename Holder::Impl>
Holder spectral_norm(const Holder& module, const std::string& name = "weight", int64_t n_power_iterations = 1,
                     double eps = 1e-12, int64_t dim = detail::output_dim<M>, Tensor M::*weight = &M::weight) {
  detail::spectral_norm(*module, detail::member_of<M>(weight), name, n_power_iterations, eps, dim);
  return module;
}
/// Undoes spectral_norm, as remove_weight_norm.
template <class Holder>
Holder remove_spectral_norm(const Holder& module, const std::string& name = "weight") {
  detail::remove_spectral_norm(*module, name);
  return module;
}

}  // namespace tandem::nn::utils
#pragma GCC visibility pop
