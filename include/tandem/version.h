#pragma once
// The version of tandem. CMakeLists.txt reads the three numbers from here. docs/versioning.md states what they promise.

/// The three numbers of the version.
#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 1
#define TANDEM_VERSION_PATCH 0

/// The version as one number for comparisons: 10203 is 1.2.3.
#define TANDEM_VERSION (TANDEM_VERSION_MAJOR * 10000 + TANDEM_VERSION_MINOR * 100 + TANDEM_VERSION_PATCH)

/// Internal: the numbers with dots between them, as text.
#define TANDEM_DETAIL_DOTTED(major, minor, patch) #major "." #minor "." #patch
#define TANDEM_DETAIL_DOTTED_VALUES(major, minor, patch) TANDEM_DETAIL_DOTTED(major, minor, patch)

/// The version as a string literal, like "1.2.3".
#define TANDEM_VERSION_STRING \
  TANDEM_DETAIL_DOTTED_VALUES(TANDEM_VERSION_MAJOR, TANDEM_VERSION_MINOR, TANDEM_VERSION_PATCH)

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the TANDEM_VERSION of the library that the program runs with. The macro is the version of the headers that
/// it was compiled with; the two differ if another shared library was loaded.
int version() noexcept;

/// Returns the TANDEM_VERSION_STRING of the library that the program runs with.
const char* version_string() noexcept;

}  // namespace tandem
#pragma GCC visibility pop
