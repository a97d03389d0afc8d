// Random numbers of transforms: the generator of the batch, and single draws from it.
#include "tandem/data/random.h"

#include <algorithm>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::data {
namespace {

thread_local const detail::BatchSeed* current_batch_seed = nullptr;

/// The finalizer of splitmix64: a bijection whose outputs for neighbouring inputs are unrelated.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Generator& transform_generator() {
  if (!current_batch_seed || (!current_batch_seed->seeded_ && !current_batch_seed->in_worker_))
    return default_generator();
  TANDEM_CHECK(current_batch_seed->seeded_, StateError,
               "it draws random numbers in a worker of a data loader that did not seed them, so the batches would not "
               "be repeatable; pass the transform itself to map(), or let the dataset or the function object have "
               "`bool is_random() const` that returns true");
  return const_cast<Generator&>(current_batch_seed->generator_);
}

namespace detail {

BatchSeed::BatchSeed(std::optional<uint64_t> epoch_seed, uint64_t batch, bool in_worker)
    : generator_(mix(epoch_seed.value_or(0) + 0x9e3779b97f4a7c15u * (batch + 1))),
      outer_(current_batch_seed),
      seeded_(epoch_seed.has_value()),
      in_worker_(in_worker) {
  current_batch_seed = this;
}
BatchSeed::~BatchSeed() { current_batch_seed = outer_; }

uint64_t draw_epoch_seed() {
  const PhiloxState at = default_generator().reserve(1);
  return mix(mix(at.seed) + at.offset) >> 1;  // fits into an i64, so that a state can hold it
}

double uniform(double low, double high) {
  const Tensor u = rand({1}, transform_generator(), TensorOptions(kDouble).device(kCPU));
  return low + (high - low) * *u.const_data_ptr<double>();
}

int64_t uniform_below(int64_t count) {
  const double drawn = uniform(0, static_cast<double>(count));
  return std::min(static_cast<int64_t>(drawn), count - 1);
}

bool chance(double p) { return uniform(0, 1) < p; }

}  // namespace detail
}  // namespace tandem::data
