#pragma once
// The archives that libtorch's torch::save(optimizer, path) writes.
#include <optional>

#include "tandem/io/ivalue.h"

namespace tandem::io {

/// Returns the state of a libtorch optimizer as the dictionary of torch.optim, in which parameters are numbered;
/// nothing if the object is something else. Throws IoError if the archive has a state of a parameter that is in no
/// group.
std::optional<GenericDict> optimizer_dict(const ivalue::Object& object);

}  // namespace tandem::io
