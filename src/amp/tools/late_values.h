#pragma once
// Values on a device, read without blocking once the device has computed them. Internal.
#include <memory>
#include <vector>

#include "tandem/tensor/stream.h"
#include "tandem/tensor/tensor.h"

namespace tandem::amp {

/// The f32 values of one-element tensors at the time of construction, fetched without synchronising. Values on a device
/// are copied to page-locked memory in stream order.
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
    Event event;
  };
  void record(Device device);

  std::vector<double> values_;            // of tensors on the CPU
  std::shared_ptr<void> pinned_;          // one f32 per tensor, if any tensor is on a device
  std::vector<const float*> on_the_way_;  // pointers into pinned_; null for tensors on the CPU
  std::vector<Copied> copied_;            // one per device
};

}  // namespace tandem::amp
