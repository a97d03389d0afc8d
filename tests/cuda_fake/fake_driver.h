#pragma once
// A CUDA driver without a GPU: device memory is host memory, copies are done at once, kernels are counted and not run.
// So a whole training step can be run for what it asks of the device: launches, copies, allocations, waits.
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/driver.h"

namespace tandem::cuda::testing {

/// A copy, or a step in the order between streams: what a queue of the device was given.
struct Queued {
  std::string call;
  const void* stream = nullptr;
  const void* event = nullptr;
  const void *to = nullptr, *from = nullptr;
};

/// How often each call was made since the last reset, and what the device's queues were given, in order. Calls may come
/// from several threads; queued() is for when they are done.
class Calls {
 public:
  static Calls& instance();
  void add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    ++counts_[name];
  }
  int64_t operator[](const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(name);
    return found == counts_.end() ? 0 : found->second;
  }
  int64_t launches() const { return (*this)["cudaLaunchKernel"]; }
  /// Calls in which the host waits for the device.
  int64_t waits() const {
    return (*this)["cudaDeviceSynchronize"] + (*this)["cudaStreamSynchronize"] + (*this)["cudaEventSynchronize"];
  }
  int64_t allocations() const { return (*this)["cudaMalloc"] + (*this)["cudaHostAlloc"]; }
  int64_t copies() const { return (*this)["cudaMemcpyAsync"]; }
  void queue(Queued entry) {
    const std::lock_guard lock(mutex_);
    queued_.push_back(std::move(entry));
  }
  const std::vector<Queued>& queued() const { return queued_; }
  void reset() {
    const std::lock_guard lock(mutex_);
    counts_.clear();
    queued_.clear();
  }
  /// "name: count" for each, for messages.
  std::string str() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> counts_;
  std::vector<Queued> queued_;
};

/// The table of the fake; every call succeeds, unless fail_next() was told otherwise.
const Driver& fake_driver();
/// Work of a library for a stream: a node of the graph where that is captured.
void count_node(cudaStream_t stream);
/// The next `times` calls of this name return `code`.
void fail_next(const std::string& name, cudaError_t code, int times = 1);
/// Whether events that were recorded are done; at first they are.
void set_events_done(bool done);

/// The device's clock, in milliseconds, which events read: it stands but for what these say.
void pass_time(float milliseconds);
/// What every launch takes from now on; 0 at first.
void set_launch_time(float milliseconds);
/// Runs this as soon as the driver has begun the next capture, before tandem goes on.
void once_a_capture_begins(std::function<void()> run);
/// What cudaStreamIsCapturing says from now on.
void set_capturing(bool capturing);

}  // namespace tandem::cuda::testing
