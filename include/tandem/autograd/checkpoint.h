#pragma once
// checkpoint: a part of the forward pass that keeps no intermediates and is computed again in backward.
#include <concepts>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/autograd/arguments.h"
#include "tandem/base/arg.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// Options of checkpoint().
struct CheckpointOptions {
  /// Whether the recomputation draws the random numbers of the forward pass: dropout masks are the same.
  TANDEM_ARG(bool, preserve_rng_state) = true;
};

namespace detail {

/// Around the forward pass of a checkpoint: what is saved for backward meanwhile is dropped and made again by `again`.
class CheckpointScope {
 public:
  using Again = std::function<void(const std::vector<Tensor>& inputs)>;
  CheckpointScope(const CheckpointOptions& options, const std::vector<Tensor>& inputs, Again again);
  ~CheckpointScope();
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;
  /// The forward pass has returned.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail

/// fn(args...), with memory for time: of what `fn` computes nothing is kept for backward but its inputs. Backward calls
/// `fn` again, once, when it first needs something, and frees the intermediates as it goes.
///
///   const Tensor y = autograd::checkpoint([&](const Tensor& x) { return block->forward(x); }, x);
///
/// `fn` may take anything and return anything; it is copied, and must compute the same again, from the same parameters.
/// Tensors among `args` (in containers too, as in autograd::Function) are kept; others that `fn` uses, such as a
/// model's parameters, get their gradients as well. Recomputed is under the modes of the forward pass: autocast with
/// dtypes, cast cache and policies, InferenceMode and recording; and, by default, with its random numbers. Side effects
/// happen twice: running statistics of batch norm are updated twice. Checkpoints nest, work with autograd::grad,
/// create_graph and retain_graph, several outputs, and in a CUDA graph.
///
/// Throws AutogradError in backward when an input was changed in place since, and when the second run saves other
/// tensors than the first; StateError when `fn` draws random numbers and only one of the runs is recorded into the CUDA
/// graph. Source: torch.utils.checkpoint(use_reentrant=False), without early stop.
template <class F, class... Args>
auto checkpoint(const CheckpointOptions& options, F fn, const Args&... args) {
  if (!thread_state().grad_mode) return fn(args...);
  std::vector<Tensor> inputs;
  (detail::visit_tensors(args, [&](const Tensor& x) { inputs.push_back(x); }), ...);
  auto function = std::make_shared<F>(std::move(fn));
  auto rest = std::make_tuple(detail::owned(args)...);
  detail::visit_tensors(rest, [](Tensor& x) { x = Tensor(); });
  detail::CheckpointScope scope(options, inputs, [function, rest](const std::vector<Tensor>& again) {
    auto arguments = rest;
    auto next = again.begin();
    detail::visit_tensors(arguments, [&](Tensor& x) { x = *next++; });
    static_cast<void>(std::apply(*function, arguments));
  });
  auto result = (*function)(args...);
  scope.finish();
  return result;
}

template <class F, class... Args>
requires(!std::same_as<F, CheckpointOptions>) auto checkpoint(F fn, const Args&... args) {
  return checkpoint(CheckpointOptions(), std::move(fn), args...);
}

}  // namespace tandem::autograd
