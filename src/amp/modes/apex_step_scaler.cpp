#include "src/amp/modes/apex_step_scaler.h"

#include <cstdio>
#include <unordered_set>

#include "src/amp/modes/for_each_parameter.h"
#include "src/amp/scaler_state.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/context.h"

namespace tandem::amp {
namespace {

/// Calls visit(parameter) for the parameters of all optimizers, each once.
template <class Visit>
void for_each_parameter_once(const std::vector<optim::Optimizer*>& optimizers, const Visit& visit) {
  std::unordered_set<const TensorImpl*> seen;
  for (const optim::Optimizer* optimizer : optimizers) {
    for_each_parameter(*optimizer, [&](const Tensor& p) {
      if (seen.insert(&p.impl()).second) visit(p);
    });
  }
}

std::string name_of(size_t loss) { return "loss_scaler" + std::to_string(loss); }

bool holds_gradients(const optim::Optimizer& optimizer) {
  bool holds = false;
  for_each_parameter(optimizer, [&](const Tensor& p) { holds |= p.grad().defined(); });
  return holds;
}

}  // namespace

ApexStepScaler::ApexStepScaler(const GradScalerOptions& options, int64_t num_losses, bool verbose)
    : options_(options), verbose_(verbose) {
  for (int64_t i = 0; i < num_losses; ++i) scalers_.emplace_back(options);
}

void ApexStepScaler::step(optim::Optimizer& optimizer) {
  const UserCodeScope op("step");
  Pending now = std::exchange(pending(optimizer), {});
  if (now.error) std::rethrow_exception(now.error);
  if (now.scaled_by && holds_gradients(optimizer)) {
    pending(optimizer) = now;
    TANDEM_THROW(StateError,
                 "the gradients are still scaled, because the last scale_loss() had delay_unscale; omit it for the "
                 "last backward pass before a step");
  }
  FusedUnscale scaling;
  for (const Tensor& found_inf : now.found_infs) {
    NoGradGuard no_grad;
    scaling.found_inf = scaling.found_inf.defined() ? add(scaling.found_inf, found_inf) : found_inf;
  }
  optimizer.step(scaling);
}

StateDict ApexStepScaler::state_dict() {
  StateDict state;
  for (size_t i = 0; i < scalers_.size(); ++i) add_below(state, name_of(i), state_of(scalers_[i]));
  return state;
}

StateCommit ApexStepScaler::prepare_load_state_dict(const StateDict& state) {
  std::vector<StateCommit> commits;
  for (size_t i = 0; i < scalers_.size(); ++i) commits.push_back(prepare_state_below(scalers_[i], state, name_of(i)));
  return [commits] {
    for (const StateCommit& commit : commits) commit();
  };
}

std::shared_ptr<ApexStepScaler> apex_step_scaler_of(const optim::Optimizer& optimizer) {
  auto scaling = std::dynamic_pointer_cast<ApexStepScaler>(optimizer.step_scaler());
  TANDEM_CHECK(scaling, StateError,
               "this optimizer was not passed to amp::initialize(); pass it there together with its model");
  return scaling;
}

ScaledLoss scale_loss(const Tensor& loss, const std::vector<optim::Optimizer*>& optimizers,
                      const ScaleLossOptions& options) {
  return ScaledLoss(loss, optimizers, options);
}

ScaledLoss::ScaledLoss(const Tensor& loss, const std::vector<optim::Optimizer*>& optimizers,
                       const ScaleLossOptions& options)
    : optimizers_(optimizers), options_(options), exceptions_(std::uncaught_exceptions()) {
  const OpScope op("scale_loss");
  TANDEM_CHECK(!optimizers.empty(), StateError, "no optimizers were given; pass those that the loss trains");
  for (const optim::Optimizer* optimizer : optimizers) {
    TANDEM_CHECK(optimizer, StateError, "an optimizer is null; pass those that the loss trains");
    const auto scaling = apex_step_scaler_of(*optimizer);
    TANDEM_CHECK(!scaling_ || scaling == scaling_, StateError,
                 "these optimizers were initialized separately; pass them to one amp::initialize() call");
    scaling_ = scaling;
  }
  const auto losses = static_cast<int64_t>(scaling_->scalers().size());
  TANDEM_CHECK(options.loss_id() >= 0 && options.loss_id() < losses, StateError,
               "loss_id is {}, but num_losses is {}; ids start at 0, and amp::initialize() sets their number",
               options.loss_id(), losses);
  scaled_ = scaling_->scalers()[static_cast<size_t>(options.loss_id())].scale(loss);
  detail::end_casts_outside_regions();
  if (!scaling_->options().enabled()) return;
  size_t scaled = 0, unscaled = 0;
  for (const optim::Optimizer* optimizer : optimizers) {
    if (!holds_gradients(*optimizer)) continue;
    const std::optional<int64_t> by = scaling_->pending(*optimizer).scaled_by;
    ++(by == options.loss_id() ? scaled : unscaled);
    TANDEM_CHECK(!by || by == options.loss_id(), StateError,
                 "an optimizer's gradients still have the scale of loss {}, but this is loss {}; omit delay_unscale "
                 "for the last backward pass of a loss",
                 *by, options.loss_id());
  }
  TANDEM_CHECK(scaled == 0 || unscaled == 0, StateError,
               "the gradients of {} optimizers are still scaled, but those of {} are not; pass delay_unscale to all "
               "backward passes except the last",
               scaled, unscaled);
  stash_scaled_ = scaled > 0;
  // New gradients are kept apart from existing ones, which may have another scale or, for f16 parameters, another
  // dtype.
  for_each_parameter_once(optimizers, [&](const Tensor& p) {
    if (p.grad().defined()) stash_.emplace_back(p, std::exchange(p.mutable_grad(), Tensor()));
  });
}

void ScaledLoss::backward(std::optional<bool> retain_graph, bool create_graph) const {
  scaled_.backward({}, retain_graph, create_graph);
}

void ScaledLoss::finish() {
  const std::shared_ptr<ApexStepScaler> scaling = std::exchange(scaling_, nullptr);
  if (!scaling || !scaling->options().enabled()) return;
  try {
    add_gradients(*scaling);
  } catch (...) {
    drop_new_gradients();
    throw;
  }
  stash_.clear();
}

void ScaledLoss::add_gradients(ApexStepScaler& scaling) {
  const OpScope op("scale_loss");
  NoGradGuard no_grad;
  GradScaler& scaler = scaling.scalers()[static_cast<size_t>(options_.loss_id())];
  // Old and new gradients are added when both are scaled or, if none stay scaled, when both are unscaled.
  const bool joins_scaled = stash_scaled_ || options_.delay_unscale();
  const auto join = [&] {
    for (const auto& [p, old] : stash_) {
      const Tensor kept = joins_scaled && !stash_scaled_ ? scaler.scale(old) : old;
      Tensor& g = p.mutable_grad();
      g = g.defined() ? add(g, kept) : kept;
    }
  };
  if (joins_scaled) join();
  if (options_.delay_unscale()) {
    for (const optim::Optimizer* optimizer : optimizers_) scaling.pending(*optimizer).scaled_by = options_.loss_id();
  } else {
    std::vector<Tensor> grads;
    for_each_parameter_once(optimizers_, [&](const Tensor& p) {
      Tensor& g = p.mutable_grad();
      if (!g.defined()) return;
      // After unscaling, values may be too small for 16 bits.
      if (is_reduced_floating_point(g.dtype())) g = to(g.detach(), kFloat);
      grads.push_back(g);
    });
    const Tensor found_inf = scaler.unscale_(grads);
    for_each_parameter_once(optimizers_, [](const Tensor& p) {
      if (p.grad().defined()) autograd::note_gradient_scale(p, autograd::LossScale::unscaled());
    });
    const double before = scaling.verbose() ? scaler.get_scale() : 0;
    scaler.update();
    for (const optim::Optimizer* optimizer : optimizers_) {
      ApexStepScaler::Pending& pending = scaling.pending(*optimizer);
      pending.found_infs.push_back(found_inf);
      pending.scaled_by.reset();
    }
    if (scaling.verbose() && found_inf.item<float>() != 0) {
      std::printf("tandem: gradient overflow in loss %lld; the step is skipped, and the scale changes from %g to %g\n",
                  static_cast<long long>(options_.loss_id()), before, scaler.get_scale());
    }
  }
  if (!joins_scaled) join();
}

void ScaledLoss::drop_new_gradients() {
  for_each_parameter_once(optimizers_, [](const Tensor& p) { p.mutable_grad() = Tensor(); });
  for (const auto& [p, old] : stash_) p.mutable_grad() = old;
}

ScaledLoss::~ScaledLoss() {
  if (!scaling_ || !scaling_->options().enabled()) return;
  if (std::uncaught_exceptions() > exceptions_) {  // the backward pass may be incomplete
    drop_new_gradients();
    return;
  }
  const std::shared_ptr<ApexStepScaler> scaling = scaling_;
  try {
    finish();
  } catch (const std::exception& e) {
    for (const optim::Optimizer* optimizer : optimizers_) {
      scaling->pending(*optimizer).error = std::current_exception();
    }
    const OpScope op("scale_loss");
    warn(std::string("error at the end of its scope, which the next step() will throw: ") + e.what());
  }
}

std::vector<Tensor> master_params(optim::Optimizer& optimizer) {
  const OpScope op("master_params");
  std::vector<Tensor> masters;
  masters.reserve(optimizer.size());
  for (const Tensor& p : optimizer.parameters()) {
    masters.push_back(optimizer.master(p));
    if (!masters.back().is_same(p)) masters.back().mutable_grad() = p.grad();
  }
  return masters;
}

LossScalersState state_dict(const optim::Optimizer& optimizer) {
  const OpScope op("state_dict");
  LossScalersState state;
  const auto scaling = apex_step_scaler_of(optimizer);
  for (size_t i = 0; i < scaling->scalers().size(); ++i) {
    state[name_of(i)] = scaling->scalers()[i].state_dict();
  }
  return state;
}

void load_state_dict(const optim::Optimizer& optimizer, const LossScalersState& state) {
  const OpScope op("load_state_dict");
  const auto scaling = apex_step_scaler_of(optimizer);
  const size_t count = scaling->scalers().size();
  std::vector<std::pair<size_t, const ScalerState*>> wanted;
  for (const auto& [key, value] : state) {
    constexpr std::string_view prefix = "loss_scaler";
    const std::string digits = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
    const bool number = !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == digits.npos;
    TANDEM_CHECK(number, StateError, "the key '{}' is unexpected; pass the result of amp::state_dict()", key);
    const size_t index = std::stoul(digits);
    if (index >= count) {
      warn(fmt::format("{} is ignored, because num_losses is {}", key, count));
    } else if (!value.empty() && !scaling->options().static_scale()) {
      wanted.emplace_back(index, &value);
    }
  }
  if (state.size() != count) {
    warn(fmt::format("the state has {} entries, but num_losses is {}", state.size(), count));
  }
  // All entries are validated before the first is changed.
  for (const auto& [index, value] : wanted) GradScaler(scaling->options()).load_state_dict(*value);
  for (const auto& [index, value] : wanted) scaling->scalers()[index].load_state_dict(*value);
}

}  // namespace tandem::amp
