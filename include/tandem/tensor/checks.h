#pragma once
// Checks of tensors for functions of all layers. Internal.
#include <optional>
#include <string>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::checks {

/// Returns sizes and dtype as shown in messages: "[2, 3] f32".
std::string show(const Tensor& x);

/// Throws ShapeError if elements of `x`, a tensor that `op` writes, share memory. `which` and `number` name the tensor
/// in the message: "out", or "parameter" and 3.
void not_expanded(const char* which, const Tensor& x, std::optional<size_t> number = {});

}  // namespace tandem::checks
#pragma GCC visibility pop
