#include "tandem/amp/cast_cache.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

/// A weight's casts, one for each low dtype. The weight is held weakly: its address cannot be taken by another tensor
/// while the entry stands, and its memory is not kept alive.
struct Entry {
  std::weak_ptr<TensorImpl> weight;
  DataVersion version;
  Tensor casts[2];
};

size_t slot(DType dtype) { return dtype == kHalf ? 0 : 1; }

struct Cache {
  std::unordered_map<const TensorImpl*, Entry> entries;
  CastCacheStats stats;
};

// One cache for each thread: nobody waits for another thread's cast, and nobody drops it.
Cache& cache() {
  static thread_local Cache c;
  return c;
}

std::atomic<int64_t> byte_limit{INT64_MAX};

Tensor cast(Cache& c, const Tensor& x, DType dtype) {
  Tensor y = empty_like(x, dtype);
  backend(x).copy(y, x);
  c.stats.cast_bytes += static_cast<int64_t>(y.nbytes());
  return y;
}

bool is_weight(const Tensor& x) {
  const TensorImpl& impl = x.impl();
  return impl.dtype == kFloat && !impl.has_history && !impl.is_inference && (impl.requires_grad || impl.is_parameter);
}

/// Guards the shadow of a weight: threads that share a model look it up at the same time. Held for a look, not a cast.
std::mutex& shadow_mutex(const Tensor& weight) {
  static std::mutex mutexes[16];
  return mutexes[reinterpret_cast<uintptr_t>(&weight.impl()) / 64 % 16];
}

/// The weight's low-precision copy, if it is still the weight's value; null otherwise. The mutex must be held.
const ShadowCopy* current_shadow(const Tensor& weight) {
  const TensorImpl& impl = weight.impl();
  const ShadowCopy* shadow = impl.shadow.get();
  const bool current = shadow && shadow->copy && shadow->version == impl.data_version();
  return current && !impl.storage->pointer_escaped() ? shadow : nullptr;
}

/// Offers a weight's cast as the memory into which the optimizer may write the next one, if one has asked.
void offer_buffer(const Tensor& weight, const Tensor& cast) {
  std::lock_guard lock(shadow_mutex(weight));
  ShadowCopy* shadow = weight.impl().shadow.get();
  if (!shadow) return;
  const ShadowCopy* current = current_shadow(weight);
  if (current && current->copy->dtype == cast.dtype()) return;
  *shadow = {cast.impl_ptr(), weight.impl().data_version(), false};
}

void forget(Cache& c, Tensor& held) {
  if (!held.defined()) return;
  --c.stats.entries;
  c.stats.bytes -= static_cast<int64_t>(held.nbytes());
  held = Tensor();
}

}  // namespace

CastCacheStats autocast_cache_stats() { return cache().stats; }

void clear_autocast_cache() {
  Cache& c = cache();
  c.entries.clear();
  c.stats.entries = 0;
  c.stats.bytes = 0;
}

void set_autocast_cache_limit(int64_t bytes) {
  TANDEM_CHECK(bytes >= 0, StateError, "set_autocast_cache_limit: bytes = {}; it must be at least 0 (0: keep no casts)",
               bytes);
  byte_limit.store(bytes);
}

namespace detail {

Tensor cached_cast(const Tensor& x, DType dtype) {
  Cache& c = cache();
  const ThreadState& state = thread_state();
  const bool cachable =
      is_reduced_floating_point(dtype) && is_weight(x) && state.autocast_cache_enabled && !state.inference_mode;
  if (!cachable) {
    ++c.stats.uncached;
    return cast(c, x, dtype);
  }
  if (Tensor copy = lasting_copy(x, dtype); copy.defined()) {
    ++c.stats.hits;
    return copy;
  }
  Entry& entry = c.entries[&x.impl()];
  if (entry.version != x.impl().data_version() || entry.weight.lock() != x.impl_ptr()) {
    for (Tensor& held : entry.casts) forget(c, held);
    entry.weight = x.impl_ptr();
    entry.version = x.impl().data_version();
  }
  Tensor& held = entry.casts[slot(dtype)];
  if (held.defined()) {
    ++c.stats.hits;
    return held;
  }
  Tensor y = cast(c, x, dtype);
  if (c.stats.bytes + static_cast<int64_t>(y.nbytes()) > byte_limit.load(std::memory_order_relaxed)) {
    ++c.stats.uncached;
    return y;
  }
  held = y;
  if (state.grad_mode && x.requires_grad()) offer_buffer(x, y);
  ++c.stats.misses;
  ++c.stats.entries;
  c.stats.bytes += static_cast<int64_t>(y.nbytes());
  return y;
}

Tensor lasting_copy(const Tensor& weight, DType dtype) {
  std::lock_guard lock(shadow_mutex(weight));
  const ShadowCopy* shadow = current_shadow(weight);
  return shadow && shadow->lasting && shadow->copy->dtype == dtype ? Tensor(shadow->copy) : Tensor();
}

Tensor lasting_buffer(const Tensor& weight) {
  std::lock_guard lock(shadow_mutex(weight));
  std::unique_ptr<ShadowCopy>& asked = weight.impl().shadow;
  if (!asked) asked = std::make_unique<ShadowCopy>();
  const ShadowCopy* shadow = current_shadow(weight);
  return shadow ? Tensor(shadow->copy) : Tensor();
}

void set_lasting_copy(const Tensor& weight, const Tensor& copy) {
  std::lock_guard lock(shadow_mutex(weight));
  std::unique_ptr<ShadowCopy>& shadow = weight.impl().shadow;
  if (!shadow) shadow = std::make_unique<ShadowCopy>();
  *shadow = {copy.impl_ptr(), weight.impl().data_version(), true};
}

}  // namespace detail
}  // namespace tandem::amp
