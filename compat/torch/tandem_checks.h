#pragma once
// libtorch's macros that throw or warn.
#include "tandem/base/assert.h"
#include "tandem/base/error.h"
#include "tandem/base/warn.h"

#define TORCH_CHECK(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TANDEM_ASSERT((a) == (b), #a " == " #b ": ", a, " and ", b)
#define TORCH_CHECK_NE(a, b) TANDEM_ASSERT((a) != (b), #a " != " #b ": ", a, " and ", b)
#define TORCH_CHECK_LT(a, b) TANDEM_ASSERT((a) < (b), #a " < " #b ": ", a, " and ", b)
#define TORCH_CHECK_LE(a, b) TANDEM_ASSERT((a) <= (b), #a " <= " #b ": ", a, " and ", b)
#define TORCH_CHECK_GT(a, b) TANDEM_ASSERT((a) > (b), #a " > " #b ": ", a, " and ", b)
#define TORCH_CHECK_GE(a, b) TANDEM_ASSERT((a) >= (b), #a " >= " #b ": ", a, " and ", b)
/// Checks of calls of the CUDA runtime, for files that include it.
#define C10_CUDA_CHECK(call)                                                                                \
  do {                                                                                                      \
    const cudaError_t tandem_error = (call);                                                                \
    if (tandem_error != cudaSuccess) throw ::tandem::BackendError(#call, cudaGetErrorString(tandem_error)); \
  } while (0)
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TANDEM_CHECK_AS(Type, condition, ...) \
  ((condition) ? static_cast<void>(0) : throw ::tandem::Type(::tandem::str(__VA_ARGS__)))
#define TORCH_CHECK_INDEX(condition, ...) TANDEM_CHECK_AS(IndexError, condition, __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TANDEM_CHECK_AS(StateError, condition, __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TANDEM_CHECK_AS(DTypeError, condition, __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TANDEM_CHECK_AS(NotImplementedError, condition, __VA_ARGS__)
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) static_cast<void>(0)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#endif
#define C10_THROW_ERROR(type, message) throw ::c10::type(message)
#define AT_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) TANDEM_ASSERT(false __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) ::tandem::warn(::tandem::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...) ::tandem::warn_once(::tandem::str(__VA_ARGS__))
