#pragma once
// on_ranks: runs a test on several ranks, which are threads or, under mpirun, processes that all run the same tests
// (see main_test.cpp).
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tandem/dist/init.h"
#include "tandem/dist/thread_group.h"
#include "tandem/tensor/threads.h"

namespace tandem::testing {

using Group = std::shared_ptr<distributed::ProcessGroup>;

/// Runs `rank(group)` in `size` threads. Rethrows the first exception.
inline void on_threads(int size, const std::function<void(const Group&)>& rank,
                       const distributed::ProcessGroupOptions& options = {}) {
  std::vector<Group> groups = distributed::make_thread_groups(size, options);
  std::vector<std::exception_ptr> errors(groups.size());
  {
    std::vector<std::jthread> threads;
    for (size_t r = 0; r < groups.size(); ++r) {
      threads.emplace_back([&, r] {
        set_num_threads(1);
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
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
}

/// Runs `rank(group)` on the ranks of the test program: on 1, 2, 3 and 4 threads, or on the processes.
inline void on_ranks(const std::function<void(const Group&)>& rank) {
  if (distributed::is_initialized()) return rank(distributed::world());
  for (int size = 1; size <= 4; ++size) on_threads(size, rank);
}

}  // namespace tandem::testing
