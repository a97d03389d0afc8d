#include "ptx/report.h"

#include <fmt/format.h>

namespace tandem::ptx {

const char* name(Fault fault) {
  constexpr const char* names[] = {"shared_race",       "global_race",   "misaligned", "out_of_bounds", "missing_lane",
                                   "divergent_barrier", "uninitialized", "async_copy", "trap"};
  return names[static_cast<int>(fault)];
}

std::string text(const Report& r) {
  return fmt::format("{} at {}:{}: {}; kernel {}, block {} {} {}, thread {} {} {}, address {:#x}{}{}", name(r.fault),
                     r.file, r.line, r.text, r.kernel, r.block[0], r.block[1], r.block[2], r.thread[0], r.thread[1],
                     r.thread[2], r.address, r.what.empty() ? "" : ": ", r.what);
}

}  // namespace tandem::ptx
