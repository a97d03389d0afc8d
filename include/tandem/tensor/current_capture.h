#pragma once
// The graph capture that the calling thread is recording, if any. What code says to it is in tensor/capture.h.
// Internal.
#include <cstdint>

#pragma GCC visibility push(default)
namespace tandem {

class GraphCapture;

namespace detail {
inline constinit thread_local GraphCapture* running_capture = nullptr;
}

/// Returns the capture that the calling thread is recording, or null outside a capture.
inline GraphCapture* current_capture() { return detail::running_capture; }
/// Returns the unique number of that capture, or 0 outside a capture.
uint64_t current_capture_id();

/// Throws StateError: `what` is impossible during a capture; and the `cure`.
[[noreturn]] void refuse_in_capture(const char* what, const char* cure);
/// Calls refuse_in_capture if the calling thread is recording a capture.
inline void check_not_capturing(const char* what, const char* cure) {
  if (current_capture()) [[unlikely]]
    refuse_in_capture(what, cure);
}

}  // namespace tandem
#pragma GCC visibility pop
