#pragma once
// What functions of every layer check of a tensor. Internal.
#include <optional>
#include <string>

#include "tandem/tensor/tensor.h"

namespace tandem::checks {

/// "[2, 3] f32", as messages show a tensor.
std::string show(const Tensor& x);

/// Throws ShapeError when elements of `x`, which `op` is to write, share memory. `which` and `number` say whose tensor
/// it is: "out", or "parameter" and 3.
void not_expanded(const char* op, const char* which, const Tensor& x, std::optional<size_t> number = {});

}  // namespace tandem::checks
