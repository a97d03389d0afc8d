#pragma once

namespace tandem::testing {

/// Whether AddressSanitizer or ThreadSanitizer watches the tests, which makes them some 60 times slower: tests of many
/// cases then take fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tandem::testing
