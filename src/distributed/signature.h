#pragma once
// Names and comparison of calls. Internal.
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/component.h"
#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// "all_reduce". The string is static.
TANDEM_FOR_COMPONENTS const char* to_string(Collective::Kind kind);

/// True for calls that combine elements; false for those that copy them.
TANDEM_FOR_COMPONENTS bool combines(Collective::Kind kind);

/// A number that is equal for calls with equal descriptions, and hardly ever for others.
TANDEM_FOR_COMPONENTS uint64_t signature(const Collective& call);

/// The calls of all ranks, one line, as the end of a message: "rank 0: barrier; ranks 1, 2: all_reduce SUM [4] f32".
TANDEM_FOR_COMPONENTS std::string list_calls(const std::vector<std::string>& descriptions);

/// "rank 1" or "ranks 1, 3".
TANDEM_FOR_COMPONENTS std::string list_ranks(const std::vector<int>& ranks);

}  // namespace tandem::distributed
