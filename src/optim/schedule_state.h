#pragma once
// Entries of the states of PyTorch's schedules.
#include <string>
#include <string_view>
#include <vector>

#include "tandem/tensor/state_dict.h"

namespace tandem::optim {

/// Replaces an entry, if there is one, by a number or a list of numbers.
void replace_entry(StateDict& entries, const std::string& name, int64_t value);
void replace_entry(StateDict& entries, const std::string& name, const std::vector<double>& values);
/// Whether the state has a text with this name, as io::to_state_dict makes of PyTorch's, and another one than `text`.
bool is_other_text(const StateDict& state, const std::string& name, std::string_view text);
/// Returns copies of the defined entries of a state, none of which the reader then finds unexpected.
StateDict take_entries(StateReader& reader, const StateDict& state);

}  // namespace tandem::optim
