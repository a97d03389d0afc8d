#include "src/amp/optimizer_gradients.h"

#include "src/amp/modes/for_each_parameter.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"

namespace tandem::amp {

GradientPlace place_of(const Tensor& g) {
  return {reinterpret_cast<uintptr_t>(g.impl().storage.get()), g.storage_offset(), g.numel(), g.dtype()};
}

bool FirstOfItsPlace::operator()(const Tensor& g) {
  const bool may_be_shared = g.impl_ptr().use_count() > 1 || g.impl().storage.use_count() > 1;
  return !may_be_shared || seen_.insert(place_of(g)).second;
}

std::vector<Tensor> gradients_of(const optim::Optimizer& optimizer, bool writes, Device device) {
  std::vector<Tensor> grads;
  FirstOfItsPlace is_first;
  size_t number = 0;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    const Tensor& g = p.grad();
    ++number;
    if (!g.defined()) return;
    TANDEM_CHECK(
        is_differentiable(g.dtype()), DTypeError,
        "the gradient of parameter {} {} is {}; gradients must be floating and not float8: drop it with zero_grad()",
        number - 1, to_string(p.sizes()), name(g.dtype()));
    TANDEM_CHECK(!writes || g.dtype() != kHalf, DTypeError,
                 "the gradient of parameter {} {} is f16, where unscaling would underflow; keep parameters in f32 "
                 "and let autocast cast them",
                 number - 1, to_string(p.sizes()));
    TANDEM_CHECK(g.device().type() == device.type(), DeviceError,
                 "the gradient of parameter {} {} is on {}, but the scaler's state is on {}, the device of its first "
                 "loss; use one scaler per device type",
                 number - 1, to_string(p.sizes()), g.device().str(), device.str());
    checks::not_expanded("the gradient of parameter", g, number - 1);
    if (is_first(g)) grads.push_back(g);
  });
  return grads;
}

bool unscaling_rounds(const optim::Optimizer& optimizer) {
  const bool has_masters = optimizer.master_weights() != optim::MasterWeights::none;
  bool rounds = false, has_f16 = false;
  for_each_parameter(optimizer, [&](const Tensor& p) {
    const Tensor& g = p.grad();
    if (!g.defined() || (has_masters && is_reduced_floating_point(p.dtype()) && is_reduced_floating_point(g.dtype()))) {
      return;
    }
    has_f16 |= g.dtype() == kHalf;
    rounds |= g.dtype() != (p.dtype() == kDouble ? kDouble : kFloat);
  });
  return rounds && !has_f16;
}

void widen_gradients(const optim::Optimizer& optimizer) {
  if (optimizer.master_weights() == optim::MasterWeights::none) return;
  for_each_parameter(optimizer, [](const Tensor& p) {
    Tensor& g = p.mutable_grad();
    if (g.defined() && is_reduced_floating_point(p.dtype()) && is_reduced_floating_point(g.dtype())) {
      g = to(g.detach(), kFloat);
    }
  });
}

}  // namespace tandem::amp
