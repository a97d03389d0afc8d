#include "tandem/optim/reduce_lr_on_plateau.h"

#include <algorithm>
#include <utility>

#include "src/optim/momentum.h"
#include "src/optim/schedule_state.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::optim {

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode, double factor,
                                                       int64_t patience, double threshold, ThresholdMode threshold_mode,
                                                       int64_t cooldown, std::vector<double> min_lr, double eps)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lr_(std::move(min_lr)),
      eps_(eps) {
  const OpScope op("ReduceLROnPlateauScheduler");
  if (min_lr_.empty()) min_lr_ = {0};
  check_arguments();
  const double infinity = std::numeric_limits<double>::infinity();
  state_.best = mode == min ? infinity : -infinity;
}

void ReduceLROnPlateauScheduler::check_arguments() const {
  TANDEM_CHECK(factor_ >= 0 && factor_ < 1, StateError, "factor = {}; it must be in [0, 1)", factor_);
  TANDEM_CHECK(patience_ >= 0, StateError, "patience = {}; it must not be negative", patience_);
  TANDEM_CHECK(cooldown_ >= 0, StateError, "cooldown = {}; it must not be negative", cooldown_);
  checks::not_negative("threshold", threshold_);
  checks::not_negative("eps", eps_);
  check_per_group("min_lr", min_lr_, optimizer_);
}

bool ReduceLROnPlateauScheduler::improves(double metric) const {
  const double best = state_.best;
  if (mode_ == min) return metric < (threshold_mode_ == rel ? best * (1 - threshold_) : best - threshold_);
  return metric > (threshold_mode_ == rel ? best * (1 + threshold_) : best + threshold_);
}

void ReduceLROnPlateauScheduler::reduce() {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  std::vector<double> rates;
  for (size_t g = 0; g < groups.size(); ++g) {
    rates.push_back(std::max(groups[g].options().get_lr() * factor_, of_group("min_lr", min_lr_, g)));
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    OptimizerOptions& options = groups[g].options();
    if (options.get_lr() - rates[g] > eps_) options.set_lr(rates[g]);
  }
}

void ReduceLROnPlateauScheduler::step(double metric) {
  const OpScope op("ReduceLROnPlateauScheduler");
  State next = state_;
  ++next.last_epoch;
  if (improves(metric)) {
    next.best = metric;
    next.num_bad_epochs = 0;
  } else {
    ++next.num_bad_epochs;
  }
  if (next.cooldown_counter > 0) {
    --next.cooldown_counter;
    next.num_bad_epochs = 0;
  }
  if (next.num_bad_epochs > patience_) {
    reduce();
    next.cooldown_counter = cooldown_;
    next.num_bad_epochs = 0;
  }
  state_ = next;
}

std::vector<double> ReduceLROnPlateauScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

void ReduceLROnPlateauScheduler::State::visit_fields(StateVisitor& visitor) {
  visitor.number("last_epoch", last_epoch);
  visitor.number("best", best);
  visitor.number("num_bad_epochs", num_bad_epochs);
  visitor.number("cooldown_counter", cooldown_counter);
}

StateDict ReduceLROnPlateauScheduler::state_dict() const {
  StateDict state;
  StateWriter writer(state);
  State(state_).visit_fields(writer);
  for (const auto& item : entries_) {
    if (!state.contains(item.key())) state.insert(item.key(), item.value());
  }
  replace_entry(state, "_last_lr", get_last_lr());
  return state;
}

StateCommit ReduceLROnPlateauScheduler::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  const auto arguments = std::make_shared<ScheduleArguments>(state);
  StateReader& reader = arguments->reader_;
  State loaded;
  loaded.visit_fields(reader);
  arguments->number("factor", factor_);
  arguments->number("patience", patience_);
  arguments->number("threshold", threshold_);
  arguments->number("cooldown", cooldown_);
  arguments->number("eps", eps_);
  arguments->list("min_lrs", min_lr_);
  for (const auto& [name, value] : {std::pair{"last_epoch", loaded.last_epoch},
                                    {"num_bad_epochs", loaded.num_bad_epochs},
                                    {"cooldown_counter", loaded.cooldown_counter}}) {
    if (value < 0) reader.add_fault(fmt::format("'{}' is {}", name, value));
  }
  for (const auto& [name, text] :
       {std::pair{"mode", mode_ == min ? "min" : "max"}, {"threshold_mode", threshold_mode_ == rel ? "rel" : "abs"}}) {
    if (!is_other_text(state, name, text)) continue;
    reader.add_fault(fmt::format("'{}' is not \"{}\", as here; construct the schedule as the saved one", name, text));
  }
  const StateDict entries = take_entries(reader, state);
  reader.finish();
  arguments->swap();
  try {
    check_arguments();
  } catch (...) {
    arguments->swap();
    throw;
  }
  arguments->swap();
  return [this, loaded, arguments, entries] {
    arguments->swap();
    state_ = loaded;
    entries_ = entries;
  };
}

}  // namespace tandem::optim
