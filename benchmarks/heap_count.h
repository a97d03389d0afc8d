#pragma once
// Counts this program's calls to operator new.
#include <cstdint>

namespace bench {

/// Returns the number of calls to operator new since the program started, in all threads.
int64_t heap_allocations();

}  // namespace bench
