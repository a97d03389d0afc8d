#include "tandem/amp/cast_cache.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/base/of_thread.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

/// What was made of a weight, under its name (cached_with_weight).
struct Named {
  std::string name;
  uint64_t tag;
  std::vector<Tensor> tensors;
};

/// The casts of one weight, one per low dtype, and the named values. The weak pointer keeps the weight's address from
/// being reused while the entry exists, without keeping the weight's memory alive.
struct Entry {
  std::weak_ptr<TensorImpl> weight;
  DataVersion version;
  Tensor casts[2];
  std::vector<Named> named;
};

int64_t bytes_of(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors) bytes += static_cast<int64_t>(t.nbytes());
  return bytes;
}

size_t slot(DType dtype) { return dtype == kHalf ? 0 : 1; }

struct Cache {
  std::unordered_map<const TensorImpl*, Entry> entries;
  CastCacheStats stats;
  uint64_t capture = 0;    ///< id of the capture in which the casts were recorded; 0: they were computed eagerly
  int64_t live_bytes = 0;  ///< bytes of casts kept by the last release_dead()

  void clear() {
    entries.clear();
    stats.entries = 0;
    stats.bytes = 0;
    live_bytes = 0;
  }

  void forget(Entry& entry) {
    for (Tensor& held : entry.casts) {
      if (held.defined()) forget(static_cast<int64_t>(held.nbytes()));
    }
    for (const Named& held : entry.named) forget(bytes_of(held.tensors));
  }
  void forget(int64_t bytes) {
    --stats.entries;
    stats.bytes -= bytes;
  }

  /// Releases the casts of destroyed weights once the cache is twice as large as the last release left it. Amortised,
  /// each entry is visited about twice, and dead casts never take more memory than the live and the newest ones.
  void release_dead() {
    if (stats.bytes < 2 * live_bytes) return;
    for (auto entry = entries.begin(); entry != entries.end();) {
      if (!entry->second.weight.expired()) {
        ++entry;
        continue;
      }
      forget(entry->second);
      entry = entries.erase(entry);
    }
    live_bytes = stats.bytes;
  }

  /// The entry of a weight with its present value; null if there is none. Drops an outdated one.
  Entry* find(const Tensor& weight) {
    const auto found = entries.find(&weight.impl());
    if (found == entries.end()) return nullptr;
    Entry& entry = found->second;
    if (entry.version == weight.impl().data_version() && entry.weight.lock() == weight.impl_ptr()) return &entry;
    forget(entry);
    entries.erase(found);
    return nullptr;
  }

  /// Counts a value that was made of the weight's value of this version. Returns the entry to keep it in, or null if
  /// the value would exceed the limit.
  Entry* admit(const Tensor& weight, DataVersion version, int64_t bytes, int64_t limit) {
    if (stats.bytes + bytes > limit) {
      ++stats.uncached;
      return nullptr;
    }
    Entry& entry = entries[&weight.impl()];
    entry.weight = weight.impl_ptr();
    entry.version = version;
    ++stats.misses;
    ++stats.entries;
    stats.bytes += bytes;
    return &entry;
  }
};

/// One pair of caches per thread, so that threads neither wait for nor drop each other's casts. Casts recorded in a
/// capture have no value until replay and change at each replay: they are valid only within that capture, and casts
/// made before it are not used in it.
struct Caches {
  Cache made, recorded;
};
Caches& caches() {
  return tandem::detail::of_thread([] { return Caches(); });
}
Cache& cache() {
  GraphCapture* capture = current_capture();
  Caches& c = caches();
  if (!capture) [[likely]]
    return c.made;
  if (c.recorded.capture != capture->id()) {
    c.recorded.clear();
    c.recorded.capture = capture->id();
    capture->at_end([] { caches().recorded.clear(); });
  }
  return c.recorded;
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

/// The mutex of a weight's shadow: threads that share a model look it up concurrently. Held for the lookup, not for the
/// cast.
std::mutex& shadow_mutex(const Tensor& weight) {
  static std::mutex mutexes[16];
  return mutexes[reinterpret_cast<uintptr_t>(&weight.impl()) / 64 % 16];
}

/// Returns the weight's low-precision copy if it matches the weight's current value, else null. The mutex must be held.
const ShadowCopy* current_shadow(const Tensor& weight) {
  const TensorImpl& impl = weight.impl();
  const ShadowCopy* shadow = impl.shadow.get();
  const bool current = shadow && shadow->copy && shadow->version == impl.data_version();
  return current && !impl.storage->pointer_escaped() ? shadow : nullptr;
}

/// Offers a weight's cast to the optimizer as the buffer for the next cast, if the optimizer asked for one. Memory of a
/// graph is not offered.
void offer_buffer(const Tensor& weight, const Tensor& cast) {
  if (current_capture()) return;
  std::lock_guard lock(shadow_mutex(weight));
  ShadowCopy* shadow = weight.impl().shadow.get();
  if (!shadow || shadow->in_graph) return;
  const ShadowCopy* current = current_shadow(weight);
  if (current && current->copy->dtype == cast.dtype()) return;
  *shadow = {cast.impl_ptr(), weight.impl().data_version(), false};
}

/// A weight and its copy, for a graph that reads or writes the copy's memory. Neither is owned: the weight keeps the
/// copy permanently once in_graph is set, and the graph reads the weight's memory as well.
struct GraphCopy {
  std::weak_ptr<TensorImpl> weight, copy;

  /// Runs before a replay: updates the copy if the weight was written since.
  void refresh() const {
    const std::shared_ptr<TensorImpl> w = weight.lock(), c = copy.lock();
    TANDEM_CHECK(
        w && c, StateError,
        "a weight that the graph uses was destroyed; keep the model alive as long as the graph, or capture again");
    const Tensor source(w), target(c);
    {
      std::lock_guard lock(shadow_mutex(source));
      const ShadowCopy* current = current_shadow(source);
      if (current && current->copy == c) return;
    }
    backend(source).copy(target, source);
    c->storage->bump_version();
    detail::set_lasting_copy(source, target);
  }
  bool is_current() const {
    const std::shared_ptr<TensorImpl> w = weight.lock(), c = copy.lock();
    if (!w || !c) return false;
    const Tensor source(w);
    std::lock_guard lock(shadow_mutex(source));
    const ShadowCopy* current = current_shadow(source);
    return current && current->lasting && current->copy == c;
  }
  /// Runs after a replay whose optimizer step has written both.
  void declare() const {
    const std::shared_ptr<TensorImpl> w = weight.lock(), c = copy.lock();
    if (w && c) detail::set_lasting_copy(Tensor(w), Tensor(c));
  }
};

/// The hooks already registered with a capture for a weight's copy, so that each is registered once.
struct GraphNotes {
  bool read = false, written = false;
};
GraphNotes& graph_notes(GraphCapture& capture, const Tensor& copy) {
  std::shared_ptr<void>& note = capture.note(&copy.impl());
  if (!note) note = std::make_shared<GraphNotes>();
  return *static_cast<GraphNotes*>(note.get());
}
void note_read(GraphCapture& capture, const Tensor& weight, const Tensor& copy) {
  if (std::exchange(graph_notes(capture, copy).read, true)) return;
  capture.before_replay([held = GraphCopy{weight.impl_ptr(), copy.impl_ptr()}] { held.refresh(); });
}
void note_written(GraphCapture& capture, const Tensor& weight, const Tensor& copy) {
  if (std::exchange(graph_notes(capture, copy).written, true)) return;
  capture.at_end([&capture, held = GraphCopy{weight.impl_ptr(), copy.impl_ptr()}] {
    // If the copy is not current, every replay writes the weight again after the copy.
    if (held.is_current()) capture.after_replay([held] { held.declare(); });
  });
}

/// Drops an outdated copy of a weight before a new cast replaces it.
void drop_stale_copy(const Tensor& weight) {
  if (current_capture()) return;
  std::lock_guard lock(shadow_mutex(weight));
  ShadowCopy* shadow = weight.impl().shadow.get();
  if (shadow && !shadow->in_graph && !current_shadow(weight)) *shadow = {};
}

}  // namespace

CastCacheStats autocast_cache_stats() { return cache().stats; }

void clear_autocast_cache() {
  caches().made.clear();
  caches().recorded.clear();
}

void set_autocast_cache_limit(int64_t bytes) {
  const OpScope op("set_autocast_cache_limit");
  TANDEM_CHECK(bytes >= 0, StateError, "bytes = {}; it must be at least 0 (0: cache nothing)", bytes);
  byte_limit.store(bytes);
}

namespace detail {

void end_casts_outside_regions() {
  if (thread_state().autocast_nesting == 0) clear_autocast_cache();
}

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
  if (const Entry* entry = c.find(x); entry && entry->casts[slot(dtype)].defined()) {
    ++c.stats.hits;
    return entry->casts[slot(dtype)];
  }
  c.release_dead();
  drop_stale_copy(x);
  const DataVersion version = x.impl().data_version();
  Tensor y = cast(c, x, dtype);
  Entry* const entry =
      c.admit(x, version, static_cast<int64_t>(y.nbytes()), byte_limit.load(std::memory_order_relaxed));
  if (!entry) return y;
  entry->casts[slot(dtype)] = y;
  if (state.grad_mode && x.requires_grad()) offer_buffer(x, y);
  return y;
}

std::vector<Tensor> cached_with_weight(const Tensor& weight, const std::string& name, uint64_t tag,
                                       const std::function<std::vector<Tensor>()>& make) {
  Cache& c = cache();
  const ThreadState& state = thread_state();
  const bool cachable = state.autocast_cache_enabled && !state.inference_mode && !weight.impl().is_inference;
  if (!cachable) {
    ++c.stats.uncached;
    return make();
  }
  if (Entry* entry = c.find(weight)) {
    const auto held =
        std::find_if(entry->named.begin(), entry->named.end(), [&](const Named& named) { return named.name == name; });
    if (held != entry->named.end() && held->tag == tag) {
      ++c.stats.hits;
      return held->tensors;
    }
    if (held != entry->named.end()) {
      c.forget(bytes_of(held->tensors));
      entry->named.erase(held);
    }
  }
  c.release_dead();
  const DataVersion version = weight.impl().data_version();
  std::vector<Tensor> made = make();
  const int64_t bytes = bytes_of(made);
  c.stats.cast_bytes += bytes;
  Entry* const entry = c.admit(weight, version, bytes, byte_limit.load(std::memory_order_relaxed));
  if (entry) entry->named.push_back({name, tag, made});
  return made;
}

Tensor lasting_copy(const Tensor& weight, DType dtype) {
  std::lock_guard lock(shadow_mutex(weight));
  const ShadowCopy* shadow = current_shadow(weight);
  if (!shadow || !shadow->lasting || shadow->copy->dtype != dtype) return Tensor();
  const Tensor copy(shadow->copy);
  if (GraphCapture* capture = current_capture(); capture && weight.is_cuda()) {
    weight.impl().shadow->in_graph = true;
    note_read(*capture, weight, copy);
  }
  return copy;
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
  const bool same = shadow->copy == copy.impl_ptr();
  *shadow = {copy.impl_ptr(), weight.impl().data_version(), true, same && shadow->in_graph};
  if (GraphCapture* capture = current_capture(); capture && weight.is_cuda()) {
    shadow->in_graph = true;
    note_written(*capture, weight, copy);
  }
}

}  // namespace detail
}  // namespace tandem::amp
