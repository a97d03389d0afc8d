#pragma once
// A timed choice among ways to compute the same: cuBLASLt's algorithms, cuDNN's engines, fused against separate.
#include <cstddef>
#include <functional>
#include <optional>

namespace tandem::cuda {

/// Milliseconds that `run` takes on the current stream: the median of five after one to warm up. Waits for the device.
/// Nothing when it throws BackendError or OutOfMemoryError: a way that does not work is no candidate.
std::optional<float> time_on_device(const std::function<void()>& run);

/// The number of the way that takes the least time, the first of equals; nothing when none works.
std::optional<size_t> fastest_of(size_t count, const std::function<void(size_t)>& run);

}  // namespace tandem::cuda
