#pragma once
// ScaleCheck: finds ranks whose losses have different scales before they step. Internal.
//
// The average of gradients with different scales has no scale. Each pass gathers the scales of all ranks beside the
// gradients. On the CPU they are compared at the end of the pass. On a device that would need a wait, so the averages
// get a scale of NaN there if the scales differ: a scaler then skips the step, and the numbers arrive a little later.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autograd/loss_scale.h"
#include "tandem/dist/process_group.h"
#include "tandem/tensor/stream.h"

namespace tandem::nn::parallel::detail {

class ScaleCheck {
 public:
  explicit ScaleCheck(distributed::ProcessGroup& group) : group_(group) {}
  /// Starts to gather the scales of a pass. All ranks call it, once per pass.
  void start(const autograd::LossScalePtr& scale);
  /// Waits for the scales like a reduction, and returns the scale of the averages. Null: start() was not called.
  autograd::LossScalePtr finish();
  /// Describes the ranks and their scales, if they are known to differ.
  std::optional<std::string> difference();
  void cancel();

 private:
  distributed::ProcessGroup& group_;
  autograd::LossScalePtr scale_;
  Tensor all_;  // f32, by rank
  distributed::Work work_;
  std::shared_ptr<void> host_;    // the numbers of a pass that has ended; null: none
  std::optional<Event> arrival_;  // of numbers from a device
};

}  // namespace tandem::nn::parallel::detail
