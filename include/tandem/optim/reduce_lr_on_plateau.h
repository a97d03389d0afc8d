#pragma once
// ReduceLROnPlateauScheduler: lowers the learning rate when a metric stops improving.
#include <cstdint>
#include <limits>
#include <vector>

#include "tandem/optim/lr_scheduler.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Multiplies the rates by `factor` after more than `patience` epochs in a row without an improvement of the metric.
/// The optimizer must outlive the schedule. Source: torch::optim::ReduceLROnPlateauScheduler,
/// torch.optim.lr_scheduler.ReduceLROnPlateau.
///
///   optim::ReduceLROnPlateauScheduler schedule(adam);
///   schedule.step(validation_loss.item<double>());
class ReduceLROnPlateauScheduler {
 public:
  /// Whether a low or a high metric is good.
  enum SchedulerMode { min, max };
  /// A metric improves if it is below best (1 - threshold) (rel) or best - threshold (abs); with max, above
  /// best (1 + threshold) or best + threshold.
  enum ThresholdMode { rel, abs };

  /// cooldown: epochs after a reduction in which bad epochs do not count. min_lr: the lowest rate, for all groups or
  /// for each; 0 if empty. Smaller reductions than eps are not applied. Throws StateError unless factor is in [0, 1),
  /// patience, threshold, cooldown, rates and eps are not negative, and there are at most one or as many rates as
  /// groups.
  explicit ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, double factor = 0.1,
                                      int64_t patience = 10, double threshold = 1e-4,
                                      ThresholdMode threshold_mode = rel, int64_t cooldown = 0,
                                      std::vector<double> min_lr = {}, double eps = 1e-8);

  /// Counts an epoch with this metric. NaN is no improvement. Throws StateError if rates are to be reduced, there is
  /// one min_lr for each group, and groups have been added since.
  void step(double metric);
  /// The number of steps taken.
  int64_t last_epoch() const { return state_.last_epoch; }
  /// The best metric so far.
  double best() const { return state_.best; }
  /// The number of epochs in a row without an improvement.
  int64_t num_bad_epochs() const { return state_.num_bad_epochs; }
  /// The current rate of each parameter group.
  std::vector<double> get_last_lr() const;

  /// Contains "last_epoch", "best", "num_bad_epochs" and "cooldown_counter". The rates are in the optimizer's state;
  /// constructor arguments are not saved. Further entries of the loaded state are kept, as by LRScheduler.
  StateDict state_dict() const;
  /// Does not change the optimizer's rates. Arguments in PyTorch's state replace those of the constructor, except
  /// modes. Throws StateError for a state that does not fit.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  StateCommit prepare_load_state_dict(const StateDict& state);

 private:
  struct State {
    int64_t last_epoch = 0, num_bad_epochs = 0, cooldown_counter = 0;
    double best = 0;
    void visit_fields(StateVisitor& visitor);
  };
  void check_arguments() const;
  bool improves(double metric) const;
  void reduce();

  Optimizer& optimizer_;
  SchedulerMode mode_;
  double factor_;
  int64_t patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int64_t cooldown_;
  std::vector<double> min_lr_;
  double eps_;
  State state_;
  StateDict entries_;  // of the loaded state
};

using ReduceLROnPlateau = ReduceLROnPlateauScheduler;

}  // namespace tandem::optim
#pragma GCC visibility pop
