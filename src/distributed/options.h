#pragma once
// Checks of ProcessGroupOptions. Internal.
#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// Throws StateError for a time limit outside its domain.
void check_options(const ProcessGroupOptions& options);

}  // namespace tandem::distributed
