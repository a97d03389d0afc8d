#pragma once
// on_ranks: runs a test on several ranks, which are threads or, under mpirun, processes that all run the same tests
// (see main_test.cpp). If the tests run on a CUDA device, rank r uses device r.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/device.h"
#include "tandem/amp/thread_context.h"
#include "tandem/cuda/device.h"
#include "tandem/distributed/init.h"
#include "tandem/distributed/thread_group.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/device_guard.h"
#include "tandem/tensor/threads.h"

namespace tandem::testing {

using Group = std::shared_ptr<distributed::ProcessGroup>;

/// Runs `rank(group)` in `size` threads, with the calling thread's modes. Rethrows the first exception.
inline void on_threads(int size, const std::function<void(const Group&)>& rank,
                       const distributed::ProcessGroupOptions& options = {}) {
  if (on_cuda() && size > cuda::device_count()) GTEST_SKIP() << "needs " << size << " CUDA devices";
  std::vector<Group> groups = distributed::make_thread_groups(size, options);
  std::vector<std::exception_ptr> errors(groups.size());
  const ThreadContext context = ThreadContext::capture();
  {
    std::vector<std::jthread> threads;
    for (size_t r = 0; r < groups.size(); ++r) {
      threads.emplace_back([&, r] {
        set_num_threads(1);
        const ThreadContextGuard modes(context);
        const Device device = on_cuda() ? Device(kCUDA, static_cast<int>(r)) : Device(kCPU);
        const DeviceGuard current(device);
        const DefaultDeviceGuard by_default(device);
        try {
          rank(groups[r]);
        } catch (const std::exception& e) {
          errors[r] = std::current_exception();
          groups[r]->abort(e.what());
        }
        groups[r] = nullptr;
      });
    }
  }
  if (on_cuda()) accelerator().fail(nullptr);  // a failed group must not disturb the next test
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

/// Runs `rank(group)` on the ranks of the test program: on 1, 2, 3 and 4 threads (at most one for each CUDA device), or
/// on the processes.
inline void on_ranks(const std::function<void(const Group&)>& rank) {
  if (distributed::is_initialized()) return rank(distributed::world());
  const int most = on_cuda() ? std::min(4, cuda::device_count()) : 4;
  for (int size = 1; size <= most; ++size) on_threads(size, rank);
}

}  // namespace tandem::testing
