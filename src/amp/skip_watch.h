#pragma once
// SkipWatch: detects too many skipped iterations in a row without synchronising with the device. Internal.
#include <cstdint>
#include <memory>
#include <optional>

#include "tandem/tensor/stream.h"
#include "tandem/tensor/tensor.h"

namespace tandem::amp::detail {

/// The count is on the device. After each update it is copied to page-locked memory asynchronously, followed by an
/// event. check() uses the last count that has arrived. On the CPU the count is available immediately.
class SkipWatch {
 public:
  explicit SkipWatch(int64_t limit) : limit_(limit) {}
  /// Starts to fetch the count (i32, one element), unless an earlier fetch is still running.
  void send_for(const Tensor& skips);
  /// Throws StateError if the last count that arrived is above the limit; `scale` is for the message.
  void check(const Tensor& scale);
  /// Discards all counts, including those in flight: the state was replaced.
  void forget();

 private:
  /// True if no copy is in flight.
  bool arrived();

  int64_t limit_, last_ = 0;
  std::shared_ptr<void> pinned_;  ///< i32; allocated at the first use on a device
  std::optional<Event> on_its_way_;
};

}  // namespace tandem::amp::detail
