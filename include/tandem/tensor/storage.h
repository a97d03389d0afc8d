#pragma once
// Storage: one block of host or device memory, shared by all views of it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/base/device.h"
#include "tandem/tensor/current_capture.h"

#pragma GCC visibility push(default)
namespace tandem {

/// A write that was postponed until the data are accessed: the factor of a gradient that a fused optimizer step left
/// scaled, or values that another rank sends.
struct PendingWrite {
  virtual ~PendingWrite() = default;
  /// Writes the block, which it accesses through data_unresolved(). May wait. If it throws, it is called again at the
  /// next access.
  virtual void apply() = 0;
  /// Throws StateError: the write cannot be part of a graph that is being captured.
  [[noreturn]] virtual void refuse_in_capture() const = 0;
};

/// A block of memory on one device, with a version that grows with every write.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  /// Allocates a block from the device's caching allocator. Throws OutOfMemoryError.
  Storage(size_t bytes, Device device);
  /// Wraps memory of the caller. `deleter` (may be empty) runs when the last view is destroyed.
  Storage(void* data, size_t bytes, Device device, std::function<void(void*)> deleter);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// Returns the memory after a postponed write. Thread-safe: one thread writes, the others wait.
  void* data() {
    if (pending_.load(std::memory_order_acquire)) [[unlikely]]
      resolve_pending();
    return data_;
  }
  /// Returns the memory without doing a postponed write.
  void* data_unresolved() { return data_; }
  size_t nbytes() const { return bytes_; }
  Device device() const { return device_; }

  /// The number of in-place changes so far; bump_version() counts one.
  uint64_t version() const {
    const uint64_t writes = writes_.load(std::memory_order_relaxed);
    return (writes >> 32) + static_cast<uint32_t>(writes);
  }
  void bump_version() { count(1); }
  /// The same for a change of a gradient that is a part of the block, by code that notes the gradient's scale
  /// (autograd/loss_scale.h).
  void bump_version_of_part() { count(kPart); }
  /// Makes the last bump_version() one of a part.
  void count_as_part() { writes_.fetch_add(kPart - 1, std::memory_order_relaxed); }
  /// The number of changes that are not of parts, modulo 2^32.
  uint32_t other_writes() const { return static_cast<uint32_t>(writes_.load(std::memory_order_relaxed)); }
  /// The graph capture during which the block was made, or 0. Each replay of that graph rewrites its contents.
  uint64_t capture_id() const { return capture_id_; }

  /// Raw pointers that have been handed out: none, only pointers for reading, or a pointer through which untracked
  /// writes are possible.
  enum class Pointer : uint8_t { none, reads, writes };
  /// Which pointers have been handed out, and whether writes through one are possible.
  Pointer escaped_pointer() const { return escaped_.load(std::memory_order_relaxed); }
  bool pointer_escaped() const { return escaped_pointer() == Pointer::writes; }
  /// Notes that a pointer has been handed out; a weaker note than the current one changes nothing.
  void set_pointer_escaped(Pointer p = Pointer::writes) {
    if (p > escaped_pointer()) escaped_.store(p, std::memory_order_relaxed);
  }

  /// Postpones a write. The previous one must have been done, by data(). Null drops the pending write, for a block that
  /// was overwritten as a whole.
  void set_pending(std::unique_ptr<PendingWrite> pending);
  bool has_pending() const { return pending_.load(std::memory_order_acquire) != nullptr; }

 private:
  static constexpr uint64_t kPart = uint64_t(1) << 32;

  void count(uint64_t write) {
    writes_.fetch_add(write, std::memory_order_relaxed);
    if (current_capture()) [[unlikely]]
      note_captured_write();
  }
  void resolve_pending();
  void note_captured_write();

  void* data_;
  size_t bytes_;
  Device device_;
  uint64_t capture_id_ = current_capture_id();
  bool owned_;
  std::atomic<Pointer> escaped_{Pointer::none};
  std::atomic<uint64_t> writes_{0};  // of parts in the upper half, others in the lower one
  std::function<void(void*)> deleter_;
  std::atomic<PendingWrite*> pending_{nullptr};  // owned
  std::atomic<bool> resolving_{false};           // locked by the thread that does the pending write
};

}  // namespace tandem
#pragma GCC visibility pop
