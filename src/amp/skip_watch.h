#pragma once
// SkipWatch: notices that too many iterations in a row were skipped, without a wait for the device. Internal.
#include <cstdint>
#include <memory>
#include <optional>

#include "tandem/cuda/event.h"
#include "tandem/tensor/tensor.h"

namespace tandem::amp::detail {

/// The count lies on the device. After an update it is sent for: a copy to page-locked memory, with an event behind it.
/// The check looks at what has arrived. On the CPU both happen at once.
class SkipWatch {
 public:
  explicit SkipWatch(int64_t limit) : limit_(limit) {}
  /// Sends for the count (i32, one element), unless an earlier one is still on its way.
  void send_for(const Tensor& skips);
  /// Throws StateError when the last count that has arrived is above the limit; `scale` is for the message.
  void check(const Tensor& scale);
  /// Forgets all counts, also those on their way: the state was replaced.
  void forget();

 private:
  /// True when nothing is on its way any more.
  bool arrived();

  int64_t limit_, last_ = 0;
  std::shared_ptr<void> pinned_;  ///< i32; made by the first use on a device
  std::optional<cuda::Event> on_its_way_;
};

}  // namespace tandem::amp::detail
