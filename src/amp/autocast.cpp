#include "tandem/amp/autocast.h"

#include <atomic>

#include "tandem/amp/gradient_dtype.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"
#include "tandem/tensor/accelerator.h"

namespace tandem::amp {
namespace {

AutocastState& state_of(DeviceType type) { return thread_state().autocast[static_cast<int>(type)]; }
std::shared_ptr<const WeightProducts>& products_of(DeviceType type) {
  return thread_state().weight_products[static_cast<int>(type)];
}

void check_dtype(DType dtype) {
  TANDEM_CHECK(is_reduced_floating_point(dtype), DTypeError,
               "the low dtype must be f16 or bf16, not {}; to disable autocast, pass enabled = false",
               tandem::name(dtype));
}

std::atomic<GradientDType> gradient_mode{GradientDType::Full};

}  // namespace

AutocastGuard::AutocastGuard(DeviceType type, std::optional<DType> dtype, bool enabled,
                             std::optional<bool> cache_enabled)
    : type_(type),
      previous_(state_of(type)),
      previous_cache_(thread_state().autocast_cache_enabled),
      previous_products_(products_of(type)) {
  const OpScope op("AutocastGuard");
  AutocastState next{enabled, dtype.value_or(previous_.dtype)};
  if (enabled) check_dtype(next.dtype);
  // A disabled region may name any dtype, as in `autocast(enabled = false, dtype = f32)`; regions inside it do not
  // inherit that dtype.
  if (!is_reduced_floating_point(next.dtype)) next.dtype = previous_.dtype;
  if (enabled && !is_autocast_available(type)) {
    warn_once(fmt::format("no {} device is available; this region has no effect", tandem::name(type)));
    next.enabled = false;
  }
  ThreadState& state = thread_state();
  state_of(type) = next;
  state.autocast_cache_enabled = cache_enabled.value_or(previous_cache_);
  products_of(type) = nullptr;
  ++state.autocast_nesting;
}

AutocastGuard::~AutocastGuard() {
  ThreadState& state = thread_state();
  --state.autocast_nesting;
  detail::end_casts_outside_regions();
  state_of(type_) = previous_;
  state.autocast_cache_enabled = previous_cache_;
  products_of(type_) = std::move(previous_products_);
}

bool is_autocast_enabled(DeviceType type) { return state_of(type).enabled; }
void set_autocast_enabled(DeviceType type, bool enabled) { state_of(type).enabled = enabled; }
DType get_autocast_dtype(DeviceType type) { return state_of(type).dtype; }

void set_autocast_dtype(DeviceType type, DType dtype) {
  const OpScope op("set_autocast_dtype");
  check_dtype(dtype);
  state_of(type).dtype = dtype;
}

bool is_autocast_available(DeviceType type) { return type == kCPU || accelerator().is_available(); }
bool is_autocast_cache_enabled() { return thread_state().autocast_cache_enabled; }
void set_autocast_cache_enabled(bool enabled) { thread_state().autocast_cache_enabled = enabled; }
int increment_autocast_nesting() { return ++thread_state().autocast_nesting; }
int decrement_autocast_nesting() {
  const OpScope op("decrement_autocast_nesting");
  int& nesting = thread_state().autocast_nesting;
  TANDEM_CHECK(nesting > 0, StateError, "the thread is in no region; call increment_autocast_nesting() first");
  return --nesting;
}

void set_gradient_dtype(GradientDType mode) { gradient_mode.store(mode); }
GradientDType gradient_dtype() { return gradient_mode.load(std::memory_order_relaxed); }

}  // namespace tandem::amp
