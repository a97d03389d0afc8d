// Storage: allocation and release of blocks.
#include "tandem/tensor/storage.h"

#include <mutex>

#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/device_guard.h"

namespace tandem {
namespace {

/// Held while a thread applies a postponed factor. One mutex suffices: few blocks have a pending factor at a time.
std::mutex& pending_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Storage::Storage(size_t bytes, Device device) : data_(nullptr), bytes_(bytes), device_(device), owned_(true) {
  if (device.is_cpu()) {
    data_ = cpu::allocate(bytes);
    return;
  }
  accelerator().check_available();
  const DeviceGuard on(device);
  if (device.index() < 0) device_ = Device(device.type(), accelerator().current_device());
  data_ = accelerator().allocate(bytes);
}

Storage::Storage(void* data, size_t bytes, Device device, std::function<void(void*)> deleter)
    : data_(data), bytes_(bytes), device_(device), owned_(false), deleter_(std::move(deleter)) {}

Storage::~Storage() {
  delete pending_.load(std::memory_order_relaxed);
  if (owned_ && device_.is_cpu()) {
    cpu::deallocate(data_, bytes_);
  } else if (owned_) {
    accelerator().deallocate(data_);
  } else if (deleter_) {
    deleter_(data_);
  }
}

void Storage::note_captured_write() { current_capture()->wrote(*this); }  // each replay writes again

void Storage::set_pending(std::unique_ptr<PendingScale> pending) {
  delete pending_.exchange(pending.release(), std::memory_order_release);
}

void Storage::resolve_pending() {
  if (capture_id_ != current_capture_id()) {
    check_not_capturing("unscaling a gradient that an earlier step left scaled is impossible",
                        "drop gradients with zero_grad() before the capture");
  }
  const std::lock_guard lock(pending_mutex());
  PendingScale* pending = pending_.load(std::memory_order_relaxed);
  if (!pending) return;
  pending->apply();                                    // if it throws, the factor stays pending
  pending_.store(nullptr, std::memory_order_release);  // other threads may read only from here on
  delete pending;
}

}  // namespace tandem
