// The out= functions: each is the op without `_out`, with the result stored in out's memory.
#include "tandem/ops/out.h"

#include <array>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/overlap.h"
#include "tandem/ops/products.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/vector_norm.h"

namespace tandem {
namespace {

void check_no_grad(const char* which, const Tensor& x) {
  TANDEM_CHECK(!is_recording({&x, 1}), AutogradError,
               "{} {} requires grad, but calls with out are not recorded for backward; wrap it in a NoGradGuard, or "
               "use the function without _out",
               which, checks::show(x));
}

/// Checks that every call makes before it computes.
void check_call(const Tensor& out, ArrayRef<Tensor> operands) {
  checks::defined("out", out);
  checks::not_expanded("out", out);
  check_no_grad("out", out);
  for (const Tensor& x : operands) {
    checks::defined("an operand", x);
    check_no_grad("the operand", x);
    detail::check_devices({&out, &x});
  }
}

/// Any result can be rounded to a floating out; integer results can be stored in an integer one.
void check_dtype(const Tensor& out, DType result) {
  TANDEM_CHECK(can_cast(result, out.dtype()), DTypeError,
               "the result is {}, which out {} cannot hold; use an out of {}", tandem::name(result), checks::show(out),
               tandem::name(result));
}

/// out = op()
template <class F>
const Tensor& write(const Tensor& out, ArrayRef<Tensor> operands, const F& op) {
  check_call(out, operands);
  auto fitting = [&] {
    Tensor y = op();
    check_dtype(out, y.dtype());
    return is_floating_point(y.dtype()) ? y : to(y, out.dtype());
  };
  return apply_out(out, fitting, operands);
}

/// out = op(a, b): written directly into out if possible, else by `plain`.
template <class Plain>
const Tensor& write_binary(const Tensor& out, Binary kernel, const Tensor& a, const Tensor& b, Scalar alpha,
                           const Plain& plain) {
  const std::array<Tensor, 2> operands{a, b};
  check_call(out, operands);
  const DType result = detail::dtype_of_result(kernel, result_type(a, b));
  check_dtype(out, result);
  const Dims sizes = broadcast_shapes(a.sizes(), b.sizes());
  TANDEM_CHECK(out.sizes() == IntArrayRef(sizes), ShapeError,
               "the result is {}, but out is {}; out must have the same sizes", to_string(sizes), checks::show(out));
  if (result != out.dtype() || !detail::fits_double(alpha)) return write(out, operands, plain);
  const Tensor x = detail::broadcast_view(a, sizes), y = detail::broadcast_view(b, sizes);
  if (detail::clobbers(out, x) || detail::clobbers(out, y)) return write(out, operands, plain);
  backend(out).binary(out, kernel, x, y, alpha.to_double());
  out.impl().storage->bump_version();
  return out;
}

}  // namespace

const Tensor& add_out(const Tensor& out, const Tensor& a, const Tensor& b, Scalar alpha) {
  const OpScope op("add_out");
  if (a.defined() && b.defined()) checks::alpha(a, b, alpha);
  return write_binary(out, Binary::add, a, b, alpha, [&] { return add(a, b, alpha); });
}
const Tensor& sub_out(const Tensor& out, const Tensor& a, const Tensor& b, Scalar alpha) {
  const OpScope op("sub_out");
  if (a.defined() && b.defined()) {
    checks::alpha(a, b, alpha);
    TANDEM_CHECK(a.dtype() != kBool || b.dtype() != kBool, DTypeError,
                 "not defined on two bool tensors, {} and {}; use logical_xor", checks::show(a), checks::show(b));
  }
  return write_binary(out, Binary::sub, a, b, alpha, [&] { return sub(a, b, alpha); });
}
const Tensor& mul_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("mul_out");
  return write_binary(out, Binary::mul, a, b, 1, [&] { return mul(a, b); });
}
const Tensor& div_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("div_out");
  return write_binary(out, Binary::div, a, b, 1, [&] { return div(a, b); });
}
const Tensor& maximum_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("maximum_out");
  return write_binary(out, Binary::maximum, a, b, 1, [&] { return maximum(a, b); });
}
const Tensor& minimum_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("minimum_out");
  return write_binary(out, Binary::minimum, a, b, 1, [&] { return minimum(a, b); });
}

const Tensor& mm_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("mm_out");
  return write(out, {a, b}, [&] { return mm(a, b); });
}
const Tensor& bmm_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("bmm_out");
  return write(out, {a, b}, [&] { return bmm(a, b); });
}
const Tensor& matmul_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("matmul_out");
  return write(out, {a, b}, [&] { return matmul(a, b); });
}
const Tensor& addmm_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta,
                        Scalar alpha) {
  const OpScope op("addmm_out");
  return write(out, {input, a, b}, [&] { return addmm(input, a, b, beta, alpha); });
}

const Tensor& mv_out(const Tensor& out, const Tensor& matrix, const Tensor& vector) {
  const OpScope op("mv_out");
  return write(out, {matrix, vector}, [&] { return mv(matrix, vector); });
}
const Tensor& dot_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("dot_out");
  return write(out, {a, b}, [&] { return dot(a, b); });
}
const Tensor& outer_out(const Tensor& out, const Tensor& a, const Tensor& b) {
  const OpScope op("outer_out");
  return write(out, {a, b}, [&] { return outer(a, b); });
}
const Tensor& tensordot_out(const Tensor& out, const Tensor& a, const Tensor& b, IntArrayRef dims_a,
                            IntArrayRef dims_b) {
  const OpScope op("tensordot_out");
  return write(out, {a, b}, [&] { return tensordot(a, b, dims_a, dims_b); });
}
const Tensor& addmv_out(const Tensor& out, const Tensor& input, const Tensor& matrix, const Tensor& vector, Scalar beta,
                        Scalar alpha) {
  const OpScope op("addmv_out");
  return write(out, {input, matrix, vector}, [&] { return addmv(input, matrix, vector, beta, alpha); });
}
const Tensor& addr_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta,
                       Scalar alpha) {
  const OpScope op("addr_out");
  return write(out, {input, a, b}, [&] { return addr(input, a, b, beta, alpha); });
}
const Tensor& addbmm_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta,
                         Scalar alpha) {
  const OpScope op("addbmm_out");
  return write(out, {input, a, b}, [&] { return addbmm(input, a, b, beta, alpha); });
}
const Tensor& baddbmm_out(const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar beta,
                          Scalar alpha) {
  const OpScope op("baddbmm_out");
  return write(out, {input, a, b}, [&] { return baddbmm(input, a, b, beta, alpha); });
}
const Tensor& linalg_vector_norm_out(const Tensor& out, const Tensor& x, Scalar ord, IntArrayRef dims, bool keepdim,
                                     std::optional<DType> dtype) {
  const OpScope op("linalg_vector_norm_out");
  return write(out, {&x, 1}, [&] { return linalg_vector_norm(x, ord, dims, keepdim, dtype); });
}

const Tensor& sum_out(const Tensor& out, const Tensor& x, std::optional<DType> dtype) {
  return sum_out(out, x, IntArrayRef(), false, dtype);
}
const Tensor& sum_out(const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) {
  const OpScope op("sum_out");
  return write(out, {&x, 1}, [&] {
    const bool wider =
        x.is_floating_point() && out.is_floating_point() && promote_types(x.dtype(), out.dtype()) == out.dtype();
    return sum(x, dims, keepdim, dtype || !wider ? dtype : out.dtype());
  });
}
const Tensor& cat_out(const Tensor& out, TensorList tensors, int64_t dim) {
  const OpScope op("cat_out");
  return write(out, tensors, [&] { return cat(tensors, dim); });
}
const Tensor& stack_out(const Tensor& out, TensorList tensors, int64_t dim) {
  const OpScope op("stack_out");
  return write(out, tensors, [&] { return stack(tensors, dim); });
}

}  // namespace tandem
