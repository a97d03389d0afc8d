#pragma once
// Learning rate schedules. Each computes the rate from the number of steps taken, by PyTorch's closed form, so its only
// state is that number. Further schedules are in lambda_lr.h, cyclic_lr.h, swa_lr.h and reduce_lr_on_plateau.h.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// The arguments of a schedule that a state has, as PyTorch's has them: they replace those of the constructor.
class ScheduleArguments {
 public:
  explicit ScheduleArguments(const StateDict& state) : state_(state), reader_(state) {}
  /// A number.
  void number(const std::string& name, double& argument);
  void number(const std::string& name, int64_t& argument);
  /// A list of numbers.
  void list(const std::string& name, std::vector<double>& argument) { read_list(name, argument); }
  void list(const std::string& name, std::vector<int64_t>& argument) { read_list(name, argument); }
  /// Sorted numbers, in the state as {number: how often}: "milestones.30" = 1.
  void counts(const std::string& name, std::vector<int64_t>& argument);
  /// A number that must equal that of the state, of schedules whose other arguments the state has in another form.
  void expect(const std::string& name, double argument);

 private:
  friend class LRScheduler;
  friend class ReduceLROnPlateauScheduler;
  const Tensor* find(const std::string& name) { return reader_.find_if_present(name); }
  template <class T>
  void replace(T& argument, T value);
  template <class T>
  void read_list(const std::string& name, std::vector<T>& argument);
  /// Exchanges the arguments for those of the state; a second call exchanges them back.
  void swap();

  const StateDict& state_;
  StateReader reader_;
  std::string prefix_;
  std::vector<std::function<void()>> swaps_;
};

/// Base of all schedules. The optimizer must outlive the schedule. As in Python's PyTorch, the constructor sets the
/// rates of epoch 0 and each step() sets those of the next epoch (or iteration, if step() is called once per
/// iteration); libtorch's step() lags by one. Rates are computed from each group's initial_lr(), so rounding errors do
/// not accumulate and a rate that something else has set does not last; see ChainableLR for schedules that keep it.
///
/// A user-defined schedule overrides lr_at(), or group_lr_at() if groups differ, and calls start() at the end of its
/// constructor. One that was written for libtorch overrides get_lrs().
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
  /// Throws NotImplementedError unless overridden.
  virtual double lr_at(double base_lr, int64_t epoch) const;
  /// The same for group number `group`, for schedules that differ between groups. Calls lr_at() unless overridden.
  virtual double group_lr_at(size_t group, double base_lr, int64_t epoch) const;
  /// The momentum, or beta1, of group number `group` after `epoch` steps. Empty for schedules that do not set it.
  virtual std::optional<double> momentum_at(size_t group, int64_t epoch) const;
  const Optimizer& optimizer() const { return optimizer_; }

  /// Contains "last_epoch". The current and initial rates are in the optimizer's state; constructor arguments are not
  /// saved. Further entries of the loaded state, such as those of PyTorch's, are kept and brought up to date.
  StateDict state_dict() const;
  /// The optimizer's rates come with its own state. If that was loaded before this schedule was created, takes back
  /// what the constructor did to them. PyTorch's state has arguments, which replace those of the constructor; those of
  /// OneCycleLR and CyclicLR must be equal. Functions, and options that are texts, stay those of the constructor.
  /// Throws StateError for a state that does not fit.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 protected:
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  /// Returns the rates that step() sets, one for each group, or nothing, as by default, for those of lr_at(). At the
  /// first call, step_count_ is 0 and get_current_lrs() are the optimizer's rates.
  virtual std::vector<double> get_lrs() { return {}; }
  std::vector<double> get_current_lrs() const { return get_last_lr(); }
  unsigned step_count_ = 0;
  /// Makes a schedule for the optimizer of another one.
  explicit LRScheduler(const std::shared_ptr<LRScheduler>& other);
  /// Sets the rates of epoch 0.
  void start() { set_rates(0); }
  /// Takes back what the constructors of `schedulers` did to the rates, for a schedule that runs them.
  static void take_back_starts(const std::vector<std::shared_ptr<LRScheduler>>& schedulers);
  /// Sets the rates and momenta of an epoch and makes it the last one.
  void set_epoch(int64_t epoch);
  /// The rate of group number `number` at `epoch`, before the optimizer's rates change. Calls group_lr_at() with the
  /// group's initial rate.
  virtual double next_lr(const OptimizerParamGroup& group, size_t number, int64_t epoch) const;
  /// Passes the arguments that PyTorch's state has, by its names.
  virtual void visit_arguments(ScheduleArguments& arguments);
  /// Throws StateError for arguments outside their domains.
  virtual void check_arguments() const;
  /// Sets those entries of PyTorch's state that change from step to step to their values after `epoch` steps.
  virtual void update_entries(StateDict& entries, int64_t epoch) const;
  /// These apply the functions above to a schedule in this one, with `name` and a dot before the names.
  static void visit_part(ScheduleArguments& arguments, const std::string& name, LRScheduler& part);
  static void check_part(const LRScheduler& part) { part.check_arguments(); }
  static void update_part(StateDict& entries, const std::string& name, const LRScheduler& part, int64_t epoch);
  /// Whether this schedule has set the rate of group number `number` before.
  bool has_set(size_t number) const { return number < first_.size(); }

 private:
  void set_rates(int64_t epoch);
  void set_rates(const std::vector<double>& rates);
  void take_back_start(size_t number);

  struct FirstChange {
    double before, after;
  };
  Optimizer& optimizer_;
  int64_t last_epoch_ = 0;
  std::vector<FirstChange> first_;  // of each group's rate
  StateDict entries_;               // of the loaded state
};

/// Base of schedules that work together with others of the same optimizer, with ReduceLROnPlateau, and with rates that
/// the program sets: as long as the rate is the one that this schedule set, the next one comes from lr_at(); otherwise
/// the rate's distance from lowest() is multiplied by that of lr_at(base_lr, epoch) and divided by that of
/// lr_at(base_lr, epoch - 1).
///
///   optim::ExponentialLR decay(sgd, 0.9);
///   optim::MultiStepLR drops(sgd, {30, 80});
///   for (...) { ...; decay.step(); drops.step(); }  // lr 0.9^epoch, and a tenth of it from epoch 30 on
///
/// Source: the schedules of torch.optim.lr_scheduler, most of which change the current rate.
class ChainableLR : public LRScheduler {
 protected:
  explicit ChainableLR(Optimizer& optimizer) : LRScheduler(optimizer) {}
  explicit ChainableLR(const std::shared_ptr<LRScheduler>& other) : LRScheduler(other) {}
  double next_lr(const OptimizerParamGroup& group, size_t number, int64_t epoch) const override;
  virtual double lowest() const { return 0; }
};

/// base_lr gamma^(epoch / step_size), with the quotient rounded down. Source: torch.optim.lr_scheduler.StepLR.
class StepLR : public ChainableLR {
 public:
  /// Throws StateError unless step_size is at least 1 and gamma is finite and not negative.
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);
  double lr_at(double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;

 private:
  int64_t step_size_;
  double gamma_;
};

/// base_lr gamma^n, where n is the number of milestones up to `epoch`; one that is listed twice counts twice. Source:
/// torch.optim.lr_scheduler.MultiStepLR.
class MultiStepLR : public ChainableLR {
 public:
  /// The milestones may be in any order. Throws StateError unless gamma is finite and not negative.
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);
  double lr_at(double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;

 private:
  std::vector<int64_t> milestones_;
  double gamma_;
};

/// base_lr gamma^epoch. Source: torch.optim.lr_scheduler.ExponentialLR.
class ExponentialLR : public ChainableLR {
 public:
  /// Throws StateError unless gamma is finite and not negative.
  ExponentialLR(Optimizer& optimizer, double gamma);
  double lr_at(double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;

 private:
  double gamma_;
};

/// base_lr factor before epoch total_iters, then base_lr. Source: torch.optim.lr_scheduler.ConstantLR.
class ConstantLR : public ChainableLR {
 public:
  /// Throws StateError unless factor is in [0, 1] and total_iters is not negative.
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);
  double lr_at(double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;

 private:
  double factor_;
  int64_t total_iters_;
};

/// base_lr (1 - min(epoch, total_iters) / total_iters)^power. Source: torch.optim.lr_scheduler.PolynomialLR.
class PolynomialLR : public ChainableLR {
 public:
  /// Throws StateError unless total_iters is at least 1 and power is finite and not negative.
  explicit PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1);
  double lr_at(double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;

 private:
  int64_t total_iters_;
  double power_;
};

/// eta_min + (base_lr - eta_min) (1 + cos(pi epoch / T_max)) / 2. Source: torch.optim.lr_scheduler.CosineAnnealingLR.
class CosineAnnealingLR : public ChainableLR {
 public:
  /// Throws StateError unless T_max is at least 1 and eta_min is finite and not negative.
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);
  double lr_at(double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;
  double lowest() const override { return eta_min_; }

 private:
  int64_t T_max_;
  double eta_min_;
};

/// eta_min + (base_lr - eta_min) (1 + cos(pi t / T)) / 2, where t counts the epochs since the last restart. The periods
/// T are T_0, T_0 T_mult, T_0 T_mult^2, ... epochs. Source: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent
/// with Warm Restarts" (2016); torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  /// Throws StateError unless T_0 and T_mult are at least 1 and eta_min is finite and not negative.
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0);
  double lr_at(double base_lr, int64_t epoch) const override;
  using LRScheduler::step;
  /// Sets the rates of a fractional epoch, such as `epoch + batch / batches`; step() then continues from the whole
  /// epochs in it. Throws StateError if `epoch` is negative or not finite.
  void step(double epoch);

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;
  void update_entries(StateDict& entries, int64_t epoch) const override;
  double next_lr(const OptimizerParamGroup& group, size_t number, int64_t epoch) const override;

 private:
  double rate(double base_lr, double epoch) const;

  int64_t T_0_, T_mult_;
  double eta_min_;
  double fraction_ = 0;  // of the epoch that is being set
};

/// base_lr (start_factor + (end_factor - start_factor) min(epoch, total_iters) / total_iters): a linear warm-up.
/// Source: torch.optim.lr_scheduler.LinearLR.
class LinearLR : public ChainableLR {
 public:
  /// Throws StateError unless start_factor is in (0, 1], end_factor is in [0, 1] and total_iters is at least 1.
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1,
                    int64_t total_iters = 5);
  double lr_at(double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;

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
class SequentialLR : public ChainableLR {
 public:
  /// Throws StateError unless all schedules belong to `optimizer`, there is one milestone fewer than schedules, and the
  /// milestones are positive and increasing.
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones);
  double lr_at(double base_lr, int64_t epoch) const override { return group_lr_at(0, base_lr, epoch); }
  double group_lr_at(size_t group, double base_lr, int64_t epoch) const override;
  std::optional<double> momentum_at(size_t group, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;
  void update_entries(StateDict& entries, int64_t epoch) const override;

 private:
  /// The schedule that runs at `epoch`, and the number of epochs since its start.
  std::pair<const LRScheduler&, int64_t> running(int64_t epoch) const;
  void check_milestones() const;

  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

/// Runs schedules at the same time: each takes the rate of the one before it as its base rate. Step and save only the
/// ChainedScheduler.
///
///   optim::ChainedScheduler schedule({std::make_shared<optim::ConstantLR>(sgd, 0.1, 2),
///                                     std::make_shared<optim::ExponentialLR>(sgd, 0.9)});
///
/// Equal to PyTorch's for schedules that multiply the rate: all but LambdaLR and CosineAnnealingWarmRestarts, which in
/// PyTorch ignore the schedules before them, those of cyclic_lr.h, and cosines with eta_min above 0. Source:
/// torch.optim.lr_scheduler.ChainedScheduler.
class ChainedScheduler : public ChainableLR {
 public:
  /// Throws StateError for an empty list, and unless all schedules belong to one optimizer.
  explicit ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers);
  double lr_at(double base_lr, int64_t epoch) const override { return group_lr_at(0, base_lr, epoch); }
  double group_lr_at(size_t group, double base_lr, int64_t epoch) const override;
  /// That of the last schedule that sets it.
  std::optional<double> momentum_at(size_t group, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;
  void update_entries(StateDict& entries, int64_t epoch) const override;

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
