#pragma once
// The number of threads that CPU kernels use.

#pragma GCC visibility push(default)
namespace tandem {

/// Returns the number of threads that a CPU kernel called from this thread may use. 1 in a build without OpenMP.
int get_num_threads();
/// Sets that number, also for the kernels of oneDNN or OpenBLAS. The initial value is OMP_NUM_THREADS or else the
/// number of processors. Results do not depend on it, except those of products and convolutions by OpenBLAS. Throws
/// StateError unless 1 <= count <= 4096. May have no effect in a child of fork() (docs/troubleshooting.md).
void set_num_threads(int count);
/// Do nothing: new threads need no preparation, and ops do not run beside each other. For programs for libtorch.
inline void init_num_threads() {}
inline void set_num_interop_threads(int /*count*/) {}
inline int get_num_interop_threads() { return 1; }

}  // namespace tandem
#pragma GCC visibility pop
