#pragma once
// A CUDA driver without a GPU: device memory is host memory, copies are done at once, kernels are counted and not run.
// So a whole training step can be run for what it asks of the device: launches, copies, allocations, waits.
#include <cstdint>
#include <map>
#include <string>

#include "kernels/cuda/driver.h"

namespace tandem::cuda::testing {

/// How often each call was made since the last reset.
class Calls {
 public:
  static Calls& instance();
  void add(const std::string& name) { ++counts_[name]; }
  int64_t operator[](const std::string& name) const {
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
  void reset() { counts_.clear(); }
  /// "name: count" for each, for messages.
  std::string str() const;

 private:
  std::map<std::string, int64_t> counts_;
};

/// The table of the fake; every call succeeds, unless fail_next() was told otherwise.
const Driver& fake_driver();
/// Work of a library for a stream: a node of the graph where that is captured.
void count_node(cudaStream_t stream);
/// Whether events that were recorded are done; at first they are.
void set_events_done(bool done);
/// The next call of this name returns `code`.
void fail_next(const std::string& name, cudaError_t code);

}  // namespace tandem::cuda::testing
