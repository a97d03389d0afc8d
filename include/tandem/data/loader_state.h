#pragma once
// A data loader's position in its epoch as a state dictionary: the part that does not depend on the loader's template
// parameters.
#include <cstdint>
#include <optional>
#include <string>

#include "tandem/data/data_loader_options.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem::data::detail {

/// A data loader's position in its epoch.
struct LoaderPosition {
  bool in_epoch = false;
  uint64_t batches = 0;          ///< number of batches that the loop has had
  std::optional<uint64_t> seed;  ///< the epoch's seed, if the dataset draws random numbers
};

/// Returns the entry "in_epoch"; within an epoch also "batches", "seed" if there is one and, below the name `part`, the
/// entries of `state_of_part`, which is the state after those batches.
StateDict write_loader_state(const DataLoaderOptions& options, const LoaderPosition& position, const std::string& part,
                             const StateDict& state_of_part);
/// Throws StateError for a state without a seed if `random`. Does not check the entries of the part.
LoaderPosition read_loader_state(const StateDict& state, const std::string& part, bool random);

}  // namespace tandem::data::detail
#pragma GCC visibility pop
