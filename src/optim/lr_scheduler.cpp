#include "tandem/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::optim {
namespace {

void check_at_least_one(const char* argument, int64_t value) {
  TANDEM_CHECK(value >= 1, StateError, "{} = {}; it must be at least 1", argument, value);
}

}  // namespace

void LRScheduler::set_rates(int64_t epoch) {
  for (OptimizerParamGroup& group : optimizer_.param_groups()) {
    OptimizerOptions& options = group.options();
    if (!group.initial_lr()) group.initial_lr() = options.get_lr();
    options.set_lr(lr_at(*group.initial_lr(), epoch));
  }
}

void LRScheduler::step() {
  set_rates(last_epoch_ + 1);
  ++last_epoch_;
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

StateDict LRScheduler::state_dict() const {
  StateDict state;
  int64_t epoch = last_epoch_;
  StateWriter(state).number("last_epoch", epoch);
  return state;
}

StateCommit LRScheduler::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  int64_t epoch = 0;
  reader.number("last_epoch", epoch);
  if (epoch < 0) reader.add_fault(fmt::format("'last_epoch' is {}", epoch));
  reader.finish();
  return [this, epoch] { last_epoch_ = epoch; };
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  const OpScope op("StepLR");
  check_at_least_one("step_size", step_size);
  checks::not_negative("gamma", gamma);
  start();
}

double StepLR::lr_at(double base_lr, int64_t epoch) const {
  return base_lr * std::pow(gamma_, static_cast<double>(epoch / step_size_));
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), T_max_(T_max), eta_min_(eta_min) {
  const OpScope op("CosineAnnealingLR");
  check_at_least_one("T_max", T_max);
  checks::not_negative("eta_min", eta_min);
  start();
}

double CosineAnnealingLR::lr_at(double base_lr, int64_t epoch) const {
  const double angle = std::numbers::pi * static_cast<double>(epoch) / static_cast<double>(T_max_);
  return eta_min_ + (base_lr - eta_min_) * (1 + std::cos(angle)) / 2;
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : LRScheduler(optimizer), start_factor_(start_factor), end_factor_(end_factor), total_iters_(total_iters) {
  const OpScope op("LinearLR");
  TANDEM_CHECK(start_factor > 0 && start_factor <= 1, StateError, "start_factor = {}; it must be in (0, 1]",
               start_factor);
  TANDEM_CHECK(end_factor >= 0 && end_factor <= 1, StateError, "end_factor = {}; it must be in [0, 1]", end_factor);
  check_at_least_one("total_iters", total_iters);
  start();
}

double LinearLR::lr_at(double base_lr, int64_t epoch) const {
  const double share = static_cast<double>(std::min(epoch, total_iters_)) / static_cast<double>(total_iters_);
  return base_lr * (start_factor_ + (end_factor_ - start_factor_) * share);
}

LinearWarmupLR::LinearWarmupLR(Optimizer& optimizer, int64_t total_steps, int64_t warmup_steps)
    : LRScheduler(optimizer), total_steps_(total_steps), warmup_steps_(warmup_steps) {
  const OpScope op("LinearWarmupLR");
  TANDEM_CHECK(warmup_steps >= 0 && warmup_steps < total_steps, StateError,
               "warmup_steps = {} with total_steps = {}; it must be at least 0 and below total_steps", warmup_steps,
               total_steps);
  start();
}

double LinearWarmupLR::lr_at(double base_lr, int64_t epoch) const {
  if (epoch < warmup_steps_) {
    return static_cast<double>(epoch + 1) / static_cast<double>(warmup_steps_ + 1) * base_lr;
  }
  const int64_t left = std::max<int64_t>(total_steps_ - epoch, 0);
  return static_cast<double>(left) / static_cast<double>(total_steps_ - warmup_steps_) * base_lr;
}

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<int64_t> milestones)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  const UserCodeScope op("SequentialLR");  // lr_at() of the schedules
  TANDEM_CHECK(schedulers_.size() == milestones_.size() + 1, StateError,
               "{} schedulers and {} milestones; there must be one milestone fewer than schedulers", schedulers_.size(),
               milestones_.size());
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    TANDEM_CHECK(schedulers_[i], StateError, "scheduler {} is null; construct it first", i);
    TANDEM_CHECK(&schedulers_[i]->optimizer() == &optimizer, StateError,
                 "scheduler {} belongs to another optimizer; create it for this one", i);
  }
  for (size_t i = 0; i < milestones_.size(); ++i) {
    const int64_t before = i == 0 ? 0 : milestones_[i - 1];
    TANDEM_CHECK(milestones_[i] > before, StateError, "milestone {} is {}, after {}; milestones must increase", i,
                 milestones_[i], before);
  }
  start();
}

double SequentialLR::lr_at(double base_lr, int64_t epoch) const {
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), epoch);
  const int64_t begin = next == milestones_.begin() ? 0 : next[-1];
  return schedulers_[static_cast<size_t>(next - milestones_.begin())]->lr_at(base_lr, epoch - begin);
}

}  // namespace tandem::optim
