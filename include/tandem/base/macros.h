#pragma once
// Function attributes for code that is compiled for host and device.

#if defined(__CUDACC__)
#define TANDEM_HOST_DEVICE __host__ __device__
#else
/// Marks functions that CUDA kernels may call.
#define TANDEM_HOST_DEVICE
#endif

/// For the formulas in math/. They are always inlined: otherwise a file compiled for AVX-512 could emit an out-of-line
/// copy that the linker keeps and that runs on a processor without AVX-512.
#if defined(__CUDACC__)
#define TANDEM_MATH __host__ __device__ __forceinline__
#else
#define TANDEM_MATH [[gnu::always_inline]] inline
#endif

/// For names of libtorch that tandem leaves out: using one is an error that says what to use instead; a warning with
/// GCC 11. nvcc's own parser does not know the attribute; the name is then only declared.
#if defined(__CUDACC__)
#define TANDEM_UNAVAILABLE(text)
#elif !__has_attribute(unavailable)
#define TANDEM_UNAVAILABLE(text) __attribute__((deprecated(text)))
#else
#define TANDEM_UNAVAILABLE(text) __attribute__((unavailable(text)))
#endif

/// For the bodies of ops: compiled into the library, or inline in the user's program if TANDEM_HEADER_ONLY_OPS is
/// defined.
#if defined(TANDEM_HEADER_ONLY_OPS)
#define TANDEM_OPS inline
#else
#define TANDEM_OPS
#endif
