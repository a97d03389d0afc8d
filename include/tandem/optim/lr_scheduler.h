#pragma once
// Learning rate schedules. Each computes the rate from the number of steps taken, by PyTorch's closed form, so its only
// state is that number.
#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Base of all schedules. The optimizer must outlive the schedule. As in Python's PyTorch, the constructor sets the
/// rates of epoch 0 and each step() sets those of the next epoch (or iteration, if step() is called once per
/// iteration); libtorch's step() lags by one. Rates are computed from each group's initial_lr(), never from the current
/// rate, so rounding errors do not accumulate.
///
/// A user-defined schedule overrides lr_at() and calls start() at the end of its constructor.
class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// Advances by one epoch and sets the rates.
  void step();
  /// The number of steps taken.
  int64_t last_epoch() const { return last_epoch_; }
  /// The current rate of each parameter group.
  std::vector<double> get_last_lr() const;
  /// The rate after `epoch` steps for a group whose initial rate is `base_lr`.
  virtual double lr_at(double base_lr, int64_t epoch) const = 0;
  const Optimizer& optimizer() const { return optimizer_; }

  /// Contains "last_epoch". The current and initial rates are in the optimizer's state; constructor arguments are not
  /// saved.
  StateDict state_dict() const;
  /// Does not change the optimizer's rates, which its own state contains. Throws StateError for a state that does not
  /// fit.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 protected:
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  /// Sets the rates of epoch 0.
  void start() { set_rates(0); }

 private:
  void set_rates(int64_t epoch);

  Optimizer& optimizer_;
  int64_t last_epoch_ = 0;
};

/// base_lr gamma^(epoch / step_size), with the quotient rounded down. Source: torch.optim.lr_scheduler.StepLR.
class StepLR : public LRScheduler {
 public:
  /// Throws StateError unless step_size is at least 1 and gamma is finite and not negative.
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);
  double lr_at(double base_lr, int64_t epoch) const override;

 private:
  int64_t step_size_;
  double gamma_;
};

/// eta_min + (base_lr - eta_min) (1 + cos(pi epoch / T_max)) / 2. Source: torch.optim.lr_scheduler.CosineAnnealingLR.
class CosineAnnealingLR : public LRScheduler {
 public:
  /// Throws StateError unless T_max is at least 1 and eta_min is finite and not negative.
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);
  double lr_at(double base_lr, int64_t epoch) const override;

 private:
  int64_t T_max_;
  double eta_min_;
};

/// base_lr (start_factor + (end_factor - start_factor) min(epoch, total_iters) / total_iters): a linear warm-up.
/// Source: torch.optim.lr_scheduler.LinearLR.
class LinearLR : public LRScheduler {
 public:
  /// Throws StateError unless start_factor is in (0, 1], end_factor is in [0, 1] and total_iters is at least 1.
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1,
                    int64_t total_iters = 5);
  double lr_at(double base_lr, int64_t epoch) const override;

 private:
  double start_factor_, end_factor_;
  int64_t total_iters_;
};

/// base_lr (epoch + 1) / (warmup_steps + 1) during the warm-up, then base_lr (total_steps - epoch) / (total_steps -
/// warmup_steps), and 0 after total_steps. Source: Colossal-AI, LinearWarmupLR.
class LinearWarmupLR : public LRScheduler {
 public:
  /// Throws StateError unless 0 <= warmup_steps < total_steps.
  LinearWarmupLR(Optimizer& optimizer, int64_t total_steps, int64_t warmup_steps = 0);
  double lr_at(double base_lr, int64_t epoch) const override;

 private:
  int64_t total_steps_, warmup_steps_;
};

/// Runs schedules one after another: the first until epoch milestones[0]; the second, counting its epochs from there,
/// until milestones[1]; and so on. Step and save only the SequentialLR: it uses only the formulas of the schedules in
/// it.
///
///   optim::SequentialLR schedule(sgd, {std::make_shared<optim::LinearLR>(sgd, 0.1),
///                                      std::make_shared<optim::CosineAnnealingLR>(sgd, 95)}, {5});
///
/// Source: torch.optim.lr_scheduler.SequentialLR.
class SequentialLR : public LRScheduler {
 public:
  /// Throws StateError unless all schedules belong to `optimizer`, there is one milestone fewer than schedules, and the
  /// milestones are positive and increasing.
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones);
  double lr_at(double base_lr, int64_t epoch) const override;

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
