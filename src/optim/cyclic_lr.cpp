#include "tandem/optim/cyclic_lr.h"

#include <cmath>
#include <numbers>

#include "src/optim/momentum.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem::optim {
namespace {

double annealed(AnnealStrategy strategy, double from, double to, double share) {
  if (strategy == AnnealStrategy::linear) return (to - from) * share + from;
  return to + (from - to) / 2 * (std::cos(std::numbers::pi * share) + 1);
}

void check_cycled_momentum(const Optimizer& optimizer, double base, double max) {
  check_has_momentum(optimizer);
  checks::not_negative("base_momentum", base);
  checks::not_negative("max_momentum", max);
}

void check_above_zero(const char* name, double value) {
  TANDEM_CHECK(value > 0 && std::isfinite(value), StateError, "{} = {}; it must be finite and above 0", name, value);
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, OneCycleLROptions options)
    : LRScheduler(optimizer), options_(std::move(options)) {
  const OpScope op("OneCycleLR");
  check_per_group("max_lr", options_.max_lr(), optimizer);
  TANDEM_CHECK(options_.total_steps() >= 1, StateError, "total_steps = {}; it must be at least 1",
               options_.total_steps());
  TANDEM_CHECK(options_.pct_start() >= 0 && options_.pct_start() <= 1, StateError,
               "pct_start = {}; it must be in [0, 1]", options_.pct_start());
  check_above_zero("div_factor", options_.div_factor());
  check_above_zero("final_div_factor", options_.final_div_factor());
  if (options_.cycle_momentum()) {
    check_cycled_momentum(optimizer, options_.base_momentum(), options_.max_momentum());
  }
  for (size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    optimizer.param_groups()[g].initial_lr() = of_group("max_lr", options_.max_lr(), g) / options_.div_factor();
  }
  start();
}

void OneCycleLR::visit_arguments(ScheduleArguments& arguments) {
  arguments.expect("total_steps", static_cast<double>(options_.total_steps()));
}

double OneCycleLR::value_at(double first, double highest, double last, int64_t epoch) const {
  struct Phase {
    double end, from, to;
  };
  // The ends are epochs, which begin at 0.
  const auto steps = static_cast<double>(options_.total_steps());
  const double rise = options_.pct_start() * steps;
  const bool three = options_.three_phase();
  const Phase phases[] = {{rise - 1, first, highest},
                          {three ? 2 * rise - 2 : steps - 1, highest, three ? first : last},
                          {steps - 1, first, last}};
  const int count = three ? 3 : 2;
  const auto at = static_cast<double>(epoch);
  double begin = 0;
  int k = 0;
  for (; k < count - 1 && at > phases[k].end; ++k) begin = phases[k].end;
  const double length = phases[k].end - begin;
  // A phase without length, which PyTorch would divide by, is at its end.
  const double share = length != 0 ? (at - begin) / length : 1;
  return annealed(options_.anneal_strategy(), phases[k].from, phases[k].to, share);
}

double OneCycleLR::group_lr_at(size_t group, double, int64_t epoch) const {
  const OpScope op("OneCycleLR");
  TANDEM_CHECK(epoch <= options_.total_steps(), StateError,
               "step {} of {}; call step() once for each batch, or raise total_steps", epoch, options_.total_steps());
  const double highest = of_group("max_lr", options_.max_lr(), group);
  const double first = highest / options_.div_factor();
  return value_at(first, highest, first / options_.final_div_factor(), epoch);
}

std::optional<double> OneCycleLR::momentum_at(size_t, int64_t epoch) const {
  if (!options_.cycle_momentum()) return {};
  return value_at(options_.max_momentum(), options_.base_momentum(), options_.max_momentum(), epoch);
}

CyclicLR::CyclicLR(Optimizer& optimizer, CyclicLROptions options)
    : LRScheduler(optimizer), options_(std::move(options)) {
  const UserCodeScope op("CyclicLR");  // scale_fn
  check_per_group("base_lr", options_.base_lr(), optimizer);
  check_per_group("max_lr", options_.max_lr(), optimizer);
  TANDEM_CHECK(options_.step_size_up() >= 1, StateError, "step_size_up = {}; it must be at least 1",
               options_.step_size_up());
  const int64_t down = options_.step_size_down().value_or(options_.step_size_up());
  TANDEM_CHECK(down >= 1, StateError, "step_size_down = {}; it must be at least 1", down);
  checks::not_negative("gamma", options_.gamma());
  if (options_.cycle_momentum()) {
    check_cycled_momentum(optimizer, options_.base_momentum(), options_.max_momentum());
  }
  for (size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    optimizer.param_groups()[g].initial_lr() = of_group("base_lr", options_.base_lr(), g);
  }
  start();
}

void CyclicLR::visit_arguments(ScheduleArguments& arguments) {
  const auto up = static_cast<double>(options_.step_size_up());
  const double size = up + static_cast<double>(options_.step_size_down().value_or(options_.step_size_up()));
  arguments.expect("total_size", size);
  arguments.expect("step_ratio", up / size);
  arguments.expect("gamma", options_.gamma());
}

double CyclicLR::height_at(int64_t epoch) const {
  const int64_t up = options_.step_size_up(), length = up + options_.step_size_down().value_or(up);
  const int64_t cycle = 1 + epoch / length, within = epoch % length;
  const double height = within <= up ? static_cast<double>(within) / static_cast<double>(up)
                                     : static_cast<double>(length - within) / static_cast<double>(length - up);
  if (options_.scale_fn()) {
    return height * options_.scale_fn()(options_.scale_mode() == CyclicLROptions::ScaleMode::cycle ? cycle : epoch);
  }
  switch (options_.mode()) {
    case CyclicLROptions::Mode::triangular2:
      return height * std::pow(2.0, static_cast<double>(1 - cycle));
    case CyclicLROptions::Mode::exp_range:
      return height * std::pow(options_.gamma(), static_cast<double>(epoch));
    default:
      return height;
  }
}

double CyclicLR::group_lr_at(size_t group, double, int64_t epoch) const {
  const double low = of_group("base_lr", options_.base_lr(), group);
  return low + (of_group("max_lr", options_.max_lr(), group) - low) * height_at(epoch);
}

std::optional<double> CyclicLR::momentum_at(size_t, int64_t epoch) const {
  if (!options_.cycle_momentum()) return {};
  return options_.max_momentum() - (options_.max_momentum() - options_.base_momentum()) * height_at(epoch);
}

}  // namespace tandem::optim
