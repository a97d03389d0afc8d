#pragma once
// GraphCapture: host-side work to repeat at each replay of a graph. A graph repeats only device work. Code that runs
// while a graph is captured registers here what the host must do at each replay: supply values that may have changed,
// and update its own records of the step. Outside a capture nothing is registered, at no cost.
// Internal: programs use CUDAGraph (cuda/graph.h).
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/tensor/current_capture.h"

#pragma GCC visibility push(default)
namespace tandem {

class Storage;
class Tensor;

/// Whether the program has captured a graph. Graphs read memory without Storage::data().
bool graphs_were_captured();

/// The capture of one graph, and the host-side work of its replays.
class GraphCapture {
 public:
  using Hook = std::function<void()>;

  /// `new_slots` allocates device memory of kSlots words, which the graph itself never writes.
  explicit GraphCapture(std::function<Tensor()> new_slots);
  ~GraphCapture();
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;

  // ---- for code that is being recorded
  uint64_t id() const { return id_; }
  /// Returns the device address of `count` values that the host may change between replays. Before each replay, `get`
  /// supplies the values. If `get` throws, the replay stops before the graph is launched.
  const uint64_t* words(size_t count, std::function<void(uint64_t*)> get);
  const double* numbers(size_t count, std::function<void(double*)> get);
  /// Registers a hook that runs before each replay, in order of registration. It may launch work and may throw.
  void before_replay(Hook hook) { before_.push_back(std::move(hook)); }
  /// Registers a hook that runs after each launch of the graph, in order of registration.
  void after_replay(Hook hook) { after_.push_back(std::move(hook)); }
  /// Registers a hook that runs once, when the capture ends or is abandoned.
  void at_end(Hook hook) { at_end_.push_back(std::move(hook)); }
  /// Keeps an object alive as long as the graph.
  void hold(std::shared_ptr<void> what) { held_.push_back(std::move(what)); }
  const std::vector<std::shared_ptr<void>>& held() const { return held_; }
  /// Records that the graph writes this memory. Each replay raises its version.
  void wrote(Storage& storage);
  /// Per-capture slot for caller data, keyed by an address that the caller owns. Initially null.
  std::shared_ptr<void>& note(const void* key) { return notes_[key]; }

  // ---- for the graph
  /// From begin() to end() this is the calling thread's current capture.
  void begin();
  void end();
  /// Words to write to one block of device memory before the launch.
  struct Update {
    const Tensor& slots;  ///< kSlots words
    const std::vector<uint64_t>& words;
  };
  static constexpr size_t kSlots = 480;  ///< words per block; they fit into the parameters of one kernel
  /// Runs the hooks, gets all values, and returns the blocks with changed values.
  std::vector<Update> before_launch();
  /// Raises the versions of the tensors that the graph has written, and runs the hooks that follow a launch.
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

}  // namespace tandem
#pragma GCC visibility pop
