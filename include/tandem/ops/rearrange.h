#pragma once
// Rearrangements: flips, rolls, repetitions, and other names and forms of the views in ops/shape.h. A dimension out of
// range throws IndexError; sizes that do not fit throw ShapeError.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// A copy with the order of entries reversed in each of `dims`.
Tensor flip(const Tensor& x, IntArrayRef dims);
/// flip() of dimension 1, or 0.
Tensor fliplr(const Tensor& x);
Tensor flipud(const Tensor& x);
/// A copy in which entry i of dimension dims[k] is at i + shifts[k], modulo the size. Without dims, x is rolled as if
/// it were flat.
Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims = {});
/// Turns the plane of two dimensions by 90 degrees, k times, from the first dimension towards the second.
Tensor rot90(const Tensor& x, int64_t k = 1, IntArrayRef dims = {0, 1});

/// A copy with dimension d repeated repeats[d] times. More numbers than dimensions add dimensions in front.
Tensor repeat(const Tensor& x, IntArrayRef repeats);
/// repeat(), with ones in front of `repeats` if it has fewer numbers than x has dimensions.
Tensor tile(const Tensor& x, IntArrayRef repeats);
/// A copy with each entry of dimension `dim` repeated next to itself. Without `dim`, x is flattened first.
/// `output_size` has no effect.
Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {},
                         std::optional<int64_t> output_size = {});
/// The same with a number for each entry, or one for all: an i64 or i32 tensor of rank 1 or 0. Waits for the device if
/// `repeats` is not on the CPU.
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim = {},
                         std::optional<int64_t> output_size = {});
/// Index i repeated repeats[i] times, for i = 0, 1, ...
Tensor repeat_interleave(const Tensor& repeats);

/// Moves dimensions to new places; the others keep their order.
Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination);
Tensor movedim(const Tensor& x, int64_t source, int64_t destination);
Tensor moveaxis(const Tensor& x, IntArrayRef source, IntArrayRef destination);
Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination);
/// Other names of transpose().
Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1);
Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1);
/// Splits dimension `dim` into several, one of whose sizes may be -1.
Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes);
/// Reshapes to rank 1.
Tensor ravel(const Tensor& x);
/// A copy of narrow().
Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length);

/// A view of the windows of `size` entries of dimension `dim`, `step` apart: that dimension counts the windows, and a
/// new last dimension has their entries. libtorch has it as a method only.
Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);

/// Copies of x with a part replaced by src, which must have the sizes of the part: select(), or slice().
Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim = 0, std::optional<int64_t> start = {},
                     std::optional<int64_t> end = {}, int64_t step = 1);

}  // namespace tandem
#pragma GCC visibility pop
