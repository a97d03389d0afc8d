// The out= functions: each is the op without `_out`, with the result stored in out's memory.
#include "tandem/ops/out.h"

#include <array>
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/index.h"
#include "tandem/ops/math_functions.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/overlap.h"
#include "tandem/ops/products.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scan.h"
#include "tandem/ops/scatter.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/sort.h"
#include "tandem/ops/statistics.h"
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
  if (is_storage_only(out.dtype())) detail::throw_storage_only_arithmetic(out.dtype());
  checks::not_expanded("out", out);
  check_no_grad("out", out);
  for (const Tensor& x : operands) {
    checks::defined("an operand", x);
    if (is_storage_only(x.dtype())) detail::throw_storage_only_arithmetic(x.dtype());
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
    checks::difference(a, b);
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
const Tensor& gather_out(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index) {
  const OpScope op("gather_out");
  return write(out, {x, index}, [&] { return gather(x, dim, index); });
}
const Tensor& index_select_out(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index) {
  const OpScope op("index_select_out");
  return write(out, {x, index}, [&] { return index_select(x, dim, index); });
}
const Tensor& scatter_out(const Tensor& out, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  const OpScope op("scatter_out");
  return write(out, {x, index, src}, [&] { return scatter(x, dim, index, src); });
}
const Tensor& take_out(const Tensor& out, const Tensor& x, const Tensor& index) {
  const OpScope op("take_out");
  return write(out, {x, index}, [&] { return take(x, index); });
}

namespace {

/// values and indices = f(), both checked before either is written.
template <class F>
std::tuple<const Tensor&, const Tensor&> write_selected(const Tensor& values, const Tensor& indices, const Tensor& x,
                                                        const F& f) {
  check_call(values, {&x, 1});
  check_call(indices, {&x, 1});
  TANDEM_CHECK(indices.dtype() == kLong, DTypeError, "indices is {}, but must be i64", checks::show(indices));
  Tensor positions;
  write(values, {&x, 1}, [&] {
    auto [selected, at] = f();
    checks::sizes("indices", indices, at.sizes());
    positions = std::move(at);
    return selected;
  });
  write(indices, {&x, 1}, [&] { return positions; });
  return {values, indices};
}

}  // namespace

const Tensor& cumsum_out(const Tensor& out, const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const OpScope op("cumsum_out");
  return write(out, {&x, 1}, [&] { return cumsum(x, dim, dtype); });
}
const Tensor& cumprod_out(const Tensor& out, const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  const OpScope op("cumprod_out");
  return write(out, {&x, 1}, [&] { return cumprod(x, dim, dtype); });
}
std::tuple<const Tensor&, const Tensor&> sort_out(const Tensor& values, const Tensor& indices, const Tensor& x,
                                                  int64_t dim, bool descending) {
  const OpScope op("sort_out");
  return write_selected(values, indices, x, [&] { return sort(x, dim, descending); });
}
std::tuple<const Tensor&, const Tensor&> topk_out(const Tensor& values, const Tensor& indices, const Tensor& x,
                                                  int64_t k, int64_t dim, bool largest, bool sorted) {
  const OpScope op("topk_out");
  return write_selected(values, indices, x, [&] { return topk(x, k, dim, largest, sorted); });
}

// ---- the ops of out.inc

#define TANDEM_UNARY_OUT(NAME)                                   \
  const Tensor& NAME##_out(const Tensor& out, const Tensor& x) { \
    const OpScope op(#NAME "_out");                              \
    return write(out, {&x, 1}, [&] { return NAME(x); });         \
  }
#define TANDEM_BINARY_OUT(NAME)                                                   \
  const Tensor& NAME##_out(const Tensor& out, const Tensor& a, const Tensor& b) { \
    const OpScope op(#NAME "_out");                                               \
    return write(out, {a, b}, [&] { return NAME(a, b); });                        \
  }
#include "tandem/ops/out.inc"

#define TANDEM_OUT(NAME, PARAMETERS, OPERANDS, ...)                 \
  const Tensor& NAME##_out PARAMETERS {                             \
    const OpScope op(#NAME "_out");                                 \
    const std::vector<Tensor> operands OPERANDS;                    \
    return write(out, operands, [&] { return NAME(__VA_ARGS__); }); \
  }
TANDEM_OUT(pow, (const Tensor& out, const Tensor& x, Scalar exponent), ({x}), x, exponent)
TANDEM_OUT(clamp, (const Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max), ({x}), x,
           min, max)
TANDEM_OUT(where, (const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b), ({condition, a, b}),
           condition, a, b)
TANDEM_OUT(lerp, (const Tensor& out, const Tensor& start, const Tensor& end, Scalar weight), ({start, end}), start, end,
           weight)
TANDEM_OUT(lerp, (const Tensor& out, const Tensor& start, const Tensor& end, const Tensor& weight),
           ({start, end, weight}), start, end, weight)
TANDEM_OUT(addcmul, (const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar value),
           ({input, a, b}), input, a, b, value)
TANDEM_OUT(addcdiv, (const Tensor& out, const Tensor& input, const Tensor& a, const Tensor& b, Scalar value),
           ({input, a, b}), input, a, b, value)
TANDEM_OUT(mean, (const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim, std::optional<DType> dtype),
           ({x}), x, dims, keepdim, dtype)
TANDEM_OUT(prod, (const Tensor& out, const Tensor& x, int64_t dim, bool keepdim, std::optional<DType> dtype), ({x}), x,
           dim, keepdim, dtype)
TANDEM_OUT(amax, (const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim), ({x}), x, dims, keepdim)
TANDEM_OUT(amin, (const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim), ({x}), x, dims, keepdim)
TANDEM_OUT(logsumexp, (const Tensor& out, const Tensor& x, IntArrayRef dims, bool keepdim), ({x}), x, dims, keepdim)
#undef TANDEM_OUT

}  // namespace tandem
