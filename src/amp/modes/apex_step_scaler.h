#pragma once
// State that initialize() attaches to optimizers: the scale of each loss, and pending results for each optimizer's next
// step.
#include <deque>
#include <exception>
#include <unordered_map>

#include "tandem/amp/grad_scaler.h"
#include "tandem/amp/modes/opt_level.h"

namespace tandem::amp {

class ApexStepScaler final : public optim::StepScaler {
 public:
  ApexStepScaler(const GradScalerOptions& options, int64_t num_losses, bool verbose);

  /// Steps unless a backward pass since the last step overflowed.
  void step(optim::Optimizer& optimizer) override;

  /// The scale of each loss, as "loss_scaler0.scale" and so on. Loading skips losses with a fixed scale.
  StateDict state_dict() override;
  StateCommit prepare_load_state_dict(const StateDict& state) override;

  /// State of one optimizer between two steps.
  struct Pending {
    std::vector<Tensor> found_infs;
    std::optional<int64_t> scaled_by;  // the loss that scaled the gradients: its scale_loss had delay_unscale
    std::exception_ptr error;          // an error that a destructor could not throw
  };
  Pending& pending(const optim::Optimizer& optimizer) { return pending_[optimizer.id()]; }
  std::deque<GradScaler>& scalers() { return scalers_; }
  const GradScalerOptions& options() const { return options_; }
  bool verbose() const { return verbose_; }

 private:
  GradScalerOptions options_;
  std::deque<GradScaler> scalers_;  // one per loss
  std::unordered_map<uint64_t, Pending> pending_;
  bool verbose_;
};

/// The ApexStepScaler of an optimizer that was passed to initialize(). Throws StateError for other optimizers.
std::shared_ptr<ApexStepScaler> apex_step_scaler_of(const optim::Optimizer& optimizer);

}  // namespace tandem::amp
