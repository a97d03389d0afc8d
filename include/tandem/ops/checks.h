#pragma once
// What the ops of layers check and prepare alike. Internal.
#include <array>
#include <optional>

#include "tandem/tensor/checks.h"

namespace tandem {
struct Pool2dParams;
}

namespace tandem::checks {

/// StateError when `x` is undefined.
void defined(const char* op, const char* which, const Tensor& x);
/// `defined`, and DTypeError unless `x` is floating.
void floating(const char* op, const char* which, const Tensor& x);
/// `defined`, of number `i` in a list of tensors.
void defined_at(const char* op, size_t i, const Tensor& x);
/// DTypeError for a bool `x`.
void not_bool(const char* op, const Tensor& x);
/// DTypeError when both are bool.
void not_two_bools(const char* op, const Tensor& a, const Tensor& b);
/// DTypeError for a result that is asked for in a dtype that is not floating.
void floating_result(const char* op, const Tensor& x, std::optional<DType> dtype);
/// StateError unless the number is finite and at least 0.
void not_negative(const char* op, const char* which, double value);
/// `defined`, and DTypeError unless `x` is i64 or i32.
void index(const char* op, const char* which, const Tensor& x);
/// DTypeError unless both have one dtype; an undefined `b` passes.
void same_dtype(const char* op, const char* which_a, const Tensor& a, const char* which_b, const Tensor& b);
/// DTypeError unless `parameter` is undefined, of x's dtype, or f32 beside f16 or bf16.
void parameter_dtype(const char* op, const Tensor& x, const char* which, const Tensor& parameter);
/// DTypeError for a fractional alpha in a + alpha b of whole numbers.
void alpha(const char* op, const Tensor& a, const Tensor& b, Scalar alpha);
/// StateError for an integer base with a negative exponent.
void exponent(const char* op, const Tensor& base, Scalar exponent);
/// ShapeError unless `x` is undefined or has these sizes.
void sizes(const char* op, const char* which, const Tensor& x, IntArrayRef expected);
/// One or two entries as a pair (height, width). ShapeError on another count, StateError on an entry below `least`.
std::array<int64_t, 2> pair(const char* op, const char* which, IntArrayRef values, int64_t least);
/// The windows of a pooling op or module, from `pair`s; an empty stride is the kernel. StateError for a padding above
/// half of the kernel.
Pool2dParams windows(const char* op, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                     bool ceil_mode);

/// ChannelsLast for a tensor of rank 4 whose dimensions lie in that order, else Contiguous.
MemoryFormat layout(const Tensor& x);
/// `x` without gaps, in this layout or its own, with just the strides that the layout has for its sizes: so kernels can
/// tell layouts apart even where sizes of 1 make them the same memory. For kernels: the result has no history.
Tensor dense(const Tensor& x, MemoryFormat format);
inline Tensor dense(const Tensor& x) { return dense(x, layout(x)); }
/// f64 for f64, else f32: the dtype of sums and statistics.
inline DType sum_dtype(DType t) { return t == kDouble ? kDouble : kFloat; }

}  // namespace tandem::checks
