#pragma once
// A data loader's place in its epoch as a state dictionary; what of it does not depend on the loader's types.
#include <cstdint>

#include "tandem/data/data_loader_options.h"
#include "tandem/tensor/state_dict.h"

namespace tandem::data::detail {

struct LoaderPosition {
  bool in_epoch = false;
  uint64_t batches = 0;  ///< that the loop has had
};

/// "in_epoch", "batch_size", "drop_last"; in an epoch also "batches" and the entries of `sampler` below "sampler".
StateDict write_loader_state(const DataLoaderOptions& options, const LoaderPosition& position,
                             const StateDict& sampler);
/// Throws StateError for a state of other options; leaves the sampler's entries to the sampler.
LoaderPosition read_loader_state(const DataLoaderOptions& options, const StateDict& state);
[[noreturn]] void throw_position_past_end(uint64_t batches_of_epoch, uint64_t batches);

}  // namespace tandem::data::detail
