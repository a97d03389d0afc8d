#pragma once
// run_for_all: a collective among ranks in one address space. Internal.
#include <vector>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// Runs the equal calls of all ranks, in the order of the ranks; or a send and the receive that gets it.
void run_for_all(const std::vector<Collective>& calls);

}  // namespace tandem::distributed
