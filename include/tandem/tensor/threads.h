#pragma once
// How many threads the CPU kernels use.

namespace tandem {

/// Threads that a CPU kernel called from this thread may use. 1 in a build without OpenMP.
int get_num_threads();
/// Sets it, for oneDNN's kernels too. At first: the number of processors, or OMP_NUM_THREADS. Results do not depend on
/// it. Throws StateError unless count >= 1. May do nothing in a child of fork() (docs/troubleshooting.md).
void set_num_threads(int count);

}  // namespace tandem
