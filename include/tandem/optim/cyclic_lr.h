#pragma once
// Learning rate schedules that also set the momentum: SGD's and RMSprop's `momentum`, the first of `betas` of others.
// A step captured in a CUDA graph follows the rate, but keeps the momentum of its capture.
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/optim/lr_scheduler.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// How a rate changes between two values: along half a period of a cosine, or linearly.
enum class AnnealStrategy : uint8_t { cos, linear };

/// Options of OneCycleLR: `OneCycleLROptions(0.1, epochs * batches).pct_start(0.2)`
class OneCycleLROptions {
 public:
  OneCycleLROptions(double max_lr, int64_t total_steps) : max_lr_{max_lr}, total_steps_(total_steps) {}
  OneCycleLROptions(std::vector<double> max_lr, int64_t total_steps)
      : max_lr_(std::move(max_lr)), total_steps_(total_steps) {}

  /// The highest rate: one for all groups, or one for each.
  TANDEM_ARG(std::vector<double>, max_lr);
  TANDEM_ARG(int64_t, total_steps);
  /// The share of the steps in which the rate rises.
  TANDEM_ARG(double, pct_start) = 0.3;
  TANDEM_ARG(AnnealStrategy, anneal_strategy) = AnnealStrategy::cos;
  /// Whether the momentum falls while the rate rises, and rises while it falls.
  TANDEM_ARG(bool, cycle_momentum) = true;
  TANDEM_ARG(double, base_momentum) = 0.85;
  TANDEM_ARG(double, max_momentum) = 0.95;
  /// The first rate is max_lr / div_factor; it becomes the groups' initial_lr().
  TANDEM_ARG(double, div_factor) = 25;
  /// The last rate is the first one / final_div_factor.
  TANDEM_ARG(double, final_div_factor) = 1e4;
  /// Falls to the first rate as fast as it rose, and then to the last one. Otherwise it falls directly.
  TANDEM_ARG(bool, three_phase) = false;
};

/// One cycle: up from a low rate to max_lr, and down to a much lower one. Call step() after each batch, at most
/// total_steps times. Source: Smith and Topin, "Super-Convergence: Very Fast Training of Neural Networks Using Large
/// Learning Rates" (2017); torch.optim.lr_scheduler.OneCycleLR.
class OneCycleLR : public LRScheduler {
 public:
  /// Throws StateError for options outside their domains, and for cycle_momentum if the optimizer has neither momentum
  /// nor betas.
  OneCycleLR(Optimizer& optimizer, OneCycleLROptions options);
  double lr_at(double base_lr, int64_t epoch) const override { return group_lr_at(0, base_lr, epoch); }
  /// Throws StateError if `epoch` is above total_steps.
  double group_lr_at(size_t group, double base_lr, int64_t epoch) const override;
  std::optional<double> momentum_at(size_t group, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;

 private:
  /// The value at `epoch` if the cycle goes from `first` to `highest` and, at the end, to `last`.
  double value_at(double first, double highest, double last, int64_t epoch) const;

  OneCycleLROptions options_;
};

/// Options of CyclicLR: `CyclicLROptions(0.001, 0.1).step_size_up(500)`
class CyclicLROptions {
 public:
  /// How the height of cycle c, from 1, or of iteration i changes: 1, 2^(1 - c), gamma^i.
  enum class Mode : uint8_t { triangular, triangular2, exp_range };
  enum class ScaleMode : uint8_t { cycle, iterations };

  CyclicLROptions(double base_lr, double max_lr) : base_lr_{base_lr}, max_lr_{max_lr} {}
  CyclicLROptions(std::vector<double> base_lr, std::vector<double> max_lr)
      : base_lr_(std::move(base_lr)), max_lr_(std::move(max_lr)) {}

  /// The lowest and the highest rate: one for all groups, or one for each. base_lr becomes the groups' initial_lr().
  TANDEM_ARG(std::vector<double>, base_lr);
  TANDEM_ARG(std::vector<double>, max_lr);
  /// The steps in which the rate rises.
  TANDEM_ARG(int64_t, step_size_up) = 2000;
  /// The steps in which it falls; step_size_up if empty.
  TANDEM_ARG(std::optional<int64_t>, step_size_down);
  TANDEM_ARG(Mode, mode) = Mode::triangular;
  TANDEM_ARG(double, gamma) = 1;
  /// Replaces the mode's height: a function of the cycle, from 1, or of the iteration.
  TANDEM_ARG(std::function<double(int64_t)>, scale_fn);
  TANDEM_ARG(ScaleMode, scale_mode) = ScaleMode::cycle;  ///< argument of scale_fn
  /// Whether the momentum falls while the rate rises, and rises while it falls.
  TANDEM_ARG(bool, cycle_momentum) = true;
  TANDEM_ARG(double, base_momentum) = 0.8;
  TANDEM_ARG(double, max_momentum) = 0.9;
};

/// Triangles between base_lr and max_lr. Call step() after each batch. Source: Smith, "Cyclical Learning Rates for
/// Training Neural Networks" (2015); torch.optim.lr_scheduler.CyclicLR.
class CyclicLR : public LRScheduler {
 public:
  /// As for OneCycleLR.
  CyclicLR(Optimizer& optimizer, CyclicLROptions options);
  double lr_at(double base_lr, int64_t epoch) const override { return group_lr_at(0, base_lr, epoch); }
  double group_lr_at(size_t group, double base_lr, int64_t epoch) const override;
  std::optional<double> momentum_at(size_t group, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;

 private:
  /// How far the rate has risen, as a share of the range.
  double height_at(int64_t epoch) const;

  CyclicLROptions options_;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
