#pragma once
// Dtype policies of modules: in which dtype a layer keeps its parameters, and in which it computes. Source: Keras,
// keras.dtype_policies.
#include <string>
#include <string_view>

#include "tandem/nn/module.h"

namespace tandem::amp {

/// A policy by its name:
///
///   name               compute dtype  variable dtype
///   "float32"          f32            f32      autocast off inside
///   "float16"          f16            f16
///   "bfloat16"         bf16           bf16
///   "mixed_float16"    f16            f32      autocast to f16 inside
///   "mixed_bfloat16"   bf16           f32      autocast to bf16 inside
///
/// A layer casts floating inputs to its compute dtype. Outputs come as the layer's ops give them; an op that the policy
/// table keeps in f32 (softmax, losses) gives f32 also under a mixed policy.
class DTypePolicy {
 public:
  /// Throws StateError for another name.
  DTypePolicy(std::string_view name);
  DTypePolicy(const char* name) : DTypePolicy(std::string_view(name)) {}
  const std::string& name() const { return name_; }
  DType compute_dtype() const { return compute_; }
  DType variable_dtype() const { return variable_; }
  bool is_mixed() const { return compute_ != variable_; }

 private:
  std::string name_;
  DType compute_, variable_;
};

/// Gives `module` a policy: casts its parameters and buffers, those of submodules included, to the variable dtype, and
/// its inputs on every call to the compute dtype. Submodules may have policies of their own, set afterwards. It holds
/// where the module is called as `layer(x)` or by a container; `layer->forward(x)` leaves it out.
void set_dtype_policy(nn::Module& module, const DTypePolicy& policy);
template <class Contained>
void set_dtype_policy(const nn::ModuleHolder<Contained>& module, const DTypePolicy& policy) {
  set_dtype_policy(*module, policy);
}
/// The policy that set_dtype_policy gave, or that the module got when it was made; "float32" without one.
DTypePolicy dtype_policy(const nn::Module& module);

/// The policy of modules that are made from now on, for the whole process: keras.config.set_dtype_policy. Only policies
/// with f32 variables, else StateError; "float32" is the default. Losses (nn::LossModule) are no layers: under a mixed
/// policy they get "float32", which also makes f32 of a layer's 16-bit output.
void set_global_dtype_policy(const DTypePolicy& policy);

}  // namespace tandem::amp
