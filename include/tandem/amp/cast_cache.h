#pragma once
// The cast cache: each weight is cast once per dtype and iteration. A weight is cast again if it was changed in place,
// by set_data(), or through a data_ptr() taken after the cast. A write through a pointer taken before the region is
// not noticed until the next region.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Contents and statistics of the calling thread's cache.
struct CastCacheStats {
  int64_t entries = 0;     ///< casts in the cache now
  int64_t bytes = 0;       ///< their memory
  int64_t hits = 0;        ///< casts avoided, by the cache or by copies that an optimizer step wrote
  int64_t misses = 0;      ///< casts made and cached
  int64_t uncached = 0;    ///< casts made and not cached: activations, batches
  int64_t cast_bytes = 0;  ///< bytes written by casts
};

/// Statistics of the calling thread's cache since the thread started.
CastCacheStats autocast_cache_stats();
/// Drops the calling thread's cached casts. Called automatically when its outermost region ends.
void clear_autocast_cache();
/// Sets the maximum size in bytes of each thread's cache. Casts beyond it are not cached. Default: no limit. Throws
/// StateError for a negative number.
void set_autocast_cache_limit(int64_t bytes);

namespace detail {
/// Drops the calling thread's cached casts unless it is in a region. The modes call it at the end of an iteration.
void end_casts_outside_regions();
/// Returns `x` cast to `dtype`. Weights (f32 leaves that require grad, or frozen parameters) are cached if the region
/// allows it. The result has no history: dispatch (autograd/apply.h) connects gradients to `x` itself.
Tensor cached_cast(const Tensor& x, DType dtype);

/// Returns what make() makes of a weight, or made of its present value earlier, under the same name with the same tag.
/// Name and tag say all that the result depends on besides the weight; a result with another tag replaces the one with
/// the same name. Cached like a cast, for weights of any dtype.
std::vector<Tensor> cached_with_weight(const Tensor& weight, const std::string& name, uint64_t tag,
                                       const std::function<std::vector<Tensor>()>& make);

/// Returns the low-precision copy of `weight` that the last optimizer step wrote, or an undefined tensor if the weight
/// has changed since.
Tensor lasting_copy(const Tensor& weight, DType dtype);
/// Returns the weight's current cast, made by the last optimizer step or in the last region, or an undefined tensor. If
/// nothing else refers to that memory, the optimizer may write the next cast there in the pass that writes the weight.
/// Casts of a weight outlive their region only after the first call, so only if an optimizer uses them.
Tensor lasting_buffer(const Tensor& weight);
/// Declares `copy` to hold the value of `weight` until the weight's version changes. An optimizer calls this after a
/// step that wrote both.
void set_lasting_copy(const Tensor& weight, const Tensor& copy);
}  // namespace detail

}  // namespace tandem::amp
#pragma GCC visibility pop
