#include "tandem/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "src/optim/momentum.h"
#include "src/optim/schedule_state.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::optim {
namespace {

void check_at_least_one(const char* argument, int64_t value) {
  TANDEM_CHECK(value >= 1, StateError, "{} = {}; it must be at least 1", argument, value);
}

void check_schedulers(const std::vector<std::shared_ptr<LRScheduler>>& schedulers, const Optimizer& optimizer) {
  for (size_t i = 0; i < schedulers.size(); ++i) {
    TANDEM_CHECK(schedulers[i], StateError, "scheduler {} is null; construct it first", i);
    TANDEM_CHECK(&schedulers[i]->optimizer() == &optimizer, StateError,
                 "scheduler {} belongs to another optimizer; create it for this one", i);
  }
}

const std::shared_ptr<LRScheduler>& first_of(const std::vector<std::shared_ptr<LRScheduler>>& schedulers) {
  const OpScope op("ChainedScheduler");
  TANDEM_CHECK(!schedulers.empty() && schedulers[0], StateError,
               "the list of schedulers is empty or its first one null; pass at least one");
  return schedulers[0];
}

/// The name of a schedule in the state of another.
std::string part_name(size_t i) { return fmt::format("_schedulers.{}", i); }

}  // namespace

LRScheduler::LRScheduler(const std::shared_ptr<LRScheduler>& other) : optimizer_(other->optimizer_) {}

double LRScheduler::lr_at(double, int64_t) const {
  const OpScope op("lr_at");
  TANDEM_THROW(NotImplementedError,
               "this schedule has no lr_at(); override it, or get_lrs() if no other schedule runs this one");
}

double LRScheduler::group_lr_at(size_t, double base_lr, int64_t epoch) const { return lr_at(base_lr, epoch); }

std::optional<double> LRScheduler::momentum_at(size_t, int64_t) const { return {}; }

double LRScheduler::next_lr(const OptimizerParamGroup& group, size_t number, int64_t epoch) const {
  return group_lr_at(number, *group.initial_lr(), epoch);
}

void LRScheduler::set_rates(int64_t epoch) {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  // Formulas may throw, so all come before the first write.
  std::vector<double> rates;
  for (OptimizerParamGroup& group : groups) {
    if (!group.initial_lr()) group.initial_lr() = group.options().get_lr();
    rates.push_back(next_lr(group, rates.size(), epoch));
  }
  std::vector<std::optional<double>> momenta;
  for (size_t g = 0; g < groups.size(); ++g) momenta.push_back(momentum_at(g, epoch));
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!has_set(g)) first_.push_back({groups[g].options().get_lr(), rates[g]});
    groups[g].options().set_lr(rates[g]);
    if (momenta[g]) set_momentum(groups[g].options(), *momenta[g]);
  }
}

void LRScheduler::set_epoch(int64_t epoch) {
  set_rates(epoch);
  last_epoch_ = epoch;
}

void LRScheduler::set_rates(const std::vector<double>& rates) {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  TANDEM_CHECK(rates.size() == groups.size(), StateError,
               "get_lrs() returned {} rates for {} parameter groups; return one for each", rates.size(), groups.size());
  for (size_t g = 0; g < groups.size(); ++g) groups[g].options().set_lr(rates[g]);
}

void LRScheduler::step() {
  step_count_ = static_cast<unsigned>(last_epoch_);
  const std::vector<double> rates = get_lrs();
  if (rates.empty()) return set_epoch(last_epoch_ + 1);
  const OpScope op("step");
  set_rates(rates);
  step_count_ = static_cast<unsigned>(++last_epoch_);
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

/// Restores the rate of a group from before the constructor, once, unless something else has set it since.
void LRScheduler::take_back_start(size_t number) {
  if (!has_set(number)) return;
  OptimizerOptions& options = optimizer_.param_groups()[number].options();
  FirstChange& first = first_[number];
  if (options.get_lr() == first.after) options.set_lr(first.after = first.before);
}

void LRScheduler::take_back_starts(const std::vector<std::shared_ptr<LRScheduler>>& schedulers) {
  for (size_t i = 0; i < schedulers.size(); ++i) {  // they may have been created in another order
    for (const auto& scheduler : schedulers) {
      for (size_t g = 0; g < scheduler->optimizer_.param_groups().size(); ++g) scheduler->take_back_start(g);
    }
  }
}

double ChainableLR::next_lr(const OptimizerParamGroup& group, size_t number, int64_t epoch) const {
  const double rate = group.options().get_lr(), base = *group.initial_lr();
  const bool starts = epoch == last_epoch() && !has_set(number);
  const double expected = starts ? base : group_lr_at(number, base, last_epoch());
  const double next = group_lr_at(number, base, epoch);
  if (rate == expected) return next;
  if (next == expected) return rate;
  if (expected == lowest()) return next;
  return lowest() + (rate - lowest()) * ((next - lowest()) / (expected - lowest()));
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : ChainableLR(optimizer), step_size_(step_size), gamma_(gamma) {
  const OpScope op("StepLR");
  check_arguments();
  start();
}

void StepLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.number("step_size", step_size_);
  arguments.number("gamma", gamma_);
}

void StepLR::check_arguments() const {
  check_at_least_one("step_size", step_size_);
  checks::not_negative("gamma", gamma_);
}

double StepLR::lr_at(double base_lr, int64_t epoch) const {
  return base_lr * std::pow(gamma_, static_cast<double>(epoch / step_size_));
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : ChainableLR(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  const OpScope op("MultiStepLR");
  check_arguments();
  std::sort(milestones_.begin(), milestones_.end());
  start();
}

void MultiStepLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.counts("milestones", milestones_);
  arguments.number("gamma", gamma_);
}

void MultiStepLR::check_arguments() const { checks::not_negative("gamma", gamma_); }

double MultiStepLR::lr_at(double base_lr, int64_t epoch) const {
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), epoch) - milestones_.begin();
  return base_lr * std::pow(gamma_, static_cast<double>(passed));
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma) : ChainableLR(optimizer), gamma_(gamma) {
  const OpScope op("ExponentialLR");
  check_arguments();
  start();
}

void ExponentialLR::visit_arguments(ScheduleArguments& arguments) { arguments.number("gamma", gamma_); }

void ExponentialLR::check_arguments() const { checks::not_negative("gamma", gamma_); }

double ExponentialLR::lr_at(double base_lr, int64_t epoch) const {
  return base_lr * std::pow(gamma_, static_cast<double>(epoch));
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : ChainableLR(optimizer), factor_(factor), total_iters_(total_iters) {
  const OpScope op("ConstantLR");
  check_arguments();
  start();
}

void ConstantLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.number("factor", factor_);
  arguments.number("total_iters", total_iters_);
}

void ConstantLR::check_arguments() const {
  TANDEM_CHECK(factor_ >= 0 && factor_ <= 1, StateError, "factor = {}; it must be in [0, 1]", factor_);
  TANDEM_CHECK(total_iters_ >= 0, StateError, "total_iters = {}; it must not be negative", total_iters_);
}

double ConstantLR::lr_at(double base_lr, int64_t epoch) const {
  return epoch < total_iters_ ? base_lr * factor_ : base_lr;
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : ChainableLR(optimizer), total_iters_(total_iters), power_(power) {
  const OpScope op("PolynomialLR");
  check_arguments();
  start();
}

void PolynomialLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.number("total_iters", total_iters_);
  arguments.number("power", power_);
}

void PolynomialLR::check_arguments() const {
  check_at_least_one("total_iters", total_iters_);
  checks::not_negative("power", power_);
}

double PolynomialLR::lr_at(double base_lr, int64_t epoch) const {
  const double share = static_cast<double>(std::min(epoch, total_iters_)) / static_cast<double>(total_iters_);
  return base_lr * std::pow(1 - share, power_);
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : ChainableLR(optimizer), T_max_(T_max), eta_min_(eta_min) {
  const OpScope op("CosineAnnealingLR");
  check_arguments();
  start();
}

void CosineAnnealingLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.number("T_max", T_max_);
  arguments.number("eta_min", eta_min_);
}

void CosineAnnealingLR::check_arguments() const {
  check_at_least_one("T_max", T_max_);
  checks::not_negative("eta_min", eta_min_);
}

double CosineAnnealingLR::lr_at(double base_lr, int64_t epoch) const {
  const double angle = std::numbers::pi * static_cast<double>(epoch) / static_cast<double>(T_max_);
  return eta_min_ + (base_lr - eta_min_) * (1 + std::cos(angle)) / 2;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min)
    : LRScheduler(optimizer), T_0_(T_0), T_mult_(T_mult), eta_min_(eta_min) {
  const OpScope op("CosineAnnealingWarmRestarts");
  check_arguments();
  start();
}

void CosineAnnealingWarmRestarts::visit_arguments(ScheduleArguments& arguments) {
  arguments.number("T_0", T_0_);
  arguments.number("T_mult", T_mult_);
  arguments.number("eta_min", eta_min_);
}

void CosineAnnealingWarmRestarts::check_arguments() const {
  check_at_least_one("T_0", T_0_);
  check_at_least_one("T_mult", T_mult_);
  checks::not_negative("eta_min", eta_min_);
}

void CosineAnnealingWarmRestarts::update_entries(StateDict& entries, int64_t epoch) const {
  LRScheduler::update_entries(entries, epoch);
  int64_t period = T_0_;
  for (; T_mult_ > 1 && epoch >= period; period *= T_mult_) epoch -= period;
  replace_entry(entries, "T_cur", T_mult_ > 1 ? epoch : epoch % period);
  replace_entry(entries, "T_i", period);
}

double CosineAnnealingWarmRestarts::rate(double base_lr, double epoch) const {
  auto period = static_cast<double>(T_0_);
  if (T_mult_ == 1) {
    epoch = std::fmod(epoch, period);
  } else {
    for (; epoch >= period; period *= static_cast<double>(T_mult_)) epoch -= period;
  }
  return eta_min_ + (base_lr - eta_min_) * (1 + std::cos(std::numbers::pi * epoch / period)) / 2;
}

double CosineAnnealingWarmRestarts::lr_at(double base_lr, int64_t epoch) const {
  return rate(base_lr, static_cast<double>(epoch));
}

double CosineAnnealingWarmRestarts::next_lr(const OptimizerParamGroup& group, size_t, int64_t epoch) const {
  return rate(*group.initial_lr(), static_cast<double>(epoch) + fraction_);
}

void CosineAnnealingWarmRestarts::step(double epoch) {
  const OpScope op("CosineAnnealingWarmRestarts");
  // Whole epochs are counted in an int64_t.
  TANDEM_CHECK(epoch >= 0 && epoch < 0x1p53, StateError, "epoch = {}; it must be at least 0 and below 2^53", epoch);
  const double whole = std::floor(epoch);
  fraction_ = epoch - whole;
  set_epoch(static_cast<int64_t>(whole));
  fraction_ = 0;
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters)
    : ChainableLR(optimizer), start_factor_(start_factor), end_factor_(end_factor), total_iters_(total_iters) {
  const OpScope op("LinearLR");
  check_arguments();
  start();
}

void LinearLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.number("start_factor", start_factor_);
  arguments.number("end_factor", end_factor_);
  arguments.number("total_iters", total_iters_);
}

void LinearLR::check_arguments() const {
  TANDEM_CHECK(start_factor_ > 0 && start_factor_ <= 1, StateError, "start_factor = {}; it must be in (0, 1]",
               start_factor_);
  TANDEM_CHECK(end_factor_ >= 0 && end_factor_ <= 1, StateError, "end_factor = {}; it must be in [0, 1]", end_factor_);
  check_at_least_one("total_iters", total_iters_);
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
    : ChainableLR(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  const UserCodeScope op("SequentialLR");  // lr_at() of the schedules
  check_milestones();
  check_schedulers(schedulers_, optimizer);
  take_back_starts(schedulers_);
  start();
}

std::pair<const LRScheduler&, int64_t> SequentialLR::running(int64_t epoch) const {
  const auto next = std::upper_bound(milestones_.begin(), milestones_.end(), epoch);
  const int64_t begin = next == milestones_.begin() ? 0 : next[-1];
  return {*schedulers_[static_cast<size_t>(next - milestones_.begin())], epoch - begin};
}

double SequentialLR::group_lr_at(size_t group, double base_lr, int64_t epoch) const {
  const auto [scheduler, own_epoch] = running(epoch);
  return scheduler.group_lr_at(group, base_lr, own_epoch);
}

std::optional<double> SequentialLR::momentum_at(size_t group, int64_t epoch) const {
  const auto [scheduler, own_epoch] = running(epoch);
  return scheduler.momentum_at(group, own_epoch);
}

void SequentialLR::check_milestones() const {
  TANDEM_CHECK(schedulers_.size() == milestones_.size() + 1, StateError,
               "{} schedulers and {} milestones; there must be one milestone fewer than schedulers", schedulers_.size(),
               milestones_.size());
  for (size_t i = 0; i < milestones_.size(); ++i) {
    const int64_t before = i == 0 ? 0 : milestones_[i - 1];
    TANDEM_CHECK(milestones_[i] > before, StateError, "milestone {} is {}, after {}; milestones must increase", i,
                 milestones_[i], before);
  }
}

void SequentialLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.list("_milestones", milestones_);
  for (size_t i = 0; i < schedulers_.size(); ++i) visit_part(arguments, part_name(i), *schedulers_[i]);
}

void SequentialLR::check_arguments() const {
  check_milestones();
  for (const auto& scheduler : schedulers_) check_part(*scheduler);
}

void SequentialLR::update_entries(StateDict& entries, int64_t epoch) const {
  LRScheduler::update_entries(entries, epoch);
  for (size_t i = 0; i < schedulers_.size(); ++i) {
    const int64_t begin = i == 0 ? 0 : milestones_[i - 1];
    const int64_t last = i < milestones_.size() ? std::min(epoch, milestones_[i] - 1) : epoch;
    update_part(entries, part_name(i), *schedulers_[i], std::max<int64_t>(last - begin, -1));
  }
}

ChainedScheduler::ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers)
    : ChainableLR(first_of(schedulers)), schedulers_(std::move(schedulers)) {
  const UserCodeScope op("ChainedScheduler");  // lr_at() of the schedules
  check_schedulers(schedulers_, optimizer());
  take_back_starts(schedulers_);
  start();
}

double ChainedScheduler::group_lr_at(size_t group, double base_lr, int64_t epoch) const {
  for (const auto& scheduler : schedulers_) base_lr = scheduler->group_lr_at(group, base_lr, epoch);
  return base_lr;
}

std::optional<double> ChainedScheduler::momentum_at(size_t group, int64_t epoch) const {
  std::optional<double> last;
  for (const auto& scheduler : schedulers_) {
    if (const auto momentum = scheduler->momentum_at(group, epoch)) last = momentum;
  }
  return last;
}

void ChainedScheduler::visit_arguments(ScheduleArguments& arguments) {
  for (size_t i = 0; i < schedulers_.size(); ++i) visit_part(arguments, part_name(i), *schedulers_[i]);
}

void ChainedScheduler::check_arguments() const {
  for (const auto& scheduler : schedulers_) check_part(*scheduler);
}

void ChainedScheduler::update_entries(StateDict& entries, int64_t epoch) const {
  LRScheduler::update_entries(entries, epoch);
  for (size_t i = 0; i < schedulers_.size(); ++i) update_part(entries, part_name(i), *schedulers_[i], epoch);
}

}  // namespace tandem::optim
