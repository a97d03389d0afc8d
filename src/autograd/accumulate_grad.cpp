#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {

AccumulateGrad::AccumulateGrad(const Tensor& variable) : Node("AccumulateGrad"), variable_(variable) {
  // Leaves run first among the nodes that are ready: memory of gradients that are added up is free again early.
  sequence = UINT64_MAX;
  outputs = {{variable.dtype(), variable.device(), variable.impl().sizes}};
}

namespace {

/// Nobody else can see this tensor's memory, so it may become `.grad` without a copy.
bool solely_owned(const Tensor& g) {
  return g.impl_ptr().use_count() == 1 && g.impl().storage.use_count() == 1 && !g.requires_grad();
}

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.strides() == b.strides() || (a.is_contiguous() && b.is_contiguous());
}

}  // namespace

void AccumulateGrad::run_hooks(Grads& grads) {
  if (!grads[0].defined()) return;
  for (const auto& [handle, hook] : meta(variable_).hooks) {
    Tensor replaced = hook(grads[0]);
    if (replaced.defined()) grads[0] = std::move(replaced);
  }
}

Grads AccumulateGrad::apply(Grads grads) {
  if (!grads[0].defined()) return {};
  AutogradMeta& m = meta(variable_);
  Tensor& g = grads[0];
  if (!m.grad.defined()) {
    if (GradMode::is_enabled()) {
      m.grad = g;
    } else if (solely_owned(g) && same_layout(g, variable_)) {
      m.grad = std::move(g);
    } else {
      m.grad = empty_like(variable_, g.dtype());
      backend(m.grad).copy(m.grad, g);
    }
  } else if (GradMode::is_enabled()) {
    m.grad = m.grad.add(g);
  } else {
    backend(m.grad).binary(m.grad, Binary::add, m.grad, g, 1.0);
    m.grad.impl().storage->bump_version();
  }
  return {};
}

}  // namespace tandem::autograd
