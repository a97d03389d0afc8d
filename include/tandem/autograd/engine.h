#pragma once
// Running backward: torch.autograd's functional interface.
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// A backward pass may call a hook that runs another pass, and so on, to this depth; beyond it AutogradError.
inline constexpr int kMaxNestedPasses = 500;

/// Adds d(sum of tensors . grad_tensors)/d(leaf) into the `.grad` of every leaf. `grad_tensors` may be empty when all
/// tensors have one element. Throws AutogradError: no tensors, no history, graph already freed, saved tensor changed in
/// place.
void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grad_tensors = {},
              std::optional<bool> retain_graph = std::nullopt, bool create_graph = false);

/// d(sum of outputs . grad_outputs)/d(input) for each of `inputs`, which may be leaves or not; no `.grad` is touched.
/// An input that the outputs do not depend on gives an undefined tensor with `allow_unused`, else AutogradError; empty
/// lists do too.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                         bool create_graph = false, bool allow_unused = false);

}  // namespace tandem::autograd
