#pragma once
// A CUDA driver without a GPU: device memory is host memory, copies are done immediately, kernels are counted but not
// run. It shows which device calls a whole training step makes: launches, copies, allocations, waits.
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/driver.h"

namespace tandem::cuda::testing {

/// An entry in the device's queues: a copy, or an ordering operation between streams.
struct Queued {
  std::string call;
  const void* stream = nullptr;
  const void* event = nullptr;
  const void *to = nullptr, *from = nullptr;
};

/// The number of calls by name since the last reset, and the entries of the device's queues in order. Calls may come
/// from several threads; read queued() only after they are done.
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
  /// Returns the number of calls in which the host waits for the device.
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
  /// Returns "name: count" for each call, for messages.
  std::string str() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> counts_;
  std::vector<Queued> queued_;
};

/// Returns the fake's table; every call succeeds unless fail_next() was called.
const Driver& fake_driver();
/// Work of a library for a stream: a graph node if the stream is being captured.
void count_node(cudaStream_t stream);
/// Makes the next `times` calls of this name return `code`.
void fail_next(const std::string& name, cudaError_t code, int times = 1);
/// Sets whether recorded events are done; initially they are.
void set_events_done(bool done);

/// Advances the device's clock, which events read. Only this and set_launch_time() advance it.
void pass_time(float milliseconds);
/// Sets the time that every launch takes; initially 0.
void set_launch_time(float milliseconds);
/// Calls `run` when the driver has begun the next capture, before tandem continues.
void once_a_capture_begins(std::function<void()> run);
/// Sets the result of cudaStreamIsCapturing.
void set_capturing(bool capturing);

}  // namespace tandem::cuda::testing
