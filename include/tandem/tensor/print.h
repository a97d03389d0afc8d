#pragma once
// Tensors as text, character for character as libtorch writes them, and what describes them.
#include <iosfwd>
#include <string>

#include "tandem/tensor/tensor.h"

namespace tandem {

/// All elements, and a last line with type and sizes: `[ CPUFloatType{2,3} ]`. A tensor of rank above 2 is written as
/// matrices headed `(1,2,.,.) = `, indices from 1. Numbers of one vector or matrix share a width and, when they are
/// large or small, a factor on a line of its own: `0.001 *`. Lines hold at most `line_size` characters of numbers; a
/// wider matrix is written in groups of columns. Waits for the device. Throws OutOfMemoryError for a text that does not
/// fit into memory.
std::string str(const Tensor& x, int64_t line_size = 80);

/// Writes str(x).
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& print(std::ostream& out, const Tensor& x, int64_t line_size = 80);

/// These write what messages show: sizes or strides as "[2, 3]", a dtype as "f32", a device as "cpu" or "cuda:0".
std::ostream& operator<<(std::ostream& out, IntArrayRef values);
std::ostream& operator<<(std::ostream& out, DType dtype);
std::ostream& operator<<(std::ostream& out, DeviceType type);
std::ostream& operator<<(std::ostream& out, const Device& device);

}  // namespace tandem
