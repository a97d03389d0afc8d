// Storage: where blocks come from and go to.
#include "tandem/tensor/storage.h"

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/allocator.h"

namespace tandem {

Storage::Storage(size_t bytes, Device device) : data_(nullptr), bytes_(bytes), device_(device), owned_(true) {
  if (!device.is_cpu()) {
    backend(device.type());  // throws DeviceError where the device is absent
    throw NotImplementedError(fmt::format("empty: the {} backend has no allocator; use the CPU", device.str()));
  }
  data_ = cpu::allocate(bytes);
}

Storage::Storage(void* data, size_t bytes, Device device, std::function<void(void*)> deleter)
    : data_(data), bytes_(bytes), device_(device), owned_(false), deleter_(std::move(deleter)) {}

Storage::~Storage() {
  if (owned_) {
    cpu::deallocate(data_, bytes_);
  } else if (deleter_) {
    deleter_(data_);
  }
}

void Storage::resolve_pending() {
  // Forget first: apply() reads and writes this storage.
  const std::unique_ptr<PendingScale> pending = std::move(pending_);
  pending->apply();
}

}  // namespace tandem
