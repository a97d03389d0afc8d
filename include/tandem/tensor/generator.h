#pragma once
// Generator: the seed and the position of a stream of random numbers. The default generator is in tensor/random.h.
#include <cstdint>
#include <memory>

#include "tandem/base/device.h"

#pragma GCC visibility push(default)
namespace tandem {

class GraphCapture;
struct PhiloxState;

/// A seed and a position in its Philox stream. Copies share the state, as in libtorch. Thread-safe.
class Generator {
 public:
  /// The default seed, the same as PyTorch's.
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(uint64_t seed = kDefaultSeed);
  // No move operations, so that moving copies: a moved-from generator would have no state.
  Generator(const Generator&) = default;
  Generator& operator=(const Generator&) = default;

  /// Sets the seed, and the position to the beginning of its stream.
  void set_current_seed(uint64_t seed);
  uint64_t current_seed() const;
  /// Returns seed and position. Passing them to set_state() later repeats the numbers drawn in between. PhiloxState is
  /// declared in backend.h.
  PhiloxState get_state() const;
  /// Continues from such a state.
  void set_state(PhiloxState state);
  /// Returns the position for a kernel that writes `numel` numbers on a device of this type, and advances the stream by
  /// ceil(numel / 4) counters. For a kernel that is captured into a CUDA graph, each replay advances it instead.
  PhiloxState reserve(int64_t numel, DeviceType type = kCPU);

  /// Returns the number of counters drawn so far in the calling thread's graph capture; 0 outside a capture. Together
  /// with the state, it is the position in the stream. Internal.
  uint64_t drawn_in_capture() const;
  /// Moves to a position that drawn_in_capture() returned in this capture. Internal.
  void set_drawn_in_capture(uint64_t counters);

 private:
  struct State;
  struct Drawn;
  PhiloxState reserve_in(GraphCapture& capture, uint64_t counters);
  std::shared_ptr<State> state_;
};

}  // namespace tandem
#pragma GCC visibility pop
