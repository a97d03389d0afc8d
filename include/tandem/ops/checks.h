#pragma once
// Checks and preparations shared by ops. Internal.
#include <array>
#include <optional>

#include "tandem/tensor/checks.h"

#pragma GCC visibility push(default)
namespace tandem {
struct Pool2dParams;
}

namespace tandem::checks {

/// Throws StateError if `x` is undefined.
void defined(const char* which, const Tensor& x);
/// Like `defined`; also throws DTypeError unless `x` is floating.
void floating(const char* which, const Tensor& x);
/// Like `defined`, for element `i` of a list of tensors.
void defined_at(size_t i, const Tensor& x);
/// Throws DTypeError for a bool `x`.
void not_bool(const Tensor& x);
/// Throws DTypeError if both are bool.
void not_two_bools(const Tensor& a, const Tensor& b);
/// Throws DTypeError if one is bool: differences are of numbers, as in PyTorch.
void difference(const Tensor& a, const Tensor& b);
void difference(const Tensor& a, Scalar b);
/// Throws DTypeError if `dtype`, requested for the result, is not floating.
void floating_result(const Tensor& x, std::optional<DType> dtype);
/// Throws StateError unless the number is finite and at least 0.
void not_negative(const char* which, double value);
/// Throws StateError unless the number is None, Mean or Sum of Reduction.
void reduction(int value);
/// Like `defined`; also throws DTypeError unless `x` is i64 or i32.
void index(const char* which, const Tensor& x);
/// Throws DTypeError unless `a` and `b` have the same dtype or `b` is undefined.
void same_dtype(const char* which_a, const Tensor& a, const char* which_b, const Tensor& b);
/// Throws DTypeError unless `parameter` is undefined, has x's dtype, or is f32 and x is f16 or bf16.
void parameter_dtype(const Tensor& x, const char* which, const Tensor& parameter);
/// Throws DTypeError for a fractional alpha in a + alpha b of integers.
void alpha(const Tensor& a, const Tensor& b, Scalar alpha);
/// Throws StateError for an integer base with a negative exponent.
void exponent(const Tensor& base, Scalar exponent);
/// Throws ShapeError unless `x` is undefined or has these sizes.
void sizes(const char* which, const Tensor& x, IntArrayRef expected);
/// Throws ShapeError unless `parameter` is undefined or has one element for each channel of x [N, C, ...].
void per_channel(const char* which, const Tensor& parameter, const Tensor& x);
/// Returns one entry or `dims` entries, one for each of the last `dims` <= 3 dimensions, as `dims` entries. Throws
/// ShapeError for another number of entries, StateError for an entry below `least`.
Dims entries(const char* which, IntArrayRef values, size_t dims, int64_t least);
/// `entries` for height and width.
std::array<int64_t, 2> pair(const char* which, IntArrayRef values, int64_t least);
/// Returns the windows of a pooling op or module, from pairs as above. An empty stride means the kernel's size. Throws
/// StateError for a padding above half of the kernel's size.
Pool2dParams windows(IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);

/// Returns ChannelsLast for a tensor of rank 4 whose dimensions have that order in memory, else Contiguous.
MemoryFormat layout(const Tensor& x);
/// Returns `x` without gaps, in this layout or its own, with exactly the strides of that layout. Kernels can then tell
/// layouts apart even if sizes of 1 make them the same memory. For use by kernels: the result has no history.
Tensor dense(const Tensor& x, MemoryFormat format);
inline Tensor dense(const Tensor& x) { return dense(x, layout(x)); }
/// Returns the dtype of sums and statistics: f64 for f64, else f32.
inline DType sum_dtype(DType t) { return t == kDouble ? kDouble : kFloat; }

}  // namespace tandem::checks
#pragma GCC visibility pop
