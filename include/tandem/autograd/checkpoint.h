#pragma once
// checkpoint(): runs a part of the forward pass without keeping intermediates, and recomputes it in backward.
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

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// Options of checkpoint().
struct CheckpointOptions {
  /// Whether the recomputation draws the same random numbers as the forward pass, so that dropout masks are equal.
  TANDEM_ARG(bool, preserve_rng_state) = true;
};

namespace detail {

/// The scope of a checkpoint's forward pass. Tensors saved for backward in it are dropped, and recomputed by calling
/// `again`.
class CheckpointScope {
 public:
  using Again = std::function<void(const std::vector<Tensor>& inputs)>;
  CheckpointScope(const CheckpointOptions& options, const std::vector<Tensor>& inputs, Again again);
  ~CheckpointScope();
  CheckpointScope(const CheckpointScope&) = delete;
  CheckpointScope& operator=(const CheckpointScope&) = delete;
  /// Called when the forward pass has returned.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail

/// Computes fn(args...), trading time for memory: only the inputs of `fn` are kept for backward. Backward calls `fn`
/// again, once, when it first needs one of its intermediates, and frees them as it goes.
///
///   const Tensor y = autograd::checkpoint([&](const Tensor& x) { return block->forward(x); }, x);
///
/// `fn` may have any arguments and any result. It is copied, and the second call must compute the same, from the same
/// parameters. Tensors among `args` (in containers too, as in autograd::Function) are kept. Other tensors that `fn`
/// uses, such as a model's parameters, also get their gradients. The recomputation runs under the modes of the forward
/// pass (autocast with dtypes, cast cache and policies; InferenceMode; recording) and by default with the same random
/// numbers. Side effects happen twice: for example, running statistics of batch norm are updated twice. Checkpoints can
/// be nested and work with several outputs, autograd::grad, create_graph, retain_graph and CUDA graphs.
///
/// In backward, throws AutogradError if an input or a leaf that `fn` uses was changed since the forward pass, or if the
/// second run saves other tensors than the first; StateError if `fn` draws random numbers and the two runs are not in
/// the same CUDA graph or both outside graphs. Source: torch.utils.checkpoint(use_reentrant=False), without early stop.
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
#pragma GCC visibility pop
