#pragma once
// The random numbers of transforms and datasets. A data loader seeds them for each batch, so that batches depend
// neither on the number of workers nor on what was prepared ahead.
#include <cstdint>
#include <optional>

#include "tandem/tensor/generator.h"

#pragma GCC visibility push(default)
namespace tandem::data {

/// Returns the generator from which the calling thread's transforms draw: the one that the data loader seeded for the
/// batch, otherwise the default generator. Throws StateError in a worker of a loader whose dataset does not report
/// `is_random()`: the order of the draws would depend on the timing of the workers.
Generator& transform_generator();

namespace detail {

/// While it exists, transforms of the calling thread draw from a stream that is determined by `epoch_seed` and the
/// number of the batch. Without a seed, they may draw only if `in_worker` is false.
class BatchSeed {
 public:
  BatchSeed(std::optional<uint64_t> epoch_seed, uint64_t batch, bool in_worker);
  ~BatchSeed();
  BatchSeed(const BatchSeed&) = delete;
  BatchSeed& operator=(const BatchSeed&) = delete;

 private:
  Generator generator_;
  const BatchSeed* outer_;
  bool seeded_, in_worker_;
  friend Generator& data::transform_generator();
};

/// Draws the seed of an epoch from the default generator.
uint64_t draw_epoch_seed();

/// Draws a number in [low, high).
double uniform(double low, double high);
/// Draws a whole number in [0, count), for a count from 1 to 2^53.
int64_t uniform_below(int64_t count);
/// Returns true with probability p.
bool chance(double p);
/// Draws from the beta distribution with both parameters `alpha`.
double beta_variate(double alpha);

}  // namespace detail
}  // namespace tandem::data
#pragma GCC visibility pop
