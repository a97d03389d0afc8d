#pragma once
// Booster: applies a mixed-precision mode to the parts of a training run. Source: Colossal-AI, Booster.
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem/amp/modes/mixed_precision.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// A loss function with the call hook of a mode.
template <class Function>
class BoostedFunction {
 public:
  BoostedFunction(Function& function, std::shared_ptr<const nn::CallHook> hook)
      : function_(&function), hook_(std::move(hook)) {}
  template <class... Args>
  decltype(auto) forward(Args&&... args) {
    return (*function_)(std::forward<Args>(args)...);
  }
  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return nn::call(*this, std::forward<Args>(args)...);
  }
  const std::shared_ptr<const nn::CallHook>& call_hook() const { return hook_; }

 private:
  Function* function_;
  std::shared_ptr<const nn::CallHook> hook_;
};

/// Trains in a mixed-precision mode:
///
///   amp::Booster booster("fp16");
///   auto [net, opt, loss_of, data, schedule] = booster.boost(model, optimizer, criterion, loader, scheduler);
///   for (auto& batch : *data) {
///     opt.zero_grad();
///     booster.backward(loss_of(net(batch.data), batch.target), opt);
///     opt.step();
///   }
///
/// boost() changes model and optimizer in place and returns references to them. Call the model as `net(x)` (a module
/// held by value: `nn::call(net, x)`); `net->forward(x)` does not apply the mode's casts.
class Booster {
 public:
  /// Without a mode: trains in f32.
  Booster() = default;
  /// Uses the mode of this name with its defaults; see MixedPrecision::by_name.
  explicit Booster(std::string_view mixed_precision);
  /// Throws StateError for null.
  explicit Booster(std::shared_ptr<MixedPrecision> mixed_precision);

  /// Applies the mode to a model (a module or a holder), an optimizer and a loss function (any callable). `others`,
  /// such as data loader and schedule, are returned unchanged. Call boost() once per pair of model and optimizer; each
  /// optimizer has its own scale.
  template <class Model, class Optimizer, class Criterion, class... Others>
  std::tuple<Model&, Optimizer&, BoostedFunction<Criterion>, Others&...> boost(Model& model, Optimizer& optimizer,
                                                                               Criterion& criterion,
                                                                               Others&... others) {
    boost(model, optimizer);
    return {model, optimizer, BoostedFunction<Criterion>(criterion, mode_ ? mode_->criterion_hook() : nullptr),
            others...};
  }
  template <class Model, class Optimizer>
  std::tuple<Model&, Optimizer&> boost(Model& model, Optimizer& optimizer) {
    if constexpr (std::is_base_of_v<nn::Module, Model>) {
      configure(model, optimizer);
    } else {
      configure(*model, optimizer);
    }
    return {model, optimizer};
  }

  /// Replaces loss.backward(): runs it as the mode requires before optimizer.step().
  void backward(const Tensor& loss, optim::Optimizer& optimizer, std::optional<bool> retain_graph = std::nullopt);
  /// Divides the optimizer's gradients by the scale, so that they can be inspected or clipped before the step.
  void unscale_(optim::Optimizer& optimizer);
  /// The optimizer's loss scale; 1 without scaling. Waits for the device.
  double scale(const optim::Optimizer& optimizer) const { return mode_ ? mode_->scale(optimizer) : 1; }
  /// The mode; null for f32.
  const std::shared_ptr<MixedPrecision>& mixed_precision() const { return mode_; }

 private:
  void configure(nn::Module& model, optim::Optimizer& optimizer);
  std::shared_ptr<MixedPrecision> mode_;
};

}  // namespace tandem::amp
#pragma GCC visibility pop
