#include "tandem/data/device_prefetch.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/device_guard.h"
#include "tandem/tensor/stream.h"

namespace tandem::data::detail {

struct DevicePrefetch::Queue {
  explicit Queue(Device device) : stream(stream_from_pool(device)) {}
  Stream stream;
  Event copied;
};

std::unique_ptr<DevicePrefetch> DevicePrefetch::make(const DataLoaderOptions& options) {
  const OpScope op("DataLoader");
  const Device device = options.prefetch_to().value_or(Device(kCPU));
  if (device.is_cpu() && !(options.pin_memory() && accelerator().is_available())) return nullptr;
  // Resolves the current device now; workers use it too.
  const int index = device.index() >= 0 ? device.index() : accelerator().current_device();
  TANDEM_CHECK(index < accelerator().device_count(), DeviceError,
               "prefetch_to is cuda:{}, but cuda::device_count() is {}; use a lower index", index,
               accelerator().device_count());
  return std::unique_ptr<DevicePrefetch>(new DevicePrefetch(Device(kCUDA, index), device.is_cuda()));
}

DevicePrefetch::DevicePrefetch(Device device, bool copies)
    : device_(device), copies_(copies), queue_(copies ? std::make_unique<Queue>(device) : nullptr) {}
DevicePrefetch::~DevicePrefetch() = default;

void DevicePrefetch::pin(Tensor& t) const {
  if (!t.is_cpu()) return;
  const DeviceGuard on(device_);
  t = t.pin_memory();
}

void DevicePrefetch::send(Tensor& t) const {
  if (t.device() == device_) return;
  const NoGradGuard no_grad;
  const StreamGuard on(queue_->stream);
  t = t.to(device_, /*non_blocking=*/true);
}

void DevicePrefetch::sent() { queue_->copied.record(queue_->stream); }

void DevicePrefetch::wait() const { queue_->copied.block(current_stream(device_)); }

void DevicePrefetch::receive(const Tensor& t) const {
  if (t.device() == device_) t.record_stream(current_stream(device_));
}

}  // namespace tandem::data::detail
