// The threads behind parallel_for. All OpenMP of tandem's own loops stands here.
#include "kernels/cpu/parallel.h"

#include <algorithm>
#include <exception>

#include "tandem/base/check.h"
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace tandem {

#if defined(_OPENMP)
int get_num_threads() { return omp_get_max_threads(); }
#else
int get_num_threads() { return 1; }
#endif

void set_num_threads(int count) {
  TANDEM_CHECK(count >= 1, StateError, "set_num_threads: {} threads asked for; give 1 or more", count);
#if defined(_OPENMP)
  omp_set_num_threads(count);
#endif
}

namespace cpu::detail {

void parallel_run(int64_t n, int64_t grain, ParallelBody body, void* context) {
#if defined(_OPENMP)
  const int64_t parts = std::min<int64_t>(get_num_threads(), (n + grain - 1) / std::max<int64_t>(grain, 1));
  if (parts > 1 && !omp_in_parallel()) {
    const int64_t size = (n + parts - 1) / parts;
    std::exception_ptr error;
#pragma omp parallel num_threads(static_cast <int>(parts))
    {
      // The runtime may grant fewer threads than parts.
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
#else
  (void)grain;
#endif
  body(context, 0, n);
}

}  // namespace cpu::detail
}  // namespace tandem
