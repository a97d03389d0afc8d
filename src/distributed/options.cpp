#include "src/distributed/options.h"

#include "tandem/base/check.h"

namespace tandem::distributed {

void check_options(const ProcessGroupOptions& options) {
  // Clocks count nanoseconds in 64 bits, which longer limits would overflow.
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 10);
  TANDEM_CHECK(options.timeout.count() > 0 && options.timeout <= kLongest, StateError,
               "timeout = {} ms; it must be positive, and at most ten years", options.timeout.count());
}

}  // namespace tandem::distributed
