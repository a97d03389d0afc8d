// The generator, and the Tensor methods that draw from it.
#include "tandem/tensor/random.h"

#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "tandem/base/check.h"
#include "tandem/math/distributions.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/generator_guard.h"

namespace tandem {

struct Generator::State {
  mutable std::mutex mutex;
  PhiloxState philox;
};

Generator::Generator(uint64_t seed) : state_(std::make_shared<State>()) { state_->philox.seed = seed; }

void Generator::set_current_seed(uint64_t seed) { set_state({seed, 0}); }

uint64_t Generator::current_seed() const { return get_state().seed; }

PhiloxState Generator::get_state() const {
  const std::lock_guard lock(state_->mutex);
  return state_->philox;
}

void Generator::set_state(PhiloxState state) {
  const std::lock_guard lock(state_->mutex);
  state_->philox = state;
}

PhiloxState Generator::reserve(int64_t numel, DeviceType type) {
  const uint64_t counters = (static_cast<uint64_t>(numel) + 3) / 4;
  GraphCapture* capture = current_capture();
  if (capture && type == kCUDA) return reserve_in(*capture, counters);
  const std::lock_guard lock(state_->mutex);
  const PhiloxState start = state_->philox;
  state_->philox.offset += counters;
  return start;
}

/// The counters that a capture draws.
struct Generator::Drawn {
  const uint64_t* slots;
  uint64_t counters = 0;
};

/// Reserves counters in a capture. Nothing is drawn then: each replay reads the generator's state and advances it.
PhiloxState Generator::reserve_in(GraphCapture& capture, uint64_t counters) {
  std::shared_ptr<void>& note = capture.note(state_.get());
  if (!note) {
    const auto drawn = std::make_shared<Drawn>();
    drawn->slots = capture.words(2, [generator = *this](uint64_t* words) {
      const PhiloxState now = generator.get_state();
      words[0] = now.seed;
      words[1] = now.offset;
    });
    capture.after_replay([state = state_, drawn] {
      const std::lock_guard lock(state->mutex);
      state->philox.offset += drawn->counters;
    });
    note = drawn;
  }
  Drawn& drawn = *static_cast<Drawn*>(note.get());
  const PhiloxState start{.offset = drawn.counters, .captured = drawn.slots};
  drawn.counters += counters;
  return start;
}

uint64_t Generator::drawn_in_capture() const {
  GraphCapture* capture = current_capture();
  const void* drawn = capture ? capture->note(state_.get()).get() : nullptr;
  return drawn ? static_cast<const Drawn*>(drawn)->counters : 0;
}

void Generator::set_drawn_in_capture(uint64_t counters) {
  GraphCapture* capture = current_capture();
  void* drawn = capture ? capture->note(state_.get()).get() : nullptr;
  if (drawn) static_cast<Drawn*>(drawn)->counters = counters;
}

Generator*& detail::thread_generator() {
  static thread_local Generator* generator = nullptr;
  return generator;
}

GeneratorGuard::GeneratorGuard(Generator& generator)
    : previous_(std::exchange(detail::thread_generator(), &generator)) {}
GeneratorGuard::~GeneratorGuard() { detail::thread_generator() = previous_; }

Generator& default_generator() {
  if (Generator* const own = detail::thread_generator()) return *own;
  static Generator& generator = *new Generator;  // never destroyed: static objects may still draw at exit
  return generator;
}

void manual_seed(uint64_t seed) { default_generator().set_current_seed(seed); }

namespace {

void check_writable(const Tensor& x) {
  if (is_storage_only(x.dtype())) detail::throw_storage_only_arithmetic(x.dtype());
  checks::not_expanded("the tensor", x);
  TANDEM_CHECK(!(x.requires_grad() && thread_state().grad_mode), AutogradError,
               "the tensor {} {} requires grad and would lose its history; write under NoGradGuard",
               to_string(x.sizes()), name(x.dtype()));
}

void check_floating(const Tensor& x) {
  if (is_storage_only(x.dtype())) detail::throw_storage_only_arithmetic(x.dtype());
  TANDEM_CHECK(x.is_floating_point(), DTypeError, "needs a floating tensor, got {}; convert it with .to(kFloat)",
               name(x.dtype()));
}

// Reserves a random number for each element, from the given generator or the default one.
PhiloxState positions(std::optional<Generator>& generator, const Tensor& x) {
  return (generator ? *generator : default_generator()).reserve(x.numel(), x.device().type());
}

// The range of a dtype, clamped to int64.
struct Range {
  int64_t low, high;
};
Range range_of(DType t) {
  return visit_arithmetic_dtype(t, [](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, Half>) {
      return Range{-65504, 65504};
    } else if constexpr (std::is_integral_v<T>) {
      return Range{static_cast<int64_t>(std::numeric_limits<T>::min()),
                   static_cast<int64_t>(std::numeric_limits<T>::max())};
    } else {
      return Range{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    }
  });
}

}  // namespace

const Tensor& Tensor::uniform_(double from, double to, std::optional<Generator> generator) const {
  const OpScope op("uniform_");
  check_floating(*this);
  check_writable(*this);
  TANDEM_CHECK(std::isfinite(from) && std::isfinite(to), StateError, "from = {} and to = {} must be finite", from, to);
  TANDEM_CHECK(from <= to, StateError, "from = {} is above to = {}; swap them", from, to);
  if (numel() == 0) return *this;
  impl().storage->bump_version();
  tandem::backend(*this).uniform(*this, from, to, positions(generator, *this));
  return *this;
}

const Tensor& Tensor::normal_(double mean, double std, std::optional<Generator> generator) const {
  const OpScope op("normal_");
  check_floating(*this);
  check_writable(*this);
  TANDEM_CHECK(std::isfinite(mean) && std::isfinite(std) && std >= 0, StateError,
               "mean = {}, std = {}; both must be finite, and std at least 0", mean, std);
  if (numel() == 0) return *this;
  impl().storage->bump_version();
  tandem::backend(*this).normal(*this, mean, std, positions(generator, *this));
  return *this;
}

const Tensor& Tensor::bernoulli_(double p, std::optional<Generator> generator) const {
  const OpScope op("bernoulli_");
  check_writable(*this);
  TANDEM_CHECK(p >= 0 && p <= 1, StateError, "p = {} is not a probability; it must be in [0, 1]", p);
  if (numel() == 0) return *this;
  impl().storage->bump_version();
  tandem::backend(*this).bernoulli(*this, p, positions(generator, *this));
  return *this;
}

namespace {

/// Fills x, floating or `any` dtype, from a distribution with the parameters a and b.
const Tensor& draw(const Tensor& x, bool any, kernels::Distribution which, double a, double b,
                   std::optional<Generator>& generator) {
  if (!any) check_floating(x);
  check_writable(x);
  if (x.numel() == 0) return x;
  x.impl().storage->bump_version();
  backend(x).random_from(x, which, a, b, positions(generator, x));
  return x;
}

}  // namespace

const Tensor& Tensor::exponential_(double lambda, std::optional<Generator> generator) const {
  const OpScope op("exponential_");
  TANDEM_CHECK(lambda > 0 && std::isfinite(lambda), StateError, "lambda = {}; it must be positive and finite", lambda);
  return draw(*this, false, kernels::Distribution::exponential, lambda, 0, generator);
}

const Tensor& Tensor::geometric_(double p, std::optional<Generator> generator) const {
  const OpScope op("geometric_");
  TANDEM_CHECK(p > 0 && p < 1, StateError, "p = {}; it must be in (0, 1)", p);
  return draw(*this, true, kernels::Distribution::geometric, std::log1p(-p), 0, generator);
}

const Tensor& Tensor::cauchy_(double median, double sigma, std::optional<Generator> generator) const {
  const OpScope op("cauchy_");
  TANDEM_CHECK(std::isfinite(median) && std::isfinite(sigma) && sigma > 0, StateError,
               "median = {}, sigma = {}; both must be finite, and sigma positive", median, sigma);
  return draw(*this, false, kernels::Distribution::cauchy, median, sigma, generator);
}

const Tensor& Tensor::log_normal_(double mean, double std, std::optional<Generator> generator) const {
  const OpScope op("log_normal_");
  TANDEM_CHECK(std::isfinite(mean) && std::isfinite(std) && std > 0, StateError,
               "mean = {}, std = {}; both must be finite, and std positive", mean, std);
  return draw(*this, false, kernels::Distribution::log_normal, mean, std, generator);
}

const Tensor& Tensor::random_(int64_t high, std::optional<Generator> generator) const {
  return random_(0, high, std::move(generator));
}

const Tensor& Tensor::random_(std::optional<Generator> generator) const {
  const OpScope op("random_");
  int64_t last = range_of(dtype()).high;
  if (is_floating_point()) {
    constexpr int64_t one = 1;
    last = dtype() == kDouble ? one << 53 : dtype() == kFloat ? one << 24 : dtype() == kHalf ? one << 11 : one << 8;
  }
  return random_(0, last == std::numeric_limits<int64_t>::max() ? last : last + 1, std::move(generator));
}

const Tensor& Tensor::random_(int64_t low, int64_t high, std::optional<Generator> generator) const {
  const OpScope op("random_");
  check_writable(*this);
  TANDEM_CHECK(low < high, StateError, "low = {} is not below high = {}; the range must not be empty", low, high);
  const Range range = range_of(dtype());
  TANDEM_CHECK(low >= range.low && high - 1 <= range.high, StateError,
               "[{}, {}) is outside the range of {}, [{}, {}]; narrow it or use a wider dtype", low, high,
               name(dtype()), range.low, range.high);
  if (numel() == 0) return *this;
  impl().storage->bump_version();
  tandem::backend(*this).random_int(*this, low, high, positions(generator, *this));
  return *this;
}

}  // namespace tandem
