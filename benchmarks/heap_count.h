#pragma once
// Counts this program's calls to operator new.
#include <cstdint>

namespace bench {

/// Calls to operator new since the program began, by all threads.
int64_t heap_allocations();

}  // namespace bench
