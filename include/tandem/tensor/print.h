#pragma once
// Tensors, sizes, dtypes and devices as text. Tensors are printed exactly as by libtorch.
#include <concepts>
#include <iosfwd>
#include <string>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns all elements, and a last line with type and sizes: `[ CPUFloatType{2,3} ]`. A tensor of rank above 2 is
/// printed as matrices with headings such as `(1,2,.,.) = `, with indices from 1. The numbers of a vector or matrix
/// have the same width and, if they are large or small, a common factor on a separate line: `0.001 *`. Lines have at
/// most `line_size` characters of numbers; a wider matrix is split into groups of columns. Waits for the device. Throws
/// OutOfMemoryError if the text does not fit into memory.
std::string to_string(const Tensor& x, int64_t line_size = 80);

/// Writes to_string(x).
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& print(std::ostream& out, const Tensor& x, int64_t line_size = 80);
/// Writes to_string(x) to std::cout.
void print(const Tensor& x, int64_t line_size = 80);
std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& type);

/// libtorch's name of a dtype: "Float".
const char* toString(DType dtype);
/// These print as in libtorch: sizes or strides as "[2, 3]", a dtype as x.dtype() there, "float", a device as "cpu" or
/// "cuda:0", a layout as "Strided".
std::ostream& operator<<(std::ostream& out, IntArrayRef values);
std::ostream& operator<<(std::ostream& out, DType dtype);
std::ostream& operator<<(std::ostream& out, Layout layout);
std::ostream& operator<<(std::ostream& out, DeviceType type);
std::ostream& operator<<(std::ostream& out, const Device& device);
namespace detail {
std::ostream& print_number(std::ostream& out, Scalar value);
}
/// A number prints like the C++ number, a bool as "true" or "false". A template, so that nothing is converted to
/// Scalar.
template <std::same_as<Scalar> Number>
std::ostream& operator<<(std::ostream& out, Number value) {
  return detail::print_number(out, value);
}

}  // namespace tandem
#pragma GCC visibility pop
