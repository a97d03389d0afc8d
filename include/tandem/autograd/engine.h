#pragma once
// Runs backward passes: the functional interface of torch.autograd.
#include <functional>
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// The maximum depth of backward passes nested by hooks that run another pass. Deeper nesting throws AutogradError.
inline constexpr int kMaxNestedPasses = 500;

/// Adds d(sum of tensors . grad_tensors)/d(leaf) to the `.grad` of every leaf. `grad_tensors` may be empty if all
/// tensors have one element. Throws AutogradError if there are no tensors or no history, if the graph has been freed,
/// or if a saved tensor was changed in place.
void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grad_tensors = {},
              std::optional<bool> retain_graph = std::nullopt, bool create_graph = false);

/// Returns d(sum of outputs . grad_outputs)/d(input) for each of `inputs`, which need not be leaves. The `.grad` of
/// leaves is not changed. An input on which the outputs do not depend gives an undefined tensor with `allow_unused`,
/// otherwise an AutogradError. Empty lists throw AutogradError too.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                         bool create_graph = false, bool allow_unused = false);

/// Whether the calling thread is running a backward pass.
bool is_running_backward();

/// Calls `callback` once at the end of the backward pass that the calling thread is running, unless the pass fails. To
/// be called by hooks and backward functions. Of nested passes, the outermost counts. Throws AutogradError if no pass
/// is running. Source: torch::autograd::Engine::queue_callback.
void queue_callback(std::function<void()> callback);

}  // namespace tandem::autograd
#pragma GCC visibility pop
