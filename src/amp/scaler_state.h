#pragma once
// Conversion of a scaler's state to and from state dictionaries, which hold tensors.
#include "tandem/amp/grad_scaler.h"

namespace tandem::amp {

/// The scaler's state, sorted by name so that equal states give equal files. Empty for a disabled scaler.
StateDict state_of(const GradScaler& scaler);
/// GradScaler::prepare_load_state_dict. Also throws StateError for entries that are not numbers.
StateCommit prepare_state(GradScaler& scaler, const StateDict& state);
/// Loads the entries below `name`. Does nothing if there are none or if the scaler's scale is fixed.
StateCommit prepare_state_below(GradScaler& scaler, const StateDict& state, const std::string& name);

}  // namespace tandem::amp
