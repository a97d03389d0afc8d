#pragma once
// The node of a leaf. Apart from node.h, which every program includes: <mutex> is a costly header.
#include <mutex>

#include "tandem/autograd/node.h"

namespace tandem::autograd {

/// Adds gradients into a leaf's `.grad`; safe on several threads at a time.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& variable);
  /// The leaf's own hooks: they outlive this node.
  void run_hooks(Grads& grads) override;
  Grads apply(Grads grads) override;
  void mark_scaled() override;
  const Tensor& variable() const { return variable_; }

 private:
  Tensor variable_;
  std::mutex mutex_;  // held while .grad is changed: a leaf has one node of this kind at a time
};

}  // namespace tandem::autograd
