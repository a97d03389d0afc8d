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
  Grads apply(Grads grads) override;
  void mark_scaled() override;
  const Tensor& variable() const { return variable_; }

 private:
  Tensor variable_;
  std::mutex mutex_;  // held while .grad is changed; a leaf has at most one AccumulateGrad node at a time
};

}  // namespace tandem::autograd
#pragma GCC visibility pop
