#pragma once
// DeviceCall: a call whose end is a point in the work of a GPU. Internal.
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "tandem/distributed/work.h"
#include "tandem/tensor/stream.h"

namespace tandem::distributed {

class DeviceCall final : public Work::State {
 public:
  DeviceCall(Device device, std::shared_ptr<Event> end) : device_(device), end_(std::move(end)) {}

  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }
  bool has_run() const { return end_->query(); }

  /// The host does not wait: work that is submitted to the current stream from now on does.
  void wait() override {
    if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
    current_stream(device_).wait_event(*end_);
  }
  bool is_completed() const override { return exception() || has_run(); }
  std::exception_ptr exception() const override {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  const Device device_;
  const std::shared_ptr<Event> end_;
  mutable std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace tandem::distributed
