#pragma once
// TensorOptions: dtype, device, memory format and flags of a new tensor, named as in libtorch.
#include <optional>
#include <string>
#include <utility>

#include "tandem/base/device.h"
#include "tandem/base/dtype.h"
#include "tandem/tensor/default_device.h"
#include "tandem/tensor/default_dtype.h"

#pragma GCC visibility push(default)
namespace tandem {

// As in libtorch: torch::optional and torch::nullopt.
using std::nullopt;
using std::optional;

/// Short names of dtypes, as torch::kF32.
inline constexpr DType kU8 = kByte, kI8 = kChar, kI16 = kShort, kI32 = kInt, kI64 = kLong;
inline constexpr DType kF16 = kHalf, kF32 = kFloat, kF64 = kDouble;

/// Order of the elements in memory. ChannelsLast is N, H, W, C for tensors of rank 4.
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast };
inline constexpr MemoryFormat kChannelsLast = MemoryFormat::ChannelsLast;

/// Of libtorch's layouts, tandem has this one: sizes and strides.
enum class Layout : uint8_t { Strided };
inline constexpr Layout kStrided = Layout::Strided;

/// Options of a new tensor: `zeros({2, 3}, TensorOptions().dtype(kHalf).requires_grad(true))`, or just
/// `zeros({2, 3}, kHalf)`.
struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(DType t) : dtype_(t) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(MemoryFormat f) : memory_format_(f) {}

  /// Return a copy of the options with this property set.
  TensorOptions dtype(std::optional<DType> t) const {
    TensorOptions o = *this;
    o.dtype_ = t;
    return o;
  }
  template <class T>
  TensorOptions dtype() const {
    return dtype(dtype_of<T>);
  }
  TensorOptions device(std::optional<Device> d) const {
    TensorOptions o = *this;
    o.device_ = d;
    return o;
  }
  TensorOptions device(DeviceType d) const { return device(std::optional<Device>(Device(d))); }
  TensorOptions device(DeviceType d, DeviceIndex index) const {
    return device(std::optional<Device>(Device(d, index)));
  }
  TensorOptions requires_grad(bool r) const {
    TensorOptions o = *this;
    o.requires_grad_ = r;
    return o;
  }
  TensorOptions memory_format(MemoryFormat f) const {
    TensorOptions o = *this;
    o.memory_format_ = f;
    return o;
  }

  TensorOptions layout(Layout) const { return *this; }

  /// Page-locked host memory, from which copies to a CUDA device can run asynchronously to the host.
  TensorOptions pinned_memory(bool p) const {
    TensorOptions o = *this;
    o.pinned_memory_ = p;
    return o;
  }

  /// The dtype of the new tensor: the default dtype unless set.
  DType dtype() const { return dtype_ ? *dtype_ : get_default_dtype(); }
  /// Returns the CPU for page-locked memory, regardless of the default device.
  Device device() const { return device_ ? *device_ : pinned_memory_ ? Device(kCPU) : get_default_device(); }
  Layout layout() const { return kStrided; }
  bool requires_grad() const { return requires_grad_; }
  bool pinned_memory() const { return pinned_memory_; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  std::optional<DType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<MemoryFormat> memory_format_opt() const { return memory_format_; }
  DeviceIndex device_index() const { return static_cast<DeviceIndex>(device().index()); }
  bool is_sparse() const { return false; }

 private:
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  std::optional<MemoryFormat> memory_format_;
  bool requires_grad_ = false, pinned_memory_ = false;
};

/// The result of Tensor::type(): the dtype and the device of a tensor.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(TensorOptions options, std::string name)
      : options_(std::move(options)), name_(std::move(name)) {}
  ScalarType scalarType() const { return options_.dtype(); }
  DeviceType device_type() const { return options_.device().type(); }
  bool is_cuda() const { return options_.device().is_cuda(); }
  const std::string& toString() const { return name_; }
  TensorOptions options() const { return options_; }
  operator TensorOptions() const { return options_; }
  friend bool operator==(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) {
    return a.name_ == b.name_;
  }

 private:
  TensorOptions options_;
  std::string name_;
};

/// TensorOptions with one property, as in `zeros({2}, dtype(kHalf).device(kCUDA))`.
inline TensorOptions dtype(DType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions layout(Layout) { return {}; }
inline TensorOptions requires_grad(bool r = true) { return TensorOptions().requires_grad(r); }

}  // namespace tandem
#pragma GCC visibility pop
