#pragma once
// The graph node of a leaf. Not in node.h, which every program includes, because <mutex> is expensive to compile.
#include <mutex>

#include "tandem/autograd/node.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// Adds gradients to a leaf's `.grad`. Thread-safe.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  /// Runs the hooks stored with the leaf, which outlive this node.
  void run_hooks(Grads& grads) override;
  /// Adds the gradient, and then runs the hooks that are called after accumulation.
  Grads apply(Grads grads) override;
  void run_post_accumulate_hooks() const;
  const Tensor& variable() const { return variable_; }

 private:
  void accumulate(Tensor& gradient);

  Tensor variable_;
  std::mutex mutex_;  // held while .grad is changed; a leaf has at most one AccumulateGrad node at a time
};

/// Registers `hook` with a leaf that requires grad. Each backward pass that reaches the leaf calls it once, after
/// adding to `.grad`; the hook may replace `.grad`. Returns a handle for remove_post_accumulate_grad_hook. Throws
/// AutogradError for other tensors and an empty function. Source: torch.Tensor.register_post_accumulate_grad_hook.
unsigned register_post_accumulate_grad_hook(const Tensor& leaf, PostAccumulateGradHook hook);
/// Does nothing if there is no such hook.
void remove_post_accumulate_grad_hook(const Tensor& leaf, unsigned handle);

}  // namespace tandem::autograd
#pragma GCC visibility pop
