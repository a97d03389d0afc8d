#pragma once

namespace tandem::testing {

/// Whether AddressSanitizer or ThreadSanitizer watches the tests.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether an emulator runs the tests.
#if defined(TANDEM_EMULATOR)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

/// Whether the tests take some 60 times as long as usual: tests of many cases then take fewer.
inline constexpr bool kSlowRun = kSanitized || kEmulated;

}  // namespace tandem::testing
