#pragma once
// Splitting a tensor along a dimension into views. Like in PyTorch, an in-place change of a part that has a history is
// refused (AutogradError). A dimension out of range throws IndexError; parts that do not fit throw ShapeError.
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Parts of `split_size` entries along `dim`; the last may be smaller. Throws ShapeError for more than 2^24 parts.
std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim = 0);
/// Parts of the given sizes, whose sum must be that of `dim`.
std::vector<Tensor> split(const Tensor& x, IntArrayRef split_sizes, int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef split_sizes, int64_t dim = 0);
/// `sections` parts whose sizes differ by at most one, the larger ones first.
std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0);
/// The parts [0, i0), [i0, i1), ..., by Python's rules for bounds of slices.
std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim = 0);
/// The same for an i64 tensor on the CPU: of rank 0 for `sections`, of rank 1 for `indices`.
std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& indices_or_sections, int64_t dim = 0);
/// tensor_split along dimension 1 (0 for rank 1), 0, or 2. `sections` must divide the size.
std::vector<Tensor> hsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices);
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices);
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices);
/// The slices along `dim`, without that dimension.
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);

}  // namespace tandem
#pragma GCC visibility pop
