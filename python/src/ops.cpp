// Ops, as methods of Tensor and as functions of the module.
#include "tandem/ops/ops.h"
#include "bridge.h"

namespace tandem::python {
namespace {

/// Defines a method and the function of the same name. Extra arguments are those after the tensor.
template <class F, class... Extra>
void define(nb::module_& m, nb::class_<Tensor>& t, const char* name, F f, const Extra&... extra) {
  t.def(name, f, extra..., Unlocked());
  m.def(name, f, "input"_a, extra..., Unlocked());
}

using OptionalDims = std::optional<Dims>;
using OptionalDType = std::optional<DType>;

IntArrayRef dims_or_all(const OptionalDims& dim) { return dim ? IntArrayRef(*dim) : IntArrayRef(); }

// ---- elementwise

void bind_unary(nb::module_& m, nb::class_<Tensor>& t) {
#define TANDEM_UNARY(NAME) define(m, t, #NAME, [](const Tensor& x) -> Tensor { return x.NAME(); });
#define TANDEM_UNARY_IN_PLACE(NAME) \
  t.def(                            \
      #NAME, [](Tensor& x) -> Tensor& { return x.NAME(), x; }, nb::rv_policy::none, Unlocked());
#define TANDEM_UNARY_BOTH(NAME) TANDEM_UNARY(NAME) TANDEM_UNARY_IN_PLACE(NAME##_)
  TANDEM_UNARY_BOTH(neg)
  TANDEM_UNARY_BOTH(abs)
  TANDEM_UNARY_BOTH(sign)
  TANDEM_UNARY_BOTH(reciprocal)
  TANDEM_UNARY_BOTH(square)
  TANDEM_UNARY_BOTH(sqrt)
  TANDEM_UNARY_BOTH(rsqrt)
  TANDEM_UNARY_BOTH(exp)
  TANDEM_UNARY_BOTH(expm1)
  TANDEM_UNARY_BOTH(log)
  TANDEM_UNARY_BOTH(log1p)
  TANDEM_UNARY_BOTH(log2)
  TANDEM_UNARY_BOTH(log10)
  TANDEM_UNARY_BOTH(sin)
  TANDEM_UNARY_BOTH(cos)
  TANDEM_UNARY_BOTH(tan)
  TANDEM_UNARY_BOTH(asin)
  TANDEM_UNARY_BOTH(acos)
  TANDEM_UNARY_BOTH(atan)
  TANDEM_UNARY_BOTH(sinh)
  TANDEM_UNARY_BOTH(cosh)
  TANDEM_UNARY_BOTH(erf)
  TANDEM_UNARY_BOTH(erfc)
  TANDEM_UNARY_BOTH(floor)
  TANDEM_UNARY_BOTH(ceil)
  TANDEM_UNARY_BOTH(round)
  TANDEM_UNARY_BOTH(trunc)
  TANDEM_UNARY_BOTH(relu)
  TANDEM_UNARY_BOTH(sigmoid)
  TANDEM_UNARY_BOTH(tanh)
  TANDEM_UNARY_BOTH(logical_not)
  TANDEM_UNARY_BOTH(bitwise_not)
  TANDEM_UNARY(isfinite)
  TANDEM_UNARY(isnan)
  TANDEM_UNARY(isinf)
  TANDEM_UNARY(nonzero)
  TANDEM_UNARY(ravel)
  TANDEM_UNARY(trace)
  TANDEM_UNARY(t)
  TANDEM_UNARY(detach)
  TANDEM_UNARY_IN_PLACE(zero_)
  TANDEM_UNARY_IN_PLACE(detach_)
#undef TANDEM_UNARY_BOTH
#undef TANDEM_UNARY_IN_PLACE
#undef TANDEM_UNARY
}

void bind_binary(nb::module_& m, nb::class_<Tensor>& t) {
#define TANDEM_BINARY_WITH(NAME, TYPE, OTHER) \
  define(                                     \
      m, t, #NAME, [](const Tensor& x, TYPE OTHER) -> Tensor { return x.NAME(OTHER); }, #OTHER##_a);
#define TANDEM_BINARY_TENSOR(NAME, OTHER) TANDEM_BINARY_WITH(NAME, const Tensor&, OTHER)
#define TANDEM_BINARY(NAME, OTHER) TANDEM_BINARY_TENSOR(NAME, OTHER) TANDEM_BINARY_WITH(NAME, Scalar, OTHER)
#define TANDEM_BINARY_IN_PLACE_WITH(NAME, TYPE, OTHER)                                                           \
  t.def(                                                                                                         \
      #NAME, [](Tensor& x, TYPE OTHER) -> Tensor& { return x.NAME(OTHER), x; }, #OTHER##_a, nb::rv_policy::none, \
      Unlocked());
#define TANDEM_BINARY_IN_PLACE(NAME, OTHER) \
  TANDEM_BINARY_IN_PLACE_WITH(NAME, const Tensor&, OTHER) TANDEM_BINARY_IN_PLACE_WITH(NAME, Scalar, OTHER)
  TANDEM_BINARY(mul, other)
  TANDEM_BINARY(div, other)
  TANDEM_BINARY(pow, exponent)
  TANDEM_BINARY(eq, other)
  TANDEM_BINARY(ne, other)
  TANDEM_BINARY(lt, other)
  TANDEM_BINARY(le, other)
  TANDEM_BINARY(gt, other)
  TANDEM_BINARY(ge, other)
  TANDEM_BINARY(remainder, other)
  TANDEM_BINARY(fmod, other)
  TANDEM_BINARY(floor_divide, other)
  TANDEM_BINARY(bitwise_and, other)
  TANDEM_BINARY(bitwise_or, other)
  TANDEM_BINARY(bitwise_xor, other)
  TANDEM_BINARY_TENSOR(maximum, other)
  TANDEM_BINARY_TENSOR(minimum, other)
  TANDEM_BINARY_TENSOR(atan2, other)
  TANDEM_BINARY_TENSOR(logical_and, other)
  TANDEM_BINARY_TENSOR(logical_or, other)
  TANDEM_BINARY_TENSOR(logical_xor, other)
  TANDEM_BINARY_TENSOR(matmul, other)
  TANDEM_BINARY_TENSOR(mm, mat2)
  TANDEM_BINARY_TENSOR(bmm, mat2)
  TANDEM_BINARY_TENSOR(mv, vec)
  TANDEM_BINARY_TENSOR(dot, tensor)
  TANDEM_BINARY_TENSOR(outer, vec2)
  TANDEM_BINARY_IN_PLACE(mul_, other)
  TANDEM_BINARY_IN_PLACE(div_, other)
  TANDEM_BINARY_IN_PLACE(pow_, exponent)
  TANDEM_BINARY_IN_PLACE_WITH(copy_, const Tensor&, other)
  TANDEM_BINARY_IN_PLACE_WITH(fill_, Scalar, value)
#undef TANDEM_BINARY_IN_PLACE
#undef TANDEM_BINARY_IN_PLACE_WITH
#undef TANDEM_BINARY
#undef TANDEM_BINARY_TENSOR
#undef TANDEM_BINARY_WITH

#define TANDEM_SUM_WITH(NAME, TYPE)                                                                                    \
  define(                                                                                                              \
      m, t, #NAME, [](const Tensor& x, TYPE other, Scalar alpha) { return x.NAME(other, alpha); }, "other"_a,          \
      nb::kw_only(), "alpha"_a = 1);                                                                                   \
  t.def(                                                                                                               \
      #NAME "_", [](Tensor& x, TYPE other, Scalar alpha) -> Tensor& { return x.NAME##_(other, alpha), x; }, "other"_a, \
      nb::kw_only(), "alpha"_a = 1, nb::rv_policy::none, Unlocked());
  TANDEM_SUM_WITH(add, const Tensor&)
  TANDEM_SUM_WITH(add, Scalar)
  TANDEM_SUM_WITH(sub, const Tensor&)
  TANDEM_SUM_WITH(sub, Scalar)
#undef TANDEM_SUM_WITH
  define(
      m, t, "addmm",
      [](const Tensor& x, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
        return x.addmm(a, b, beta, alpha);
      },
      "mat1"_a, "mat2"_a, nb::kw_only(), "beta"_a = 1, "alpha"_a = 1);
  define(
      m, t, "clamp",
      [](const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) { return x.clamp(min, max); },
      "min"_a = nb::none(), "max"_a = nb::none());
  t.def(
      "clamp_",
      [](Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) -> Tensor& { return x.clamp_(min, max), x; },
      "min"_a = nb::none(), "max"_a = nb::none(), nb::rv_policy::none, Unlocked());
  t.def(
      "masked_fill", [](const Tensor& x, const Tensor& mask, Scalar value) { return x.masked_fill(mask, value); },
      "mask"_a, "value"_a, Unlocked());
  define(
      m, t, "allclose",
      [](const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
        return x.allclose(y, rtol, atol, equal_nan);
      },
      "other"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false);
  define(
      m, t, "equal", [](const Tensor& x, const Tensor& y) { return x.equal(y); }, "other"_a);
  m.def(
      "where", [](const Tensor& c, const Tensor& a, const Tensor& b) { return where(c, a, b); }, "condition"_a,
      "input"_a, "other"_a, Unlocked());
  m.def(
      "where", [](const Tensor& c, const Tensor& a, Scalar b) { return where(c, a, b); }, "condition"_a, "input"_a,
      "other"_a, Unlocked());
  m.def(
      "where", [](const Tensor& c, Scalar a, const Tensor& b) { return where(c, a, b); }, "condition"_a, "input"_a,
      "other"_a, Unlocked());
}

// ---- reductions and softmax

void bind_reductions(nb::module_& m, nb::class_<Tensor>& t) {
#define TANDEM_SUM_LIKE(NAME)                                                           \
  define(                                                                               \
      m, t, #NAME,                                                                      \
      [](const Tensor& x, const OptionalDims& dim, bool keepdim, OptionalDType dtype) { \
        return dim ? x.NAME(*dim, keepdim, dtype) : x.NAME(dtype);                      \
      },                                                                                \
      "dim"_a = nb::none(), "keepdim"_a = false, nb::kw_only(), "dtype"_a = nb::none());
  TANDEM_SUM_LIKE(sum)
  TANDEM_SUM_LIKE(mean)
#undef TANDEM_SUM_LIKE
#define TANDEM_VARIANCE(NAME)                                                                    \
  define(                                                                                        \
      m, t, #NAME,                                                                               \
      [](const Tensor& x, const OptionalDims& dim, int64_t correction, bool keepdim) -> Tensor { \
        return x.NAME(dims_or_all(dim), correction, keepdim);                                    \
      },                                                                                         \
      "dim"_a = nb::none(), nb::kw_only(), "correction"_a = 1, "keepdim"_a = false);
  TANDEM_VARIANCE(var)
  TANDEM_VARIANCE(std)
#undef TANDEM_VARIANCE
#define TANDEM_EXTREMUM(NAME)                                                                                      \
  define(m, t, #NAME, [](const Tensor& x) -> Tensor { return x.NAME(); });                                         \
  define(                                                                                                          \
      m, t, #NAME, [](const Tensor& x, const Tensor& other) -> Tensor { return x.NAME(other); }, "other"_a);       \
  define(                                                                                                          \
      m, t, #NAME, [](const Tensor& x, int64_t dim, bool keepdim) { return x.NAME(dim, keepdim); }, "dim"_a,       \
      "keepdim"_a = false);                                                                                        \
  define(                                                                                                          \
      m, t, "arg" #NAME,                                                                                           \
      [](const Tensor& x, std::optional<int64_t> dim, bool keepdim) { return x.arg##NAME(dim, keepdim); },         \
      "dim"_a = nb::none(), "keepdim"_a = false);                                                                  \
  define(                                                                                                          \
      m, t, "a" #NAME,                                                                                             \
      [](const Tensor& x, const OptionalDims& dim, bool keepdim) { return x.a##NAME(dims_or_all(dim), keepdim); }, \
      "dim"_a = nb::none(), "keepdim"_a = false);
  TANDEM_EXTREMUM(max)
  TANDEM_EXTREMUM(min)
#undef TANDEM_EXTREMUM
#define TANDEM_TRUTH(NAME)                                                   \
  define(                                                                    \
      m, t, #NAME,                                                           \
      [](const Tensor& x, const OptionalDims& dim, bool keepdim) -> Tensor { \
        return dim ? x.NAME(IntArrayRef(*dim), keepdim) : x.NAME();          \
      },                                                                     \
      "dim"_a = nb::none(), "keepdim"_a = false);
  TANDEM_TRUTH(any)
  TANDEM_TRUTH(all)
#undef TANDEM_TRUTH
  define(
      m, t, "norm",
      [](const Tensor& x, Scalar p, const OptionalDims& dim, bool keepdim) {
        return dim ? x.norm(p, *dim, keepdim) : x.norm(p);
      },
      "p"_a = 2, "dim"_a = nb::none(), "keepdim"_a = false);
  define(
      m, t, "logsumexp", [](const Tensor& x, const Dims& dim, bool keepdim) { return x.logsumexp(dim, keepdim); },
      "dim"_a, "keepdim"_a = false);
  define(
      m, t, "cumsum", [](const Tensor& x, int64_t dim, OptionalDType dtype) { return x.cumsum(dim, dtype); }, "dim"_a,
      nb::kw_only(), "dtype"_a = nb::none());
  define(
      m, t, "softmax", [](const Tensor& x, int64_t dim, OptionalDType dtype) { return x.softmax(dim, dtype); }, "dim"_a,
      "dtype"_a = nb::none());
  define(
      m, t, "log_softmax", [](const Tensor& x, int64_t dim, OptionalDType dtype) { return x.log_softmax(dim, dtype); },
      "dim"_a, "dtype"_a = nb::none());
  define(
      m, t, "topk",
      [](const Tensor& x, int64_t k, int64_t dim, bool largest, bool sorted) {
        return x.topk(k, dim, largest, sorted);
      },
      "k"_a, "dim"_a = -1, "largest"_a = true, "sorted"_a = true);
  define(
      m, t, "sort", [](const Tensor& x, int64_t dim, bool descending) { return x.sort(dim, descending); }, "dim"_a = -1,
      "descending"_a = false);
}

// ---- geometry

void bind_shape(nb::module_& m, nb::class_<Tensor>& t) {
#define TANDEM_SIZED(NAME)                                  \
  t.def(#NAME, [](const Tensor& x, const nb::args& sizes) { \
    const Dims dims = sizes_from(sizes);                    \
    const nb::gil_scoped_release unlocked;                  \
    return x.NAME(IntArrayRef(dims));                       \
  });
  TANDEM_SIZED(view)
  TANDEM_SIZED(reshape)
  TANDEM_SIZED(expand)
  TANDEM_SIZED(permute)
  TANDEM_SIZED(repeat)
#undef TANDEM_SIZED
  m.def(
      "reshape", [](const Tensor& x, const Dims& shape) { return x.reshape(shape); }, "input"_a, "shape"_a, Unlocked());
  m.def(
      "permute", [](const Tensor& x, const Dims& dims) { return x.permute(dims); }, "input"_a, "dims"_a, Unlocked());
  t.def_prop_ro("T", [](const Tensor& x) { return x.t(); });
  t.def_prop_ro("mT", [](const Tensor& x) { return x.mT(); });
  define(
      m, t, "flatten", [](const Tensor& x, int64_t start, int64_t end) { return x.flatten(start, end); },
      "start_dim"_a = 0, "end_dim"_a = -1);
  define(
      m, t, "transpose", [](const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }, "dim0"_a, "dim1"_a);
  define(
      m, t, "squeeze", [](const Tensor& x, const OptionalDims& dim) { return dim ? x.squeeze(*dim) : x.squeeze(); },
      "dim"_a = nb::none());
  define(
      m, t, "unsqueeze", [](const Tensor& x, int64_t dim) { return x.unsqueeze(dim); }, "dim"_a);
  define(
      m, t, "select", [](const Tensor& x, int64_t dim, int64_t index) { return x.select(dim, index); }, "dim"_a,
      "index"_a);
  define(
      m, t, "narrow",
      [](const Tensor& x, int64_t dim, int64_t start, int64_t length) { return x.narrow(dim, start, length); }, "dim"_a,
      "start"_a, "length"_a);
  define(
      m, t, "chunk", [](const Tensor& x, int64_t chunks, int64_t dim) { return x.chunk(chunks, dim); }, "chunks"_a,
      "dim"_a = 0);
  define(
      m, t, "split", [](const Tensor& x, int64_t size, int64_t dim) { return x.split(size, dim); }, "split_size"_a,
      "dim"_a = 0);
  define(
      m, t, "split", [](const Tensor& x, const Dims& sizes, int64_t dim) { return x.split(IntArrayRef(sizes), dim); },
      "split_size"_a, "dim"_a = 0);
  define(
      m, t, "unbind", [](const Tensor& x, int64_t dim) { return x.unbind(dim); }, "dim"_a = 0);
  define(
      m, t, "flip", [](const Tensor& x, const Dims& dims) { return x.flip(dims); }, "dims"_a);
  define(
      m, t, "tril", [](const Tensor& x, int64_t diagonal) { return x.tril(diagonal); }, "diagonal"_a = 0);
  define(
      m, t, "triu", [](const Tensor& x, int64_t diagonal) { return x.triu(diagonal); }, "diagonal"_a = 0);
  define(
      m, t, "gather", [](const Tensor& x, int64_t dim, const Tensor& index) { return x.gather(dim, index); }, "dim"_a,
      "index"_a);
  define(
      m, t, "index_select",
      [](const Tensor& x, int64_t dim, const Tensor& index) { return x.index_select(dim, index); }, "dim"_a, "index"_a);
  m.def(
      "cat", [](const std::vector<Tensor>& tensors, int64_t dim) { return cat(tensors, dim); }, "tensors"_a,
      "dim"_a = 0, Unlocked());
  m.def(
      "stack", [](const std::vector<Tensor>& tensors, int64_t dim) { return stack(tensors, dim); }, "tensors"_a,
      "dim"_a = 0, Unlocked());
  m.def(
      "_einsum", [](const std::string& equation, const std::vector<Tensor>& x) { return einsum(equation, x); },
      "equation"_a, "operands"_a, Unlocked());
}

}  // namespace

void bind_ops(nb::module_& m, nb::class_<Tensor>& t) {
  bind_unary(m, t);
  bind_binary(m, t);
  bind_reductions(m, t);
  bind_shape(m, t);
}

}  // namespace tandem::python
