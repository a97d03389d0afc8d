#pragma once
// Storage: one block of device memory, shared by the views of it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/base/device.h"
#include "tandem/cuda/capture.h"

namespace tandem {

/// A multiplication that a fused optimizer step has postponed: every element stands for itself times a factor.
/// Whoever asks for the data has it applied first.
struct PendingScale {
  virtual ~PendingScale() = default;
  /// Multiplies the block's elements, reached by data_unresolved(). Called once.
  virtual void apply() = 0;
};

/// A block of memory on one device, with a version that grows with every write.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  /// A block from the device's caching allocator. Throws OutOfMemoryError.
  Storage(size_t bytes, Device device);
  /// Memory of somebody else; `deleter` (may be empty) runs when the last view dies.
  Storage(void* data, size_t bytes, Device device, std::function<void(void*)> deleter);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// The memory, with a postponed factor applied. Any number of threads may ask at once: one applies it, all wait.
  void* data() {
    if (pending_.load(std::memory_order_acquire)) [[unlikely]]
      resolve_pending();
    return data_;
  }
  /// The memory as it lies, a postponed factor not applied.
  void* data_unresolved() { return data_; }
  size_t nbytes() const { return bytes_; }
  Device device() const { return device_; }

  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() {
    version_.fetch_add(1, std::memory_order_relaxed);
    if (cuda::Capture* capture = cuda::current_capture()) [[unlikely]]
      capture->wrote(*this);  // every replay writes again
  }
  /// The capture of a CUDA graph during which the block was made, 0 for none: each replay makes its contents anew.
  uint64_t capture_id() const { return capture_id_; }

  /// What has been handed out: a pointer that may write later, unseen; or one that may only read.
  enum class Pointer : uint8_t { none, reads, writes };
  Pointer escaped_pointer() const { return escaped_.load(std::memory_order_relaxed); }
  bool pointer_escaped() const { return escaped_pointer() == Pointer::writes; }
  void set_pointer_escaped(Pointer p = Pointer::writes) {
    if (p > escaped_pointer()) escaped_.store(p, std::memory_order_relaxed);
  }

  /// Postpones a factor; null drops one, for values that were overwritten as a whole. There must be none yet: data()
  /// was asked for since.
  void set_pending(std::unique_ptr<PendingScale> pending);
  bool has_pending() const { return pending_.load(std::memory_order_acquire) != nullptr; }

 private:
  void resolve_pending();

  void* data_;
  size_t bytes_;
  Device device_;
  uint64_t capture_id_ = cuda::current_capture_id();
  bool owned_;
  std::atomic<Pointer> escaped_{Pointer::none};
  std::atomic<uint64_t> version_{0};
  std::function<void(void*)> deleter_;
  std::atomic<PendingScale*> pending_{nullptr};  // owned
};

}  // namespace tandem
