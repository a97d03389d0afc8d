#pragma once
// ScaleCheck: finds ranks whose losses have different scales before they step. Internal.
//
// The average of gradients with different scales has no scale. Each pass gathers the scales of all ranks after the
// gradients. On the CPU they are compared at once. On a device that would need a wait, so the averages get a scale of
// NaN there if the scales differ: a scaler then skips the step, and the numbers arrive a little later.
#include <memory>
#include <optional>
#include <string>

#include "tandem/autograd/loss_scale.h"
#include "tandem/distributed/process_group.h"
#include "tandem/tensor/stream.h"

namespace tandem::nn::parallel::detail {

class ScaleCheck {
 public:
  explicit ScaleCheck(distributed::ProcessGroup& group) : group_(group) {}
  /// Gathers the scales of a pass, and returns the scale of its averages. All ranks call it.
  autograd::LossScalePtr checked(const autograd::LossScalePtr& scale);
  /// Describes the ranks and their scales, if they are known to differ.
  std::optional<std::string> difference();

 private:
  distributed::ProcessGroup& group_;
  Tensor all_;                    // f32, by rank
  std::shared_ptr<float> host_;   // copy of all_ that difference() has not seen yet; null: none
  std::optional<Event> arrival_;  // of a copy from a device
};

}  // namespace tandem::nn::parallel::detail
