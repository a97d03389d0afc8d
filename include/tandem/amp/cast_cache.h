#pragma once
// The cast cache: one cast per weight, dtype and iteration. A weight changed in place, by set_data, or through a
// data_ptr() taken since is cast again; a write through a pointer that was taken before the region is seen by the next
// region.
#include <cstdint>

#include "tandem/tensor/tensor.h"

namespace tandem::amp {

/// What the calling thread's cache holds and did.
struct CastCacheStats {
  int64_t entries = 0;     ///< casts held now
  int64_t bytes = 0;       ///< their memory
  int64_t hits = 0;        ///< casts saved, lasting copies of optimizers included
  int64_t misses = 0;      ///< casts made and kept
  int64_t uncached = 0;    ///< casts made and not kept: activations, batches
  int64_t cast_bytes = 0;  ///< that casts wrote
};

/// Statistics of the calling thread's cache since the thread began.
CastCacheStats autocast_cache_stats();
/// Drops the calling thread's casts. Happens by itself when its outermost region ends.
void clear_autocast_cache();
/// The most bytes that a thread's cache holds; casts beyond it are made but not kept. Default: no limit. Throws
/// StateError for a negative number.
void set_autocast_cache_limit(int64_t bytes);

namespace detail {
/// Drops the calling thread's casts unless it is in a region: an iteration of a mode has ended.
void end_casts_outside_regions();
/// `x` in `dtype`. Weights (f32 leaves that require grad, or frozen parameters) come from the cache when the region
/// allows it. The result has no history: the door connects gradients to `x` itself.
Tensor cached_cast(const Tensor& x, DType dtype);

/// The low-precision copy of `weight` that the last optimizer step wrote, if it is still the weight's value; else null.
Tensor lasting_copy(const Tensor& weight, DType dtype);
/// The weight's current cast, whether lasting or of the last region: memory into which the optimizer may write the next
/// one in the pass that writes the weight, once nobody else holds it. Undefined when there is none; casts of a weight
/// outlive their region only from the first call on, so nothing does without an optimizer that makes use of it.
Tensor lasting_buffer(const Tensor& weight);
/// Declares `copy` to be the value of `weight` until the weight's version moves. The optimizer calls it after a step
/// that wrote both.
void set_lasting_copy(const Tensor& weight, const Tensor& copy);
}  // namespace detail

}  // namespace tandem::amp
