#include "tandem/amp/cast_hook.h"

#include "tandem/amp/autocast.h"
#include "tandem/amp/fp8/fp8_autocast.h"
#include "tandem/ops/convert.h"

namespace tandem::amp {
namespace {

Tensor cast(const Tensor& x, std::optional<DType> dtype) {
  return dtype && is_differentiable(x.dtype()) && x.dtype() != kDouble ? to(x, *dtype) : x;
}

}  // namespace

Tensor CastHook::input(const Tensor& x) const { return cast(x, options_.inputs); }

std::shared_ptr<void> CastHook::enter(Device device) const {
  if (!options_.autocast) return nullptr;
  if (options_.fp8 && *options_.autocast) return std::make_shared<Fp8AutocastGuard>(device.type(), *options_.fp8);
  return std::make_shared<AutocastGuard>(device.type(), options_.low, *options_.autocast);
}

Tensor CastHook::output(const Tensor& y) const { return cast(y, options_.outputs); }

}  // namespace tandem::amp
