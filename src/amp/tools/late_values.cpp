#include "src/amp/tools/late_values.h"

#include <algorithm>
#include <limits>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/convert.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/device_guard.h"

namespace tandem::amp {

LateValues::LateValues(const std::vector<Tensor>& tensors)
    : values_(tensors.size(), std::numeric_limits<double>::quiet_NaN()), on_the_way_(tensors.size()) {
  const NoGradGuard no_grad;
  const AutocastOff no_autocast;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (!x.defined()) continue;
    if (x.is_cpu()) {
      values_[i] = x.item<double>();
      continue;
    }
    const DeviceGuard on(x.device());
    if (!pinned_) pinned_ = accelerator().allocate_pinned(tensors.size() * sizeof(float));
    float* const to = static_cast<float*>(pinned_.get()) + i;
    const Tensor f32 = x.to(kFloat);  // freed in stream order, hence after the copy
    accelerator().copy_to_pinned(to, f32);
    on_the_way_[i] = to;
    record(f32.device());
  }
}

void LateValues::record(Device device) {
  const auto same = [&](const Copied& c) { return c.device == device; };
  auto at = std::find_if(copied_.begin(), copied_.end(), same);
  if (at == copied_.end()) at = copied_.insert(at, {device, Event()});
  at->event.record(current_stream(device));
}

bool LateValues::ready() const {
  return std::all_of(copied_.begin(), copied_.end(), [](const Copied& c) { return c.event.query(); });
}
void LateValues::wait() const {
  for (const Copied& c : copied_) c.event.synchronize();
}

double LateValues::operator[](size_t i) const {
  return on_the_way_[i] ? static_cast<double>(*on_the_way_[i]) : values_[i];
}

}  // namespace tandem::amp
