#pragma once
// A scaler's numbers inside state dictionaries, which hold tensors.
#include "tandem/amp/grad_scaler.h"

namespace tandem::amp {

/// Sorted by name, so that the same state makes the same file. Empty for a disabled scaler.
StateDict state_of(const GradScaler& scaler);
/// GradScaler::prepare_load_state_dict. Throws StateError besides for what is no number.
StateCommit prepare_state(GradScaler& scaler, const StateDict& state);
/// What a mode does with the entries below `name`: a scaler that has none, or whose scale is fixed, stays as it is.
StateCommit prepare_state_below(GradScaler& scaler, const StateDict& state, const std::string& name);

}  // namespace tandem::amp
