// Random numbers of transforms: the generator of the batch, and single draws from it.
#include "tandem/data/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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
               "be repeatable; give map() a transform that has `bool is_random() const` instead of a function, or "
               "override is_random() in the dataset");
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

namespace {

/// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
double gamma_variate(double shape) {
  if (shape < 1) {
    const double boosted = gamma_variate(shape + 1);  // before the power's draw: the order of draws is defined
    return boosted * std::pow(1 - uniform(0, 1), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
    const double x = radius * std::cos(2 * std::numbers::pi * uniform(0, 1)), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - uniform(0, 1)) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

double beta_variate(double alpha) {
  const double a = gamma_variate(alpha), b = gamma_variate(alpha);
  return a + b > 0 ? a / (a + b) : 0.5;  // both round to 0 for a tiny alpha
}

}  // namespace detail
}  // namespace tandem::data
