#pragma once
// Storage: one block of device memory, shared by the views of it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/base/device.h"

namespace tandem {

/// A multiplication that a fused optimizer step has postponed: every element stands for itself times a factor.
/// Whoever asks for the data has it applied first.
struct PendingScale {
  virtual ~PendingScale() = default;
  /// Multiplies the block's elements. Called once; the storage has already forgotten the pending factor.
  virtual void apply() = 0;
};

/// A block of memory on one device, with a version that grows with every write.
class Storage {
 public:
  /// A block from the device's caching allocator. Throws OutOfMemoryError.
  Storage(size_t bytes, Device device);
  /// Memory of somebody else; `deleter` (may be empty) runs when the last view dies.
  Storage(void* data, size_t bytes, Device device, std::function<void(void*)> deleter);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() {
    if (pending_) [[unlikely]]
      resolve_pending();
    return data_;
  }
  /// The memory as it lies, a postponed factor not applied.
  void* data_unresolved() { return data_; }
  size_t nbytes() const { return bytes_; }
  Device device() const { return device_; }

  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  /// True once a mutable pointer has been handed out: writes through it go unseen.
  bool pointer_escaped() const { return pointer_escaped_.load(std::memory_order_relaxed); }
  void set_pointer_escaped() { pointer_escaped_.store(true, std::memory_order_relaxed); }

  void set_pending(std::unique_ptr<PendingScale> pending) { pending_ = std::move(pending); }
  PendingScale* pending() const { return pending_.get(); }
  /// Drops the postponed factor: the block is about to be overwritten.
  void discard_pending() { pending_.reset(); }

 private:
  void resolve_pending();

  void* data_;
  size_t bytes_;
  Device device_;
  bool owned_;
  std::atomic<bool> pointer_escaped_{false};
  std::atomic<uint64_t> version_{0};
  std::function<void(void*)> deleter_;
  std::unique_ptr<PendingScale> pending_;
};

}  // namespace tandem
