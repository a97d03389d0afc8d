// Tensor methods that are ops reject an undefined tensor under the op's name. Other errors of ops, including in-place
// methods, are tested in tests/ops/*_errors_test.cpp.
#include <map>

#include "support/bad_input.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct Method {
  const char* name;
  void (*run)(const Tensor& x);
};
/// The operand of a binary method: a tensor or a number.
template <class T>
struct Operand {
  static Scalar of(const Tensor&) { return 1; }
};
template <>
struct Operand<const Tensor&> {
  static const Tensor& of(const Tensor& x) { return x; }
};

#define METHOD(NAME, ...)                               \
  {                                                     \
#NAME, [](const Tensor& x) { x.NAME(__VA_ARGS__); } \
  }
constexpr Method methods[] = {
    // arithmetic
    METHOD(add, x),
    METHOD(add, 1),
    METHOD(sub, x),
    METHOD(mul, x),
    METHOD(mul, 2),
    METHOD(div, x),
    METHOD(div, 2),
    METHOD(pow, x),
    METHOD(pow, 2),
    METHOD(neg),
    METHOD(abs),
    METHOD(sign),
    METHOD(reciprocal),
    METHOD(square),
    METHOD(sqrt),
    METHOD(rsqrt),
    METHOD(exp),
    METHOD(expm1),
    METHOD(log),
    METHOD(log1p),
    METHOD(sin),
    METHOD(cos),
    METHOD(erf),
    METHOD(floor),
    METHOD(ceil),
    METHOD(round),
    METHOD(atan2, x),
    METHOD(clamp, 0),
    METHOD(maximum, x),
    METHOD(minimum, x),
    METHOD(where, x, x),
    METHOD(relu),
    METHOD(sigmoid),
    METHOD(tanh),
    METHOD(eq, x),
    METHOD(ne, x),
    METHOD(lt, x),
    METHOD(le, x),
    METHOD(gt, x),
    METHOD(ge, x),
    METHOD(eq, 1),
    METHOD(ne, 1),
    METHOD(lt, 1),
    METHOD(le, 1),
    METHOD(gt, 1),
    METHOD(ge, 1),
    METHOD(logical_and, x),
    METHOD(logical_or, x),
    METHOD(logical_xor, x),
    METHOD(logical_not),
    METHOD(isfinite),
    METHOD(isnan),
    METHOD(isinf),
    METHOD(isposinf),
    METHOD(isneginf),
    METHOD(isreal),
    METHOD(signbit),
    METHOD(positive),
    METHOD(logit),
    METHOD(nan_to_num),
    METHOD(hardshrink),
    METHOD(prelu, x),
    METHOD(lerp, x, 1),
    METHOD(lerp, x, x),
    METHOD(addcmul, x, x),
    METHOD(addcdiv, x, x),
    METHOD(subtract, x),
    METHOD(subtract, 1),
    METHOD(clip, 0),
    METHOD(isclose, x),
    METHOD(allclose, x),
    METHOD(equal, x),
    // reductions
    METHOD(sum),
    METHOD(sum, {0}),
    METHOD(mean),
    METHOD(mean, {0}),
    METHOD(var),
    METHOD(var, true),
    METHOD(var, {0}),
    METHOD(norm),
    METHOD(norm, 2, {0}),
    METHOD(max),
    METHOD(max, 0),
    METHOD(min),
    METHOD(min, 0),
    METHOD(argmax),
    METHOD(argmin),
    METHOD(any),
    METHOD(all),
    METHOD(any, 0),
    METHOD(all, 0),
    METHOD(prod),
    METHOD(prod, 0),
    METHOD(std),
    METHOD(std, true),
    METHOD(std, {0}),
    METHOD(amax),
    METHOD(amin),
    METHOD(aminmax),
    METHOD(logsumexp, {0}),
    METHOD(nansum),
    METHOD(nanmean),
    METHOD(count_nonzero),
    // scans, sorting and search
    METHOD(cumsum, 0),
    METHOD(cumprod, 0),
    METHOD(cummax, 0),
    METHOD(cummin, 0),
    METHOD(logcumsumexp, 0),
    METHOD(diff),
    METHOD(sort),
    METHOD(argsort),
    METHOD(msort),
    METHOD(topk, 1),
    METHOD(kthvalue, 1),
    METHOD(median),
    METHOD(median, 0),
    METHOD(nanmedian),
    METHOD(nanmedian, 0),
    METHOD(mode),
    METHOD(quantile, 0.5),
    METHOD(quantile, x),
    METHOD(nanquantile, 0.5),
    METHOD(nanquantile, x),
    METHOD(histc),
    METHOD(bincount),
    METHOD(histogram),
    METHOD(histogram, x),
    METHOD(frexp),
    METHOD(sum_to_size, {1}),
    METHOD(cov),
    METHOD(corrcoef),
    // geometry
    METHOD(view, {1}),
    METHOD(view_dtype, kInt),
    METHOD(reshape, {1}),
    METHOD(flatten),
    METHOD(transpose, 0, 1),
    METHOD(t),
    METHOD(permute, {0}),
    METHOD(squeeze),
    METHOD(squeeze, 0),
    METHOD(unsqueeze, 0),
    METHOD(expand, {1}),
    METHOD(select, 0, 0),
    METHOD(narrow, 0, 0, 1),
    METHOD(slice),
    METHOD(as_strided, {1}, {1}),
    METHOD(as_strided_scatter, x, {1}, {1}),
    METHOD(chunk, 2),
    // masks, index tensors and scattering
    METHOD(where, x, 1),
    METHOD(masked_fill, x, 1),
    METHOD(masked_fill, x, x),
    METHOD(masked_select, x),
    METHOD(masked_scatter, x, x),
    METHOD(nonzero),
    METHOD(argwhere),
    METHOD(index_put, {x}, x),
    METHOD(take, x),
    METHOD(take_along_dim, x),
    METHOD(put, x, x),
    METHOD(index_copy, 0, x, x),
    METHOD(index_fill, 0, x, 1),
    METHOD(index_fill, 0, x, x),
    METHOD(index_reduce, 0, x, x, "prod"),
    METHOD(scatter, 0, x, x),
    METHOD(scatter, 0, x, 1),
    METHOD(scatter, 0, x, x, "add"),
    METHOD(scatter, 0, x, 1, "add"),
    METHOD(scatter_reduce, 0, x, x, "sum"),
    // rearrangements and parts
    METHOD(squeeze, {0, 1}),
    METHOD(broadcast_to, {1}),
    METHOD(split, 1),
    METHOD(split, {1, 1}),
    METHOD(split_with_sizes, {1}),
    METHOD(tensor_split, 2),
    METHOD(tensor_split, {1, 2}),
    METHOD(tensor_split, x),
    METHOD(hsplit, 2),
    METHOD(vsplit, 2),
    METHOD(dsplit, 2),
    METHOD(unbind),
    METHOD(flip, {0}),
    METHOD(fliplr),
    METHOD(flipud),
    METHOD(roll, 1),
    METHOD(rot90),
    METHOD(repeat, {2}),
    METHOD(tile, {2}),
    METHOD(repeat_interleave, 2),
    METHOD(repeat_interleave, x),
    METHOD(movedim, 0, 1),
    METHOD(movedim, {0}, {1}),
    METHOD(moveaxis, 0, 1),
    METHOD(swapaxes, 0, 1),
    METHOD(swapdims, 0, 1),
    METHOD(unflatten, 0, {1}),
    METHOD(ravel),
    METHOD(narrow_copy, 0, 0, 1),
    METHOD(unfold, 0, 1, 1),
    METHOD(select_scatter, x, 0, 0),
    METHOD(slice_scatter, x),
    // diagonals and samples
    METHOD(tril),
    METHOD(triu),
    METHOD(diagonal),
    METHOD(diag),
    METHOD(diag_embed),
    METHOD(diagflat),
    METHOD(diagonal_scatter, x),
    METHOD(trace),
    METHOD(bernoulli),
    METHOD(bernoulli, 0.5),
    METHOD(multinomial, 1),
    // products and layers
    METHOD(mm, x),
    METHOD(bmm, x),
    METHOD(matmul, x),
    METHOD(addmm, x, x),
    METHOD(softmax, 0),
    METHOD(log_softmax, 0),
    METHOD(gather, 0, x),
    METHOD(index_select, 0, x),
    METHOD(scatter_add, 0, x, x),
    METHOD(index_add, 0, x, x),
    METHOD(dot, x),
    METHOD(vdot, x),
    METHOD(inner, x),
    METHOD(outer, x),
    METHOD(ger, x),
    METHOD(mv, x),
    METHOD(kron, x),
    METHOD(cross, x),
    METHOD(matrix_power, 2),
    METHOD(addmv, x, x),
    METHOD(addr, x, x),
    METHOD(addbmm, x, x),
    METHOD(baddbmm, x, x),
    METHOD(dist, x),
    METHOD(renorm, 2, 0, 1),
// the methods of method_lists.inc
#define TANDEM_UNARY_METHOD(NAME) METHOD(NAME),
#define TANDEM_UNARY_IN_PLACE_METHOD(NAME)
#define TANDEM_BINARY_METHOD(NAME, TYPE) METHOD(NAME, Operand<TYPE>::of(x)),
#define TANDEM_BINARY_IN_PLACE_METHOD(NAME, TYPE)
#include "tandem/tensor/method_lists.inc"
};
#undef METHOD

/// Methods without a row here, with the reason.
const std::map<std::string, const char*> unchecked_methods = {
    {"adjoint", "alias of mT"},           {"clip", "alias of clamp"},
    {"conj", "the tensor itself"},        {"conj_physical", "the tensor itself"},
    {"divide", "alias of div"},           {"expand_as", "tested below"},
    {"reshape_as", "tested below"},       {"resolve_conj", "the tensor itself"},
    {"resolve_neg", "the tensor itself"}, {"sgn", "alias of sign"},
    {"subtract", "alias of sub"},         {"to_dense", "alias of to"},
    {"view_as", "tested below"},
};

/// The op that an alias is another name of, and that its errors name.
const std::map<std::string, const char*> aliases = {
    {"absolute", "abs"}, {"arccos", "acos"},   {"arccosh", "acosh"},    {"arcsin", "asin"},  {"arcsinh", "asinh"},
    {"arctan", "atan"},  {"arctan2", "atan2"}, {"arctanh", "atanh"},    {"clip", "clamp"},   {"divide", "div"},
    {"fix", "trunc"},    {"greater", "gt"},    {"greater_equal", "ge"}, {"less", "lt"},      {"less_equal", "le"},
    {"multiply", "mul"}, {"negative", "neg"},  {"not_equal", "ne"},     {"subtract", "sub"}, {"true_divide", "div"},
};

const char* op_of(const char* method) {
  const auto alias = aliases.find(method);
  return alias == aliases.end() ? method : alias->second;
}

BadInputs undefined_self() {
  const Tensor none;
  BadInputs rows;
  for (const Method& m : methods) rows.push_back(UNDEFINED(op_of(m.name), m.run(none)));
  return rows;
}

TEST(MethodErrors, UndefinedTensorIsRefused) {
  expect_refused(undefined_self());
  const Tensor none;
  expect_refused({UNDEFINED("expand_as", none.expand_as(ones({2}))), UNDEFINED("view_as", none.view_as(ones({2}))),
                  UNDEFINED("expand_as", ones({2}).expand_as(none)), UNDEFINED("view_as", ones({2}).view_as(none)),
                  UNDEFINED("reshape_as", none.reshape_as(ones({2}))),
                  UNDEFINED("reshape_as", ones({2}).reshape_as(none))});
}

TEST(MethodErrors, SizesOfAnotherTensorMustMatch) {
  const Tensor x = ones({2, 3}), y = ones({4});
  expect_refused({BAD_INPUT("view_as", x.view_as(y), ShapeError, "6 elements", "[2, 3]", "[4]"),
                  BAD_INPUT("reshape_as", x.reshape_as(y), ShapeError, "6 elements", "[2, 3]", "[4]"),
                  BAD_INPUT("expand_as", x.expand_as(y), ShapeError, "[2, 3]", "[4]")});
}

TEST(MethodErrors, EveryMethodHasARow) {
  std::set<std::string> names;
  for (const std::string& name : declared_functions("tensor/methods.inc")) {
    if (!name.ends_with('_')) names.insert(name);
  }
  expect_covered(names, undefined_self(), unchecked_methods);
}

}  // namespace
}  // namespace tandem::testing
