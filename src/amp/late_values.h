#pragma once
// Numbers that lie on a device, read once it has got round to them. Internal.
#include <memory>
#include <vector>

#include "tandem/cuda/event.h"
#include "tandem/tensor/tensor.h"

namespace tandem::amp {

/// The f32 values of tensors of one element as they are when this is made, without a wait: those on a device are copied
/// to page-locked memory behind the work that it has been given.
class LateValues {
 public:
  explicit LateValues(const std::vector<Tensor>& tensors);
  bool ready() const;
  void wait() const;
  /// The value of tensor number `i`, once ready; NaN for an undefined one.
  double operator[](size_t i) const;

 private:
  struct Copied {
    Device device;
    cuda::Event event;
  };
  void record(Device device);

  std::vector<double> values_;            // of tensors on the CPU
  std::shared_ptr<void> pinned_;          // f32 for each tensor, when some are not
  std::vector<const float*> on_the_way_;  // in it; null for those on the CPU
  std::vector<Copied> copied_;            // one for each device
};

}  // namespace tandem::amp
