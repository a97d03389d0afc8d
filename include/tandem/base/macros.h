#pragma once
// Function attributes shared by host and device code.

#if defined(__CUDACC__)
#define TANDEM_HOST_DEVICE __host__ __device__
#else
#define TANDEM_HOST_DEVICE
#endif

/// For formulas in math/: always inlined, so that a file compiled for AVX-512 never leaves a shared copy behind
/// that another processor could run.
#if defined(__CUDACC__)
#define TANDEM_MATH __host__ __device__ __forceinline__
#else
#define TANDEM_MATH [[gnu::always_inline]] inline
#endif

/// Bodies of ops: compiled once into the library, or inline in the user's program with TANDEM_HEADER_ONLY_OPS.
#if defined(TANDEM_HEADER_ONLY_OPS)
#define TANDEM_OPS inline
#else
#define TANDEM_OPS
#endif
