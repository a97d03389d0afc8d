#pragma once
// Selection by timing among ways to compute the same result: cuBLASLt algorithms, cuDNN engines, fused or separate.
#include <cstddef>
#include <functional>
#include <optional>

namespace tandem::cuda {

/// Milliseconds that `run` takes on the current stream: the median of five runs after one warm-up run. Waits for the
/// device. Empty if run throws BackendError or OutOfMemoryError: that way does not work.
std::optional<float> time_on_device(const std::function<void()>& run);

/// The index of the fastest way, the first among equals; empty if none works.
std::optional<size_t> fastest_of(size_t count, const std::function<void(size_t)>& run);

}  // namespace tandem::cuda
