// The threads of parallel_for. All OpenMP code of tandem's own loops is here.
#include "kernels/cpu/parallel.h"

#include <algorithm>
#include <exception>

#include "kernels/cpu/busy_machine.h"
#include "tandem/base/check.h"
#if defined(_OPENMP)
#include <omp.h>
#include <pthread.h>
#endif

namespace tandem {

namespace {

#if defined(_OPENMP)
/// A child of fork() has one thread. If that thread used a team before the fork, OpenMP would wait for the team for
/// ever.
thread_local bool has_team = false, lost_team = false;

void register_fork_handler() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
    lost_team = lost_team || has_team;
    if (lost_team) omp_set_num_threads(1);  // for oneDNN too
  });
  (void)registered;
}
#endif

}  // namespace

#if defined(_OPENMP)
int get_num_threads() { return omp_get_max_threads(); }
#else
int get_num_threads() { return 1; }
#endif

void set_num_threads(int count) {
  const OpScope op("set_num_threads");
  constexpr int kMostThreads = 4096;  // more can exhaust the stack of OpenMP's runtime library
  TANDEM_CHECK(count >= 1 && count <= kMostThreads, StateError, "{} threads requested; give 1 to {}", count,
               kMostThreads);
#if defined(_OPENMP)
  if (!lost_team) omp_set_num_threads(count);
#endif
}

void cpu::note_parallel_work() noexcept {
#if defined(_OPENMP)
  if (get_num_threads() == 1) return;
  if (!has_team) {
    register_fork_handler();
    has_team = true;
  }
  watch_machine();
#endif
}

namespace cpu::detail {

int64_t parallel_parts([[maybe_unused]] int64_t n, [[maybe_unused]] int64_t grain) {
#if defined(_OPENMP)
  if (!omp_in_parallel()) {
    const int64_t most = (n + grain - 1) / std::max<int64_t>(grain, 1);
    return std::clamp<int64_t>(most, 1, get_num_threads());
  }
#endif
  return 1;
}

void parallel_run(int64_t n, [[maybe_unused]] int64_t grain, ParallelBody body, void* context) {
#if defined(_OPENMP)
  const int64_t parts = parallel_parts(n, grain);
  if (parts > 1) {
    note_parallel_work();
    const int64_t size = (n + parts - 1) / parts;
    std::exception_ptr error;
    const char* const op = running_op();
#pragma omp parallel num_threads(static_cast <int>(parts))
    {
      const OpScope running(op);  // the workers' errors name the caller's op
      // The runtime may provide fewer threads than there are parts.
      for (int64_t part = omp_get_thread_num(); part < parts; part += omp_get_num_threads()) {
        const int64_t begin = part * size, end = std::min(n, begin + size);
        if (begin >= end) break;
        try {
          body(context, begin, end);
        } catch (...) {
#pragma omp critical(tandem_parallel_error)
          if (!error) error = std::current_exception();
        }
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
#endif
  body(context, 0, n);
}

}  // namespace cpu::detail
}  // namespace tandem
