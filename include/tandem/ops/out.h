#pragma once
// out= functions, as in libtorch, which write the result to an existing tensor: `add_out(out, a, b)`.
//
// `out` is the first argument, keeps its sizes, strides and dtype, and is returned. It may have any strides, and may
// overlap an operand, as in `mm_out(a, a, b)`: operands are read before it is written. Its values become those of the
// op without `_out`, converted to its dtype, and its version is raised. Autocast does not affect out= calls, and
// autograd does not record them.
//
// Throws StateError for an undefined `out`: nothing is resized, so create it with empty(sizes). Throws ShapeError if it
// does not have the result's sizes or is expanded; DTypeError if it cannot hold the result (fractions in integers,
// numbers in bool); DeviceError if it is not on the operands' device; AutogradError if it or an operand requires grad
// while grad mode is on. After an exception, `out` is unchanged.
#include <optional>
#include <tuple>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// out = a + alpha b
const Tensor& add_out(const Tensor& out, const Tensor& a, const Tensor& b, Scalar alpha = 1);
/// out = a - alpha b
const Tensor& sub_out(const Tensor& out, const Tensor& a, const Tensor& b, Scalar alpha = 1);
/// out = a b
const Tensor& mul_out(const Tensor& out, const Tensor& a, const Tensor& b);
/// out = a / b, true division
const Tensor& div_out(const Tensor& out, const Tensor& a, const Tensor& b);
/// out = the larger or smaller operand; see maximum()
const Tensor& maximum_out(const Tensor& out, const Tensor& a, const Tensor& b);
const Tensor& minimum_out(const Tensor& out, const Tensor& a, const Tensor& b);

/// out: [n, m]
const Tensor& mm_out(const Tensor& out, const Tensor& a, const Tensor& b);
/// out: [b, n, m]
const Tensor& bmm_out(const Tensor& out, const Tensor& a, const Tensor& b);
/// out = a b; see matmul()
const Tensor& matmul_out(const Tensor& out, const Tensor& a, const Tensor& b);
/// out = beta input + alpha a b
const Tensor& addmm_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1,
                        Scalar alpha = 1);

/// out = the product of a matrix and a vector, of two vectors, all products of their elements, or a contraction
const Tensor& mv_out(const Tensor& out, const Tensor& matrix, const Tensor& vector);
const Tensor& dot_out(const Tensor& out, const Tensor& a, const Tensor& b);
const Tensor& outer_out(const Tensor& out, const Tensor& a, const Tensor& b);
const Tensor& tensordot_out(const Tensor& out, const Tensor& a, const Tensor& b, IntArrayRef dims_a,
                            IntArrayRef dims_b);
/// out = beta input + alpha matrix vector
const Tensor& addmv_out(const Tensor& out, const Tensor& input, const Tensor& matrix, const Tensor& vector,
                        Scalar beta = 1, Scalar alpha = 1);
/// out = beta input + alpha a b^T for vectors a and b
const Tensor& addr_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1,
                       Scalar alpha = 1);
/// out = beta input + alpha times the sum of the products of a batch
const Tensor& addbmm_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1,
                         Scalar alpha = 1);
/// out = beta input + alpha times each product of a batch
const Tensor& baddbmm_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta = 1,
                          Scalar alpha = 1);
/// out = the norm of order `ord` along `dims`, of all elements if `dims` is empty
const Tensor& linalg_vector_norm_out(const Tensor& out, const Tensor& x, Scalar ord = 2, IntArrayRef dims = {},
                                     bool keepdim = false, std::optional<DType> dtype = {});

/// Without a `dtype`, sums of f16 and bf16 are written to a wider floating `out` without rounding to the input's dtype.
const Tensor& sum_out(const Tensor& out, const Tensor& x, std::optional<DType> dtype = {});
const Tensor& sum_out(const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim = false,
                      std::optional<DType> dtype = {});
/// out = the tensors joined along `dim`, or along a new one
const Tensor& cat_out(const Tensor& out, TensorList tensors, int64_t dim = 0);
const Tensor& stack_out(const Tensor& out, TensorList tensors, int64_t dim = 0);

/// out = the elements that `index` names; scatter_out writes `src` there instead
const Tensor& gather_out(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index);
const Tensor& index_select_out(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index);
const Tensor& scatter_out(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
const Tensor& take_out(const Tensor& out, const Tensor& x, const Tensor& index);
/// out = sums or products along `dim` up to each element
const Tensor& cumsum_out(const Tensor& out, const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
const Tensor& cumprod_out(const Tensor& out, const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// `values` and `indices` are returned; they must not overlap.
std::tuple<const Tensor&, const Tensor&> sort_out(const Tensor& values, const Tensor& indices, const Tensor& x,
                                                  int64_t dim = -1, bool descending = false);
std::tuple<const Tensor&, const Tensor&> topk_out(const Tensor& values, const Tensor& indices, const Tensor& x,
                                                  int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);

// ---- more element-wise ops: NAME_out(out, x) and NAME_out(out, a, b)
#define TANDEM_UNARY_OUT(NAME) const Tensor& NAME##_out(const Tensor& out, const Tensor& x);
#define TANDEM_BINARY_OUT(NAME) const Tensor& NAME##_out(const Tensor& out, const Tensor& a, const Tensor& b);
#include "tandem/ops/out.inc"
const Tensor& pow_out(const Tensor& out, const Tensor& x, Scalar exponent);
const Tensor& clamp_out(const Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {});
const Tensor& where_out(const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b);
const Tensor& lerp_out(const Tensor& out, const Tensor& start, const Tensor& end, Scalar weight);
const Tensor& lerp_out(const Tensor& out, const Tensor& start, const Tensor& end, const Tensor& weight);
const Tensor& addcmul_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar value = 1);
const Tensor& addcdiv_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar value = 1);

// ---- more reductions: the op without _out, in the same order of arguments
const Tensor& mean_out(const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim = false,
                       std::optional<DType> dtype = {});
const Tensor& prod_out(const Tensor& out, const Tensor& x, int64_t dim, bool keepdim = false,
                       std::optional<DType> dtype = {});
const Tensor& amax_out(const Tensor& out, const Tensor& x, IntArrayRef dims = {}, bool keepdim = false);
const Tensor& amin_out(const Tensor& out, const Tensor& x, IntArrayRef dims = {}, bool keepdim = false);
const Tensor& logsumexp_out(const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim = false);

}  // namespace tandem
#pragma GCC visibility pop
