#pragma once
// libtorch's namespaces and macros for programs written for libtorch: aliases of tandem's, and nothing else. To use it,
// link tandem::torch_compat, which puts this folder on the include path. docs/libtorch.md lists what is different.
#define TANDEM_TORCH_COMPAT
#ifdef C10_STRINGIZE_IMPL  // of libtorch's headers
#error "libtorch's headers precede tandem's for libtorch programs: take one of the two include paths away"
#endif
// The standard headers that libtorch's torch/torch.h includes, on which programs rely.
#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ranges>
#include <set>
#include <sstream>
#include <stack>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

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
/// What libtorch's C++ front end lacks: autocast and the gradient scaler, with the names of Python's torch.amp. Not an
/// alias, since programs have a namespace of this name.
namespace amp {
using namespace tandem::amp;
}
}  // namespace cuda
}  // namespace torch

namespace c10 {
using namespace tandem;

/// tandem has one type for both.
constexpr ScalarType typeMetaToScalarType(DType dtype) { return dtype; }
constexpr DType scalarTypeToTypeMeta(ScalarType dtype) { return dtype; }

/// The integers in [0, end) or [begin, end), for loops.
template <std::integral T>
auto irange(T end) {
  return std::views::iota(T(0), std::max(T(0), end));
}
template <std::integral First, std::integral Last>
auto irange(First begin, Last end) {
  return std::views::iota(static_cast<Last>(begin), std::max(static_cast<Last>(begin), end));
}

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
using c10::scalarTypeToTypeMeta;
using c10::typeMetaToScalarType;

/// libtorch's switches of autocast, for programs that build regions of them; torch::amp::AutocastGuard is a region.
namespace autocast {
using amp::get_autocast_dtype;
using amp::is_autocast_cache_enabled;
using amp::is_autocast_enabled;
using amp::set_autocast_cache_enabled;
using amp::set_autocast_dtype;
using amp::set_autocast_enabled;
inline void clear_cache() { amp::clear_autocast_cache(); }
inline int increment_nesting() { return amp::increment_autocast_nesting(); }
inline int decrement_nesting() { return amp::decrement_autocast_nesting(); }
// The older names.
inline bool is_enabled() { return is_autocast_enabled(kCUDA); }
inline void set_enabled(bool enabled) { set_autocast_enabled(kCUDA, enabled); }
inline bool is_cpu_enabled() { return is_autocast_enabled(kCPU); }
inline void set_cpu_enabled(bool enabled) { set_autocast_enabled(kCPU, enabled); }
inline void set_autocast_cpu_enabled(bool enabled) { set_autocast_enabled(kCPU, enabled); }
inline void set_autocast_gpu_enabled(bool enabled) { set_autocast_enabled(kCUDA, enabled); }
inline ScalarType get_autocast_gpu_dtype() { return get_autocast_dtype(kCUDA); }
inline ScalarType get_autocast_cpu_dtype() { return get_autocast_dtype(kCPU); }
inline void set_autocast_gpu_dtype(ScalarType dtype) { set_autocast_dtype(kCUDA, dtype); }
inline void set_autocast_cpu_dtype(ScalarType dtype) { set_autocast_dtype(kCPU, dtype); }
}  // namespace autocast

/// x as a tensor of this dtype.
#define TANDEM_CAST(Name) \
  inline Tensor _cast_##Name(const Tensor& x, bool non_blocking = false) { return x.to(k##Name, non_blocking); }
TANDEM_CAST(Byte)
TANDEM_CAST(Char)
TANDEM_CAST(Short)
TANDEM_CAST(Int)
TANDEM_CAST(Long)
TANDEM_CAST(Half)
TANDEM_CAST(Float)
TANDEM_CAST(Double)
#undef TANDEM_CAST

/// Calls f(begin, end) on the calling thread; tandem's ops use threads of their own.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t /*grain_size*/, const F& f) {
  if (begin < end) f(begin, end);
}
template <class T, class F, class Sum>
T parallel_reduce(int64_t begin, int64_t end, int64_t /*grain_size*/, T initial, const F& f, const Sum& /*sum*/) {
  return begin < end ? f(begin, end, initial) : initial;
}
inline int get_thread_num() { return 0; }
inline bool in_parallel_region() { return false; }
}  // namespace at

namespace torch {
using namespace at;
namespace cuda {
using c10::cuda::getCurrentCUDAStream;
}
}  // namespace torch

/// libtorch's version whose names tandem has (docs/libtorch_names.md).
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 15
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION_ABI_TAG 0
#define TORCH_VERSION "2.15.0"

#define TORCH_ARG(T, name) TANDEM_ARG(T, name)
#define TORCH_MODULE(Name) TANDEM_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType) TANDEM_MODULE_IMPL(Name, ImplType)
#define FORWARD_HAS_DEFAULT_ARGS(...) TANDEM_FORWARD_HAS_DEFAULT_ARGS(__VA_ARGS__)
#define TORCH_API
#define C10_API
#define C10_UNUSED [[maybe_unused]]

#define TORCH_CHECK(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TANDEM_ASSERT((a) == (b), #a " == " #b ": ", a, " and ", b)
#define TORCH_CHECK_NE(a, b) TANDEM_ASSERT((a) != (b), #a " != " #b ": ", a, " and ", b)
#define TORCH_CHECK_LT(a, b) TANDEM_ASSERT((a) < (b), #a " < " #b ": ", a, " and ", b)
#define TORCH_CHECK_LE(a, b) TANDEM_ASSERT((a) <= (b), #a " <= " #b ": ", a, " and ", b)
#define TORCH_CHECK_GT(a, b) TANDEM_ASSERT((a) > (b), #a " > " #b ": ", a, " and ", b)
#define TORCH_CHECK_GE(a, b) TANDEM_ASSERT((a) >= (b), #a " >= " #b ": ", a, " and ", b)
#define AT_ASSERT(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(condition, ...) TANDEM_ASSERT(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) TANDEM_ASSERT(false __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_LIBRARY(name, m)                                                                                  \
  static_assert(false, "tandem has no operator registry: make the op an amp::CustomFunction or amp::CustomOp"); \
  void torch_library_##name(auto& m)
#define TORCH_WARN(...) ::tandem::warn(::tandem::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...) ::tandem::warn_once(::tandem::str(__VA_ARGS__))
