#pragma once
// Generator: the seed and the position of a stream of random numbers. What draws from it is in tensor/random.h.
#include <cstdint>
#include <memory>

#include "tandem/base/device.h"

namespace tandem {

struct PhiloxState;
namespace cuda {
class Capture;
}

/// A seed and a position in its Philox stream. Copies share the state, as in libtorch. Safe to use from many threads.
class Generator {
 public:
  /// The seed of a program that sets none, PyTorch's.
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(uint64_t seed = kDefaultSeed);
  // Copies only: a generator that was moved from would have no state.
  Generator(const Generator&) = default;
  Generator& operator=(const Generator&) = default;

  /// Starts the stream of `seed` from its beginning.
  void set_current_seed(uint64_t seed);
  uint64_t current_seed() const;
  /// Seed and position; `set_state(get_state())` replays what came between. PhiloxState is in tensor/random.h.
  PhiloxState get_state() const;
  void set_state(PhiloxState state);
  /// The position for a kernel on a device of this type that writes `numel` numbers; moves on by ceil(numel / 4)
  /// counters: where the kernel is recorded into a CUDA graph, at each replay.
  PhiloxState reserve(int64_t numel, DeviceType type = kCPU);

  /// The counters that the CUDA graph which the calling thread records has drawn; 0 outside of a capture. Beside the
  /// state, the position in the stream. Internal: programs draw in order.
  uint64_t drawn_in_capture() const;
  /// Goes back, or forth, to what drawn_in_capture() gave in this capture.
  void set_drawn_in_capture(uint64_t counters);

 private:
  struct State;
  struct Drawn;
  PhiloxState reserve_in(cuda::Capture& capture, uint64_t counters);
  std::shared_ptr<State> state_;
};

}  // namespace tandem
