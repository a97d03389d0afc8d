#pragma once

namespace tandem::testing {

/// Whether AddressSanitizer or ThreadSanitizer watches the tests.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether the tests take some 60 times as long as usual, for a sanitizer or an emulator: tests of many cases then take
/// fewer.
#if defined(TANDEM_EMULATOR)
inline constexpr bool kSlowRun = true;
#else
inline constexpr bool kSlowRun = kSanitized;
#endif

}  // namespace tandem::testing
