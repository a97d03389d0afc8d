#pragma once
// Capture: what code that is being recorded into a CUDA graph says of the host's part in it. A graph repeats what the
// device was told; values that the host may change between replays, and what it notes down after a step, are repeated
// by what was registered here while the graph was captured. Outside a capture nothing is registered and costs nothing.
// Internal: programs use CUDAGraph (cuda/graph.h).
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tandem {
class Storage;
class Tensor;
}  // namespace tandem

namespace tandem::cuda {

class Capture;

namespace detail {
inline constinit thread_local Capture* running_capture = nullptr;
}

/// The capture that the calling thread is recording; null outside.
inline Capture* current_capture() { return detail::running_capture; }
/// Its number, never that of another; 0 outside.
uint64_t current_capture_id();

/// Throws StateError in a capture: the running op, or `call` outside of ops; `what` is impossible there; `cure` says
/// what to do instead.
[[noreturn]] void refuse_in_capture(const char* what, const char* cure, const char* call);
inline void check_not_capturing(const char* what, const char* cure, const char* call = "tandem") {
  if (current_capture()) [[unlikely]]
    refuse_in_capture(what, cure, call);
}

class Capture {
 public:
  using Hook = std::function<void()>;

  /// `new_slots` makes memory of kSlots words that the graph itself never writes.
  explicit Capture(std::function<Tensor()> new_slots);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // ---- for code that is being recorded
  uint64_t id() const { return id_; }
  /// Device memory in which the graph finds `count` numbers that the host may change: before every replay `get` writes
  /// them anew. May throw, which stops the replay before anything was launched.
  const uint64_t* words(size_t count, std::function<void(uint64_t*)> get);
  const double* numbers(size_t count, std::function<void(double*)> get);
  /// Before every replay, in order. May launch work and may throw.
  void before_replay(Hook hook) { before_.push_back(std::move(hook)); }
  /// After every replay was launched, in order.
  void after_replay(Hook hook) { after_.push_back(std::move(hook)); }
  /// Once, when the capture ends or is given up.
  void at_end(Hook hook) { at_end_.push_back(std::move(hook)); }
  /// Keeps something as long as the graph.
  void hold(std::shared_ptr<void> what) { held_.push_back(std::move(what)); }
  const std::vector<std::shared_ptr<void>>& held() const { return held_; }
  /// The graph writes this memory: its version rises after every replay.
  void wrote(Storage& storage);
  /// What somebody keeps with the capture, by the address of something of his; at first null.
  std::shared_ptr<void>& note(const void* key) { return notes_[key]; }

  // ---- for the graph
  /// From begin() to end() it is the calling thread's current capture.
  void begin();
  void end();
  /// Words to write before the launch: those of one block of memory.
  struct Update {
    const Tensor& slots;  ///< kSlots words
    const std::vector<uint64_t>& words;
  };
  static constexpr size_t kSlots = 480;  ///< words that travel as a kernel's parameters
  /// Runs the hooks, asks for all values, and returns the blocks in which one has changed.
  std::vector<Update> before_launch();
  void after_launch();

 private:
  struct Block;
  struct Source {
    Block* block;
    size_t first;
    std::function<void(uint64_t*)> get;
  };

  uint64_t id_;
  std::function<Tensor()> new_slots_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Source> sources_;
  std::vector<Hook> before_, after_, at_end_;
  std::vector<std::shared_ptr<void>> held_;
  std::unordered_map<Storage*, std::weak_ptr<Storage>> written_;
  std::unordered_map<const void*, std::shared_ptr<void>> notes_;
};

}  // namespace tandem::cuda
