// Storage: allocation and release of blocks.
#include "tandem/tensor/storage.h"

#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/device_guard.h"

namespace tandem {
namespace {

/// Locks a flag, which needs less space in a block than a mutex. Each block has its own, since a write may wait for
/// another rank, which may be a thread that needs the data of another block first.
class FlagLock {
 public:
  explicit FlagLock(std::atomic<bool>& flag) : flag_(flag) {
    while (flag_.exchange(true, std::memory_order_acquire)) flag_.wait(true, std::memory_order_relaxed);
  }
  ~FlagLock() {
    flag_.store(false, std::memory_order_release);
    flag_.notify_all();
  }
  FlagLock(const FlagLock&) = delete;
  FlagLock& operator=(const FlagLock&) = delete;

 private:
  std::atomic<bool>& flag_;
};

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
    accelerator().deallocate(data_, device_);
  } else if (deleter_) {
    deleter_(data_);
  }
}

void Storage::note_captured_write() { current_capture()->wrote(*this); }  // each replay writes again

void Storage::set_pending(std::unique_ptr<PendingWrite> pending) {
  delete pending_.exchange(pending.release(), std::memory_order_release);
}

void Storage::resolve_pending() {
  const FlagLock lock(resolving_);
  PendingWrite* pending = pending_.load(std::memory_order_relaxed);
  if (!pending) return;
  if (current_capture() && capture_id_ != current_capture_id()) pending->refuse_in_capture();
  pending->apply();                                    // if it throws, the write stays pending
  pending_.store(nullptr, std::memory_order_release);  // other threads may read only from here on
  delete pending;
}

}  // namespace tandem
