#pragma once
// libtorch's namespaces and macros for programs written for libtorch: aliases of tandem's, and nothing else. To use it,
// link tandem::torch_compat, which puts this folder on the include path. docs/libtorch.md lists what is different.
#include <iostream>

#include "tandem/amp/tools.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/base/assert.h"
#include "tandem/data/data.h"
#include "tandem/io/io.h"
#include "tandem/nn/averaged_model.h"
#include "tandem/nn/parallel/data_parallel.h"
#include "tandem/nn/utils/weight_norm.h"
#include "tandem/ops/in_place.h"
#include "tandem/ops/special.h"
#include "tandem/optim/optim.h"
#include "tandem/tandem.h"

namespace torch {
using namespace tandem;

namespace cuda {
using namespace tandem::cuda;
/// What libtorch's C++ front end lacks: autocast and the gradient scaler, with the names of Python's torch.amp.
namespace amp = tandem::amp;
}  // namespace cuda
}  // namespace torch

namespace c10 {
using namespace tandem;

namespace cuda {
using namespace tandem::cuda;
using CUDAStream = tandem::Stream;
using CUDAGuard = tandem::DeviceGuard;
using CUDAStreamGuard = tandem::StreamGuard;
inline Stream getCurrentCUDAStream(DeviceIndex index = -1) { return current_stream(Device(kCUDA, index)); }
inline Stream getDefaultCUDAStream(DeviceIndex index = -1) { return Stream(Device(kCUDA, index)); }
inline Stream getStreamFromPool(bool high_priority = false, DeviceIndex index = -1) {
  return stream_from_pool(Device(kCUDA, index), high_priority);
}
inline void setCurrentCUDAStream(const Stream& stream) { set_current_stream(stream); }
}  // namespace cuda
}  // namespace c10

namespace at {
using namespace tandem;
namespace cuda = c10::cuda;

/// libtorch's switches of autocast, which tandem replaces by a guard.
namespace autocast {
#define TANDEM_GUARD "declare a guard, as in torch::amp::AutocastGuard guard(torch::kCUDA);"
TANDEM_UNAVAILABLE(TANDEM_GUARD) void set_enabled(bool enabled);
TANDEM_UNAVAILABLE(TANDEM_GUARD) void set_autocast_enabled(DeviceType device, bool enabled);
TANDEM_UNAVAILABLE(TANDEM_GUARD) void set_autocast_dtype(DeviceType device, DType dtype);
TANDEM_UNAVAILABLE(TANDEM_GUARD) void set_autocast_gpu_dtype(DType dtype);
TANDEM_UNAVAILABLE(TANDEM_GUARD) void set_autocast_cpu_dtype(DType dtype);
TANDEM_UNAVAILABLE("the guard torch::amp::AutocastGuard clears the cache when its region ends") void clear_cache();
#undef TANDEM_GUARD
}  // namespace autocast
}  // namespace at

#define TORCH_ARG(T, name) TANDEM_ARG(T, name)
#define TORCH_MODULE(Name) TANDEM_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType) TANDEM_MODULE_IMPL(Name, ImplType)
#define FORWARD_HAS_DEFAULT_ARGS(...) TANDEM_FORWARD_HAS_DEFAULT_ARGS(__VA_ARGS__)
#define TORCH_API

#define TORCH_CHECK(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TANDEM_ASSERT((a) == (b), #a " == " #b ": ", a, " and ", b)
#define AT_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) TANDEM_ASSERT(false __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_LIBRARY(name, m)                                                                                  \
  static_assert(false, "tandem has no operator registry: make the op an amp::CustomFunction or amp::CustomOp"); \
  void torch_library_##name(auto& m)
#define TORCH_WARN(...) ::tandem::warn(::tandem::str(__VA_ARGS__))
