#pragma once
// Random numbers: one counter-based stream (Philox 4x32-10), the same on every device and thread count.
#include <cstdint>
#include <memory>

#include "tandem/backend.h"

namespace tandem {

/// A seed and a position in its Philox stream. Copies share the state, as in libtorch. Safe to use from many threads.
class Generator {
 public:
  /// The seed of a program that sets none, PyTorch's.
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(uint64_t seed = kDefaultSeed);
  /// Starts the stream of `seed` from its beginning.
  void set_current_seed(uint64_t seed);
  uint64_t current_seed() const;
  /// Seed and position; `set_state(get_state())` replays what came between.
  PhiloxState get_state() const;
  void set_state(PhiloxState state);
  /// The position for a kernel that writes `numel` numbers; moves on by ceil(numel / 4) counters.
  PhiloxState reserve(int64_t numel);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// The generator that factories, Tensor::normal_ and its kin, and dropout draw from, on every device.
Generator& default_generator();

/// Restarts the default generator: `manual_seed(0)` makes a program's random numbers repeatable.
void manual_seed(uint64_t seed);

}  // namespace tandem
