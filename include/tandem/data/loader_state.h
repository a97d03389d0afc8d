#pragma once
// A data loader's position in its epoch as a state dictionary: the part that does not depend on the loader's template
// parameters.
#include <cstdint>

#include "tandem/data/data_loader_options.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem::data::detail {

/// A data loader's position in its epoch.
struct LoaderPosition {
  bool in_epoch = false;
  uint64_t batches = 0;  ///< number of batches that the loop has had
};

/// Returns the entries "in_epoch", "batch_size" and "drop_last"; within an epoch also "batches" and, with the prefix
/// "sampler.", the entries of `sampler`.
StateDict write_loader_state(const DataLoaderOptions& options, const LoaderPosition& position,
                             const StateDict& sampler);
/// Throws StateError for a state saved with other options. Does not check the sampler's entries.
LoaderPosition read_loader_state(const DataLoaderOptions& options, const StateDict& state);
[[noreturn]] void throw_position_past_end(uint64_t batches_of_epoch, uint64_t batches);

}  // namespace tandem::data::detail
#pragma GCC visibility pop
