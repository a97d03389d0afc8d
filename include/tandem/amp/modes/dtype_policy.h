#pragma once
// Dtype policies of modules: the dtypes of a layer's parameters and of its computation. Source: Keras,
// keras.dtype_policies.
#include <string>
#include <string_view>

#include "tandem/nn/module.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// A named policy:
///
///   name               compute dtype  variable dtype  autocast inside
///   "float32"          f32            f32             off
///   "float16"          f16            f16             off
///   "bfloat16"         bf16           bf16            off
///   "mixed_float16"    f16            f32             f16
///   "mixed_bfloat16"   bf16           f32             bf16
///
/// A layer casts its floating inputs, except f64, to the compute dtype. Outputs are not cast: an op that the policy
/// table runs in f32 (softmax, losses) returns f32 under a mixed policy too.
class DTypePolicy {
 public:
  /// Throws StateError for any other name.
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

/// Sets the policy of `module`. Casts its parameters and buffers, those of submodules included, to the variable dtype;
/// each call casts the inputs to the compute dtype. Submodules may be given other policies afterwards. The policy
/// applies to calls of the form `layer(x)` and calls by containers, not to `layer->forward(x)`.
void set_dtype_policy(nn::Module& module, const DTypePolicy& policy);
template <class Contained>
void set_dtype_policy(const nn::ModuleHolder<Contained>& module, const DTypePolicy& policy) {
  set_dtype_policy(*module, policy);
}
/// Returns the policy set by set_dtype_policy() or, when the module was made, by set_global_dtype_policy(); "float32"
/// if there is none.
DTypePolicy dtype_policy(const nn::Module& module);

/// Sets the policy of modules made from now on, for the whole process, like keras.config.set_dtype_policy. The default
/// is "float32". Throws StateError unless the variable dtype is f32. Under a mixed policy, losses (nn::LossModule) get
/// "float32", which also casts the 16-bit output of a layer to f32.
void set_global_dtype_policy(const DTypePolicy& policy);

}  // namespace tandem::amp
#pragma GCC visibility pop
