#pragma once
// SWALR: the learning rate of stochastic weight averaging.
#include <vector>

#include "tandem/optim/cyclic_lr.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Anneals the rates from their values at the first step() to swa_lr in anneal_epochs steps, and keeps them there.
/// Other schedules may set the rates before the first step(). nn/averaged_model.h averages the weights. Source:
/// Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization" (2018);
/// torch.optim.swa_utils.SWALR.
class SWALR : public LRScheduler {
 public:
  /// swa_lr: one for all groups, or one for each. With anneal_epochs 0, sets the rates to swa_lr now. Throws StateError
  /// for a rate that is negative or not finite, unless there are one or as many rates as groups, and for negative
  /// anneal_epochs.
  SWALR(Optimizer& optimizer, double swa_lr, int64_t anneal_epochs = 10,
        AnnealStrategy anneal_strategy = AnnealStrategy::cos);
  SWALR(Optimizer& optimizer, std::vector<double> swa_lr, int64_t anneal_epochs = 10,
        AnnealStrategy anneal_strategy = AnnealStrategy::cos);
  /// The rate if that of the first step() was base_lr.
  double lr_at(double base_lr, int64_t epoch) const override { return group_lr_at(0, base_lr, epoch); }
  double group_lr_at(size_t group, double base_lr, int64_t epoch) const override;

 protected:
  void visit_arguments(ScheduleArguments& arguments) override;
  void check_arguments() const override;
  double next_lr(const OptimizerParamGroup& group, size_t number, int64_t epoch) const override;

 private:
  double share(int64_t epoch) const;

  std::vector<double> swa_lr_;
  int64_t anneal_epochs_;
  AnnealStrategy strategy_;
};

}  // namespace tandem::optim
#pragma GCC visibility pop
