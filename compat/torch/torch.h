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
#include "torch/tandem_checks.h"
#include "torch/tandem_dispatch.h"
#include "torch/tandem_names.h"
#include "torch/tandem_optim.h"

struct CUstream_st;  // of the CUDA driver

// Programs declare names of their own in these namespaces. So each is a namespace, not an alias, and those with
// namespaces in them list their names: with a using-directive, `nn` after `using namespace torch` would be torch::nn
// or tandem::nn.
namespace torch {
using namespace tandem::libtorch::names;

/// What libtorch's C++ front end lacks: autocast and the gradient scaler, with the names of Python's torch.amp.
namespace amp {
using namespace tandem::amp;
}
namespace autograd {
using namespace tandem::autograd;
/// libtorch's mode that explains errors of backward. It has no effect: tandem's errors name the op, and the tools of
/// tandem/amp/tools.h find NaN.
struct AnomalyMode {
  static bool is_enabled() { return false; }
  static void set_enabled(bool enabled, bool /*check_nan*/ = true) {
    if (enabled) tandem::warn_once("AnomalyMode has no effect; tandem/amp/tools.h has tools that find NaN");
  }
};
struct DetectAnomalyGuard {
  explicit DetectAnomalyGuard(bool check_nan = true) { AnomalyMode::set_enabled(true, check_nan); }
};
/// x.detach(), as a leaf that requires grad or not.
inline Variable make_variable(const tandem::Tensor& x, bool requires_grad = false) {
  return x.detach().requires_grad_(requires_grad);
}
}  // namespace autograd
namespace cuda {
using namespace tandem::cuda;
/// A stream that converts to the driver's, for launches of kernels.
class CUDAStream : public tandem::Stream {
 public:
  CUDAStream(const tandem::Stream& stream) : Stream(stream) {}
  CUstream_st* stream() const { return static_cast<CUstream_st*>(handle()); }
  operator CUstream_st*() const { return stream(); }
  DeviceIndex device_index() const { return static_cast<DeviceIndex>(device().index()); }
};
using CUDAEvent = tandem::Event;
using CUDAGuard = tandem::DeviceGuard;
using CUDAStreamGuard = tandem::StreamGuard;
class OptionalCUDAGuard {
 public:
  explicit OptionalCUDAGuard(std::optional<Device> device = {}) : guard_(device.value_or(Device(kCPU))) {}
  explicit OptionalCUDAGuard(DeviceIndex index) : OptionalCUDAGuard(Device(kCUDA, index)) {}

 private:
  tandem::DeviceGuard guard_;
};
inline CUDAStream getCurrentCUDAStream(DeviceIndex index = -1) { return current_stream(Device(kCUDA, index)); }
inline CUDAStream getDefaultCUDAStream(DeviceIndex index = -1) { return Stream(Device(kCUDA, index)); }
inline CUDAStream getStreamFromPool(bool high_priority = false, DeviceIndex index = -1) {
  return stream_from_pool(Device(kCUDA, index), high_priority);
}
using tandem::cuda::synchronize;
/// Waits for the device with this index, or for the current one if it is negative.
inline void synchronize(int64_t index) {
  if (index < 0) return tandem::cuda::synchronize();
  const tandem::DeviceGuard guard(Device(kCUDA, static_cast<int>(index)));
  tandem::cuda::synchronize();
}
inline void setCurrentCUDAStream(const Stream& stream) { set_current_stream(stream); }
namespace CUDACachingAllocator {
inline void emptyCache() { empty_cache(); }
}  // namespace CUDACachingAllocator
namespace amp {
using namespace tandem::amp;
}
}  // namespace cuda
namespace data {
using namespace tandem::libtorch::data_names;
namespace example {
using tandem::data::NoTarget;
}
using example::NoTarget;
namespace datasets {
using namespace tandem::data::datasets;
}
namespace samplers {
using namespace tandem::data::samplers;
}
namespace transforms {
using namespace tandem::data::transforms;
}
}  // namespace data
namespace fft {
using namespace tandem::fft;
}
namespace jit {
using namespace tandem::jit;
}
namespace nn {
using namespace tandem::libtorch::nn_names;
namespace functional {
using namespace tandem::nn::functional;
}
namespace init {
using namespace tandem::nn::init;
inline std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const tandem::Tensor& x) {
  const auto fan = calculate_fan_in_and_fan_out(x);
  return {fan.in, fan.out};
}
}  // namespace init
namespace parallel {
using namespace tandem::nn::parallel;
}
namespace utils {
using namespace tandem::libtorch::utils_names;
namespace rnn {
using namespace tandem::nn::utils::rnn;
}
}  // namespace utils
}  // namespace nn
namespace mps {
inline bool is_available() { return false; }
}  // namespace mps
namespace optim {
using namespace tandem::optim;
}
namespace serialize {
using namespace tandem::serialize;
}
namespace special {
using namespace tandem::special;
}
}  // namespace torch

namespace c10 {
using namespace tandem::libtorch::names;
namespace cuda = torch::cuda;
namespace impl {
using tandem::GenericDict;
template <ScalarType T>
using ScalarTypeToCPPType = tandem::DTypeToCpp<T>;
}  // namespace impl
template <class T>
using CppTypeToScalarType = tandem::CppToDType<T>;
template <std::same_as<IValue> Key, std::same_as<IValue> Value>
using Dict = tandem::GenericDict;
using OptionalIntArrayRef = std::optional<IntArrayRef>;
namespace ivalue {
using namespace tandem::ivalue;
}

/// The dtype of a C++ type, as options: `dtype<float>()`.
using tandem::dtype;
template <class T>
TensorOptions dtype() {
  return tandem::dtype_of<T>;
}

/// A dtype, with libtorch's functions of the type that x.dtype() has there.
class TypeMeta {
 public:
  constexpr TypeMeta(ScalarType dtype) : dtype_(dtype) {}
  static constexpr TypeMeta fromScalarType(ScalarType dtype) { return dtype; }
  template <class T>
  static constexpr TypeMeta Make() {
    return tandem::dtype_of<T>;
  }
  operator TensorOptions() const { return dtype_; }
  constexpr operator std::optional<ScalarType>() const { return dtype_; }
  constexpr ScalarType toScalarType() const { return dtype_; }
  constexpr bool isScalarType(ScalarType dtype) const { return dtype_ == dtype; }
  constexpr size_t itemsize() const { return tandem::element_size(dtype_); }
  std::string name() const { return tandem::str(dtype_); }
  friend constexpr bool operator==(TypeMeta a, TypeMeta b) { return a.dtype_ == b.dtype_; }
  friend std::ostream& operator<<(std::ostream& out, TypeMeta type) { return out << type.dtype_; }

 private:
  ScalarType dtype_;
};
constexpr ScalarType typeMetaToScalarType(TypeMeta dtype) { return dtype.toScalarType(); }
constexpr TypeMeta scalarTypeToTypeMeta(ScalarType dtype) { return dtype; }
constexpr ScalarType promoteTypes(ScalarType a, ScalarType b) { return tandem::promote_types(a, b); }
constexpr bool isComplexType(ScalarType /*dtype*/) { return false; }
constexpr bool isReducedFloatingType(ScalarType dtype) { return tandem::is_reduced_floating_point(dtype); }
inline std::string DeviceTypeName(DeviceType type, bool lower_case = false) {
  return type == kCPU ? (lower_case ? "cpu" : "CPU") : (lower_case ? "cuda" : "CUDA");
}

// The kinds of errors.
using ValueError = tandem::StateError;
using TypeError = tandem::DTypeError;

/// Standard types and functions, and sizes, by libtorch's names.
using std::get_if, std::holds_alternative, std::make_optional, std::string_view, std::variant, std::visit;
template <class T, unsigned N>
using SmallVector = std::vector<T>;
namespace guts {
using std::to_string, std::apply, std::conjunction, std::disjunction;
}
using tandem::str;
template <class Items>
std::string Join(const std::string& separator, const Items& items) {
  std::string text;
  for (auto item = items.begin(); item != items.end(); ++item) {
    text += (item == items.begin() ? "" : separator) + str(*item);
  }
  return text;
}
template <std::input_iterator Iterator>
int64_t multiply_integers(Iterator begin, Iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}
template <class Items>
int64_t multiply_integers(const Items& items) {
  return multiply_integers(std::begin(items), std::end(items));
}
template <class T>
requires(!std::ranges::range<T>) ArrayRef<T> makeArrayRef(const T& element) { return ArrayRef<T>(element); }
template <std::ranges::contiguous_range R>
auto makeArrayRef(const R& list) {
  return ArrayRef<std::ranges::range_value_t<R>>(std::ranges::data(list), std::ranges::size(list));
}
template <class T>
ArrayRef<T> makeArrayRef(const T* data, size_t size) {
  return {data, size};
}

/// The integers in [0, end) or [begin, end), for loops.
template <std::integral T>
auto irange(T end) {
  return std::views::iota(T(0), std::max(T(0), end));
}
template <std::integral First, std::integral Last>
auto irange(First begin, Last end) {
  return std::views::iota(static_cast<Last>(begin), std::max(static_cast<Last>(begin), end));
}
}  // namespace c10

namespace at {
using namespace c10;
using c10::dtype;
namespace Reduction = tandem::Reductions;
using TensorBase = Tensor;
using DimVector = std::vector<int64_t>;
using tandem::RestrictPtrTraits;

/// Methods of x as functions.
inline int64_t numel(const Tensor& x) { return x.numel(); }
inline int64_t size(const Tensor& x, int64_t dim) { return x.size(dim); }
inline int64_t stride(const Tensor& x, int64_t dim) { return x.stride(dim); }
inline bool is_floating_point(const Tensor& x) { return x.is_floating_point(); }
inline bool is_signed(const Tensor& x) { return x.is_signed(); }
inline bool is_complex(const Tensor& x) { return x.is_complex(); }
inline bool is_nonzero(const Tensor& x) { return x.is_nonzero(); }
inline bool is_same_size(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes(); }
inline Tensor conj(const Tensor& x) { return x.conj(); }
inline Tensor real(const Tensor& x) { return x; }
inline Tensor resolve_conj(const Tensor& x) { return x.resolve_conj(); }
inline Tensor sgn(const Tensor& x) { return x.sgn(); }
inline Tensor adjoint(const Tensor& x) { return x.adjoint(); }

/// Other names.
inline Tensor log_sigmoid(const Tensor& x) { return tandem::logsigmoid(x); }
inline Tensor linalg_diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return x.diagonal(offset, dim1, dim2);
}
inline Tensor linalg_matmul(const Tensor& a, const Tensor& b) { return a.matmul(b); }
inline std::vector<Tensor> nonzero_numpy(const Tensor& x) { return x.nonzero().unbind(1); }
inline Tensor pad_sequence(TensorList sequences, bool batch_first = false, double padding_value = 0,
                           std::string_view padding_side = "right") {
  return tandem::nn::utils::rnn::pad_sequence(sequences, batch_first, padding_value, padding_side);
}
inline Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim = -1) { return tandem::trapezoid(y, x, dim); }
inline Tensor trapz(const Tensor& y, double dx = 1, int64_t dim = -1) { return tandem::trapezoid(y, dx, dim); }

using tandem::device_of;
inline bool hasCUDA() { return tandem::cuda::is_available(); }
inline bool hasMPS() { return false; }
struct CPUGeneratorImpl;
/// A generator with this seed.
template <class Impl>
Generator make_generator(uint64_t seed = Generator::kDefaultSeed) {
  return Generator(seed);
}
namespace detail {
inline Generator createCPUGenerator(uint64_t seed = tandem::Generator::kDefaultSeed) { return Generator(seed); }
inline const Generator& getDefaultCPUGenerator() { return tandem::default_generator(); }
}  // namespace detail

namespace indexing {
using namespace tandem::indexing;
}

/// libtorch's switches of autocast, for programs that build regions of them; torch::amp::AutocastGuard is a region.
namespace autocast {
using tandem::amp::get_autocast_dtype;
using tandem::amp::is_autocast_cache_enabled;
using tandem::amp::is_autocast_enabled;
using tandem::amp::set_autocast_cache_enabled;
using tandem::amp::set_autocast_dtype;
using tandem::amp::set_autocast_enabled;
inline void clear_cache() { tandem::amp::clear_autocast_cache(); }
inline int increment_nesting() { return tandem::amp::increment_autocast_nesting(); }
inline int decrement_nesting() { return tandem::amp::decrement_autocast_nesting(); }
/// Casts floating tensors other than f64 that are on the device; leaves other values as they are.
inline Tensor cached_cast(ScalarType to, const Tensor& x, DeviceType device = kCUDA) {
  const bool casts = x.defined() && x.device().type() == device && x.is_floating_point() && x.dtype() != kDouble;
  return casts ? x.to(to) : x;
}
inline std::vector<Tensor> cached_cast(ScalarType to, TensorList list, DeviceType device = kCUDA) {
  std::vector<Tensor> casts;
  for (const Tensor& x : list) casts.push_back(cached_cast(to, x, device));
  return casts;
}
inline std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& x, DeviceType device = kCUDA) {
  return x ? std::optional(cached_cast(to, *x, device)) : x;
}
template <class T>
T cached_cast(ScalarType /*to*/, T value, DeviceType /*device*/ = kCUDA) {
  return value;
}
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
namespace internal {
inline constexpr int64_t GRAIN_SIZE = 32768;
}
inline int64_t divup(int64_t x, int64_t y) { return (x + y - 1) / y; }
inline bool in_parallel_region() { return false; }
}  // namespace at

namespace torch {
using namespace at;
}  // namespace torch

namespace caffe2 {
using TypeMeta = c10::TypeMeta;
}

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
#define C10_LIKELY(condition) (condition)
#define C10_UNLIKELY(condition) (condition)

#define TORCH_LIBRARY(name, m)                                                                                  \
  static_assert(false, "tandem has no operator registry: make the op an amp::CustomFunction or amp::CustomOp"); \
  void torch_library_##name(auto& m)
