// GradScaler::run_step: a whole iteration that runs its batch again after an overflow.
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/random.h"

namespace tandem::amp {

RunStepResult GradScaler::run_step(optim::Optimizer& optimizer, const optim::Optimizer::LossClosure& closure,
                                   int64_t max_replays) {
  const UserCodeScope op("run_step");
  TANDEM_CHECK(closure, StateError, "the closure is empty; pass a function that computes the loss");
  TANDEM_CHECK(max_replays >= 0, StateError, "max_replays must be at least 0, not {}", max_replays);
  check_between_iterations();
  // With a fixed scale the batch would overflow again.
  const int64_t last = is_enabled() && !options_.static_scale() ? max_replays : 0;
  const PhiloxState random = default_generator().get_state();
  for (int64_t replays = 0;; ++replays) {
    if (replays > 0) default_generator().set_state(random);  // repeats the dropout masks
    optimizer.zero_grad();
    Tensor loss, scaled;
    {
      AutoGradMode record(true);
      loss = closure();
      scaled = scale(loss);
    }
    scaled.backward();
    const bool skipped = step(optimizer).skipped();
    update();
    if (!skipped || replays == last) return {loss.detach(), replays, skipped};
  }
}

}  // namespace tandem::amp
