#pragma once
// Factories: new tensors from sizes, numbers, ranges, memory and random streams. Names and defaults are libtorch's.
//
// The dtype is f32 and the device get_default_device() unless the options say otherwise. requires_grad needs a floating
// dtype, else DTypeError. A negative size throws ShapeError.
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem {

// ---- uninitialised
/// Memory as it comes. `MemoryFormat::ChannelsLast` in the options lays rank 4 out as N, H, W, C.
Tensor empty(IntArrayRef sizes, const TensorOptions& options = {});
/// Sizes of `x`; dtype and device of `x` where the options leave them open. Preserve (the default): a dense `x` keeps
/// its strides, any other its order of dimensions.
Tensor empty_like(const Tensor& x, const TensorOptions& options = {});
/// Strides in elements. Throws ShapeError when a stride is negative or the counts differ.
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// Strides without gaps in the order of dimensions that `strides` has: what an element-wise result of such a tensor
/// gets. Source: PyTorch's infer_dense_strides.
Dims dense_strides(IntArrayRef sizes, IntArrayRef strides);

// ---- filled
Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
/// Without a dtype in the options, `value` decides: bool, i64 or f32.
Tensor full(IntArrayRef sizes, Scalar value, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& x, const TensorOptions& options = {});
Tensor ones_like(const Tensor& x, const TensorOptions& options = {});
Tensor full_like(const Tensor& x, Scalar value, const TensorOptions& options = {});
/// A tensor of rank 0, f32 unless the options say otherwise.
Tensor scalar_tensor(Scalar value, const TensorOptions& options = {});
/// 1 on the diagonal, 0 elsewhere; [n, n] or [n, m].
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

// ---- ranges
/// start, start + step, ... up to but without `end`. i64 when all arguments are integers, else f32.
Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& options = {});
Tensor arange(Scalar start, Scalar end, const TensorOptions& options = {});
Tensor arange(Scalar end, const TensorOptions& options = {});
/// `steps` numbers from `start` to `end`, both included, evenly spaced.
Tensor linspace(Scalar start, Scalar end, int64_t steps, const TensorOptions& options = {});

// ---- from numbers
/// The argument of `tensor`: a number, or (nested) braces of numbers.
class TensorData {
 public:
  TensorData() : sizes_{0} {}
#define TANDEM_TENSOR_DATA(NAME, CPP) \
  TensorData(CPP value) : dtype_(DType::NAME), values_(1, Scalar(value)) {}
  TANDEM_FOR_EACH_DTYPE(TANDEM_TENSOR_DATA)
#undef TANDEM_TENSOR_DATA
  /// Throws ShapeError when the entries differ in shape, DTypeError when they differ in type.
  TensorData(std::initializer_list<TensorData> entries);

 private:
  friend Tensor tensor(const TensorData& data, const TensorOptions& options);
  Dims sizes_;
  DType dtype_ = DType::F32;
  std::vector<Scalar> values_;
};

/// `tensor(3.5)`, `tensor({1.0, 2.0})`, `tensor({{1, 2}, {3, 4}}, kHalf)`. Without a dtype in the options float and
/// double give f32, int and int64 give i64, other types themselves, as in libtorch.
Tensor tensor(const TensorData& data, const TensorOptions& options = {});
/// `count` elements at `data`, copied; the dtype rule is that of braces. What `tensor(vector)` calls.
Tensor tensor_from(const void* data, DType dtype, int64_t count, const TensorOptions& options);
Tensor tensor_from(const std::vector<bool>& values, const TensorOptions& options);
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  if constexpr (std::is_same_v<T, bool>) {
    return tensor_from(values, options);
  } else {
    return tensor_from(values.data(), dtype_of<T>, static_cast<int64_t>(values.size()), options);
  }
}
template <class T>
Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  return tensor_from(values.data(), dtype_of<T>, static_cast<int64_t>(values.size()), options);
}

// ---- somebody else's memory
/// A tensor over `data`, which must outlive it; `deleter(data)` runs when the last view dies. Contiguous unless
/// strides (in elements) are given; on the CPU unless the options name a device.
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});

// ---- random, from `generator`, else from default_generator() (tensor/random.h)
/// Uniform in [0, 1). Floating dtypes only.
Tensor rand(IntArrayRef sizes, const TensorOptions& options = {});
Tensor rand(IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options = {});
/// Normal with mean 0 and variance 1. Floating dtypes only.
Tensor randn(IntArrayRef sizes, const TensorOptions& options = {});
Tensor randn(IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options = {});
/// Integers low <= x < high, i64 unless the options say otherwise.
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, std::optional<Generator> generator,
               const TensorOptions& options = {});
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
Tensor randint(int64_t high, IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options = {});
/// A random order of 0 .. n - 1, i64 unless the options say otherwise.
Tensor randperm(int64_t n, const TensorOptions& options = {});
Tensor randperm(int64_t n, std::optional<Generator> generator, const TensorOptions& options = {});
Tensor rand_like(const Tensor& x, const TensorOptions& options = {});
Tensor randn_like(const Tensor& x, const TensorOptions& options = {});

}  // namespace tandem
