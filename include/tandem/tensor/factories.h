#pragma once
// Factories: new tensors from sizes, numbers, ranges, memory and random streams. Names and defaults are libtorch's.
//
// Unless the options say otherwise, the dtype is get_default_dtype() and the device is get_default_device().
// requires_grad throws DTypeError for a dtype that is not floating. A negative size throws ShapeError.
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

// ---- uninitialised
/// Returns a tensor with uninitialised elements. With `MemoryFormat::ChannelsLast` in the options, a tensor of rank 4
/// has the memory order N, H, W, C.
Tensor empty(IntArrayRef sizes, const TensorOptions& options = {});
/// Returns an uninitialised tensor with the sizes of `x`, and with the dtype and device of `x` unless the options give
/// others. With Preserve (the default), the result has the strides of a dense `x`, else x's order of dimensions.
Tensor empty_like(const Tensor& x, const TensorOptions& options = {});
/// Strides are in elements. Throws ShapeError if a stride is negative or the numbers of sizes and strides differ.
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// Returns strides without gaps, with the order of dimensions of `strides`: those of an element-wise result for an
/// operand with `strides`. Source: PyTorch's infer_dense_strides.
Dims dense_strides(IntArrayRef sizes, IntArrayRef strides);

// ---- filled
/// Filled with 0, or with 1.
Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
/// Without a dtype in the options, the type of `value` decides: bool, i64 or the default dtype.
Tensor full(IntArrayRef sizes, Scalar value, const TensorOptions& options = {});
/// Filled with 0, 1 or `value`, with the sizes, dtype and device of `x` unless the options give others.
Tensor zeros_like(const Tensor& x, const TensorOptions& options = {});
Tensor ones_like(const Tensor& x, const TensorOptions& options = {});
Tensor full_like(const Tensor& x, Scalar value, const TensorOptions& options = {});
/// Returns a tensor of rank 0, of the default dtype unless the options say otherwise.
Tensor scalar_tensor(Scalar value, const TensorOptions& options = {});
/// 1 on the diagonal, 0 elsewhere; [n, n] or [n, m].
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

// ---- ranges
/// start, start + step, ... up to but excluding `end`. i64 if all arguments are integers, else the default dtype.
Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& options = {});
Tensor arange(Scalar start, Scalar end, const TensorOptions& options = {});
Tensor arange(Scalar end, const TensorOptions& options = {});
/// `steps` evenly spaced numbers from `start` to `end`, both included.
Tensor linspace(Scalar start, Scalar end, int64_t steps, const TensorOptions& options = {});
/// base to the power of each number of linspace(start, end, steps).
Tensor logspace(Scalar start, Scalar end, int64_t steps, double base = 10, const TensorOptions& options = {});
/// start, start + step, ... up to `end` included; the default dtype unless the options say otherwise.
Tensor range(Scalar start, Scalar end, Scalar step = 1, const TensorOptions& options = {});

// ---- windows for signals, computed in f64. A periodic window is a symmetric one of n + 1 numbers without the last.
/// (1 - cos t) / 2 for t from 0 to 2 pi.
Tensor hann_window(int64_t n, bool periodic = true, const TensorOptions& options = {});
/// alpha - beta cos t for t from 0 to 2 pi.
Tensor hamming_window(int64_t n, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                      const TensorOptions& options = {});
/// 0.42 - cos(t) / 2 + 0.08 cos(2 t) for t from 0 to 2 pi.
Tensor blackman_window(int64_t n, bool periodic = true, const TensorOptions& options = {});
/// 1 - |t| for t from -1 to 1.
Tensor bartlett_window(int64_t n, bool periodic = true, const TensorOptions& options = {});
/// I0(beta sqrt(1 - t^2)) / I0(beta) for t from -1 to 1, with the modified Bessel function I0.
Tensor kaiser_window(int64_t n, bool periodic = true, double beta = 12, const TensorOptions& options = {});

// ---- from numbers
/// The argument of `tensor`: a number, or a (nested) braced list of numbers.
class TensorData {
 public:
  TensorData() : sizes_{0} {}
#define TANDEM_TENSOR_DATA(NAME, CPP) \
  TensorData(CPP value) : dtype_(DType::NAME), values_(1, Scalar(value)) {}
  TANDEM_FOR_EACH_DTYPE(TANDEM_TENSOR_DATA)
#undef TANDEM_TENSOR_DATA
  /// Throws ShapeError if the entries differ in shape, DTypeError if they differ in type.
  TensorData(std::initializer_list<TensorData> entries);

 private:
  friend Tensor tensor(const TensorData& data, const TensorOptions& options);
  Dims sizes_;
  DType dtype_ = DType::F32;
  std::vector<Scalar> values_;
};

/// `tensor(3.5)`, `tensor({1.0, 2.0})`, `tensor({{1, 2}, {3, 4}}, kHalf)`. Without a dtype in the options, float and
/// double give the default dtype, int and int64 give i64, and other types keep their dtype, as in libtorch.
Tensor tensor(const TensorData& data, const TensorOptions& options = {});
/// Copies `count` elements from `data`; the dtype of the result is chosen as for braced lists. Implements
/// `tensor(vector)`.
Tensor tensor_from(const void* data, DType dtype, int64_t count, const TensorOptions& options);
Tensor tensor_from(const std::vector<bool>& values, const TensorOptions& options);
/// The elements of a vector or array, as a tensor of rank 1.
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

// ---- memory of the caller
/// Returns a tensor over `data`, which must stay valid until the last view is destroyed; then `deleter(data)` runs, if
/// given. The tensor is contiguous unless strides (in elements) are given, and on the CPU unless the options name a
/// device.
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});

// ---- random: drawn from `generator` if given, else from default_generator() (tensor/random.h)
/// Uniform in [0, 1). Floating dtypes only.
Tensor rand(IntArrayRef sizes, const TensorOptions& options = {});
Tensor rand(IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options = {});
/// Normal with mean 0 and variance 1. Floating dtypes only.
Tensor randn(IntArrayRef sizes, const TensorOptions& options = {});
Tensor randn(IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options = {});
/// Uniform integers low <= x < high; i64 unless the options say otherwise.
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, std::optional<Generator> generator,
               const TensorOptions& options = {});
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options = {});
Tensor randint(int64_t high, IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options = {});
/// A random permutation of 0 .. n - 1; i64 unless the options say otherwise.
Tensor randperm(int64_t n, const TensorOptions& options = {});
/// As rand, randn and randint, with the sizes, dtype and device of `x` unless the options give others.
Tensor randperm(int64_t n, std::optional<Generator> generator, const TensorOptions& options = {});
Tensor rand_like(const Tensor& x, const TensorOptions& options = {});
Tensor randn_like(const Tensor& x, const TensorOptions& options = {});
Tensor randint_like(const Tensor& x, int64_t high, const TensorOptions& options = {});
Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options = {});

}  // namespace tandem
#pragma GCC visibility pop
