#pragma once
// Entries of the states of PyTorch's schedules.
#include <vector>

#include "tandem/tensor/state_dict.h"

namespace tandem::optim {

/// Replaces an entry, if there is one, by a number or a list of numbers.
void replace_entry(StateDict& entries, const std::string& name, int64_t value);
void replace_entry(StateDict& entries, const std::string& name, const std::vector<double>& values);
/// Returns copies of the defined entries of a state, none of which the reader then finds unexpected.
StateDict take_entries(StateReader& reader, const StateDict& state);

}  // namespace tandem::optim
