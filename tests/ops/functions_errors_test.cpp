// Functions of one number, activations and their in-place forms reject undefined tensors and unsupported dtypes and
// values.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct FunctionOp {
  const char* name;
  void (*run)(const Tensor&);
};
#define OP(NAME)                            \
  {                                         \
#NAME, [](const Tensor& x) { NAME(x); } \
  }
constexpr FunctionOp functions[] = {
    OP(tan),        OP(asin),        OP(acos),      OP(atan),       OP(sinh),       OP(cosh),          OP(asinh),
    OP(acosh),      OP(atanh),       OP(log2),      OP(log10),      OP(exp2),       OP(erfc),          OP(erfinv),
    OP(lgamma),     OP(digamma),     OP(trigamma),  OP(i0),         OP(special_i1), OP(sinc),          OP(logit),
    OP(trunc),      OP(frac),        OP(deg2rad),   OP(rad2deg),    OP(nan_to_num), OP(positive),      OP(signbit),
    OP(isposinf),   OP(isneginf),    OP(isreal),    OP(silu),       OP(mish),       OP(elu),           OP(selu),
    OP(celu),       OP(leaky_relu),  OP(rrelu),     OP(hardtanh),   OP(relu6),      OP(softplus),      OP(hardshrink),
    OP(softshrink), OP(hardsigmoid), OP(hardswish), OP(tanhshrink), OP(glu),        OP(gumbel_softmax)};
/// Activations that overwrite their input.
constexpr FunctionOp in_place[] = {OP(silu_), OP(mish_), OP(selu_),       OP(relu6_), OP(hardsigmoid_), OP(hardswish_),
                                   OP(elu_),  OP(celu_), OP(leaky_relu_), OP(rrelu_), OP(hardtanh_),    OP(gelu_)};
#undef OP

void add_method(BadInputs& rows, const std::string& name, void (*f)(const Tensor&)) {
  const Tensor none, weight = ones({2, 3}).requires_grad_(), repeated = ones({2, 1}).expand({2, 3});
  rows.push_back(UNDEFINED(name, f(none)));
  rows.push_back(BAD_INPUT(name, f(weight), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
  rows.push_back(BAD_INPUT(name, f(repeated), ShapeError, "[2, 3]", "expanded", "clone()"));
}

template <class Other>
void add_method(BadInputs& rows, const std::string& name, void (*f)(const Tensor&, Other)) {
  const Tensor none, x = ones({2, 3}), weight = ones({2, 3}).requires_grad_();
  const Tensor repeated = ones({2, 1}).expand({2, 3});
  if constexpr (std::is_same_v<Other, Scalar>) {
    rows.push_back(UNDEFINED(name, f(none, 2)));
    rows.push_back(BAD_INPUT(name, f(weight, 2), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
    rows.push_back(BAD_INPUT(name, f(repeated, 2), ShapeError, "[2, 3]", "expanded", "clone()"));
  } else {
    rows.push_back(UNDEFINED(name, f(none, x)));
    rows.push_back(UNDEFINED(name, f(x, none)));
    rows.push_back(BAD_INPUT(name, f(x, ones({4})), ShapeError, "[2, 3]", "[4]"));
    rows.push_back(BAD_INPUT(name, f(weight, x), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
    rows.push_back(BAD_INPUT(name, f(repeated, x), ShapeError, "[2, 3]", "expanded", "clone()"));
  }
}

/// The in-place methods of method_lists.inc.
void add_methods(BadInputs& rows) {
#define TANDEM_UNARY_METHOD(NAME) add_method(rows, #NAME "_", [](const Tensor& x) { x.NAME##_(); });
#define TANDEM_UNARY_IN_PLACE_METHOD(NAME) TANDEM_UNARY_METHOD(NAME)
#define TANDEM_BINARY_METHOD(NAME, TYPE) \
  add_method<TYPE>(rows, #NAME "_", [](const Tensor& x, TYPE other) { x.NAME##_(other); });
#define TANDEM_BINARY_IN_PLACE_METHOD(NAME, TYPE) TANDEM_BINARY_METHOD(NAME, TYPE)
#include "tandem/tensor/method_lists.inc"
}

/// The out= functions of out.inc.
void add_out_functions(BadInputs& rows) {
  const Tensor none, x = ones({2, 3}), out = ones({2, 3}), weight = ones({2, 3}).requires_grad_();
#define TANDEM_UNARY_OUT(NAME)                                    \
  rows.push_back(UNDEFINED(#NAME "_out", NAME##_out(none, x)));   \
  rows.push_back(UNDEFINED(#NAME "_out", NAME##_out(out, none))); \
  rows.push_back(BAD_INPUT(#NAME "_out", NAME##_out(weight, x), AutogradError, "out [2, 3] f32", "NoGradGuard"));
#define TANDEM_BINARY_OUT(NAME)                                      \
  rows.push_back(UNDEFINED(#NAME "_out", NAME##_out(none, x, x)));   \
  rows.push_back(UNDEFINED(#NAME "_out", NAME##_out(out, none, x))); \
  rows.push_back(UNDEFINED(#NAME "_out", NAME##_out(out, x, none))); \
  rows.push_back(BAD_INPUT(#NAME "_out", NAME##_out(weight, x, x), AutogradError, "out [2, 3] f32", "NoGradGuard"));
#include "tandem/ops/out.inc"
}

}  // namespace

BadInputs functions_bad_input() {
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), b = ones({2, 3}, kBool), out = ones({2, 3});
  const Tensor weight = ones({2, 3}).requires_grad_(), small = ones({2}), i_out = ones({2, 3}, kLong);
  BadInputs rows = {
      BAD_INPUT("frac", frac(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("round", round(n, 1), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      UNDEFINED("round", round(none, 1)),
      BAD_INPUT("round", round(x, 400), StateError, "400", "[-300, 300]"),
      BAD_INPUT("positive", positive(b), DTypeError, "[2, 3] bool"),
      BAD_INPUT("trunc", trunc(b), DTypeError, "[2, 3] bool"),
      BAD_INPUT("softplus", softplus(x, 0), StateError, "beta is 0"),
      BAD_INPUT("celu", celu(x, 0), StateError, "alpha is 0"),
      BAD_INPUT("rrelu", rrelu(x, 0.5, 0.25), StateError, "0.5", "0.25", "not above"),
      BAD_INPUT("softshrink", softshrink(x, -1), StateError, "lambda", "-1"),
      UNDEFINED("prelu", prelu(none, x)),
      UNDEFINED("prelu", prelu(x, none)),
      BAD_INPUT("prelu", prelu(x, small), ShapeError, "[2] f32", "[2, 3] f32", "1 element, or 3"),
      BAD_INPUT("prelu", prelu(n, ones({3})), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("hardtanh", hardtanh(n, -0.5, 2), DTypeError, "-0.5", "[2, 3] i64", ".to(kFloat)"),
      UNDEFINED("threshold", threshold(none, 0, 1)),
      BAD_INPUT("threshold", threshold(n, 0.5, 2), DTypeError, "0.5", "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("glu", glu(x), ShapeError, "dimension 1 of [2, 3] f32", "even"),
      BAD_INPUT("glu", glu(x, 2), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("softmin", softmin(none, 0)),
      BAD_INPUT("softmin", softmin(x, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("gumbel_softmax", gumbel_softmax(x, 0), StateError, "tau is 0", "positive"),
      UNDEFINED("threshold_", threshold_(none, 0, 1)),
      BAD_INPUT("threshold_", threshold_(weight, 0, 1), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("gelu_", gelu_(x, "erf"), StateError, "\"none\" or \"tanh\"", "\"erf\""),
      UNDEFINED("logit_", none.logit_()),
      BAD_INPUT("logit_", n.logit_(), DTypeError, "f32", "[2, 3] i64", "without the underscore"),
      UNDEFINED("round_", none.round_(1)),
      UNDEFINED("nan_to_num_", none.nan_to_num_()),
      UNDEFINED("div_", none.div_(x, "floor")),
      UNDEFINED("div_", x.div_(none, "floor")),
      UNDEFINED("div_", none.div_(2, "floor")),
      UNDEFINED("subtract_", none.subtract_(x)),
      UNDEFINED("subtract_", none.subtract_(2)),
      UNDEFINED("clamp_", none.clamp_(std::optional<Tensor>(x))),
      UNDEFINED("clamp_", x.clamp_(std::optional<Tensor>(none))),
      BAD_INPUT("clamp_", x.clamp_(std::optional<Tensor>(small)), ShapeError, "[2, 3]", "[2]"),
      UNDEFINED("clip_", none.clip_(0)),
      UNDEFINED("lerp_", none.lerp_(x, 0.5)),
      UNDEFINED("lerp_", x.lerp_(none, 0.5)),
      UNDEFINED("lerp_", x.lerp_(x, none)),
      BAD_INPUT("lerp_", x.lerp_(small, 0.5), ShapeError, "[2, 3]", "[2]"),
      BAD_INPUT("lerp_", x.lerp_(x.to(kDouble), 0.5), DTypeError, "f32", "f64"),
      BAD_INPUT("lerp_", weight.lerp_(x, 0.5), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      UNDEFINED("addcdiv_", none.addcdiv_(x, x)),
      UNDEFINED("addcdiv_", x.addcdiv_(none, x)),
      UNDEFINED("addcdiv_", x.addcdiv_(x, none)),
      BAD_INPUT("addcdiv_", n.addcdiv_(n, n), DTypeError, "[2, 3] i64", "integers", ".to(kFloat)"),
      BAD_INPUT("addcdiv_", x.addcdiv_(x, small), ShapeError, "[2, 3]", "[2]"),
      BAD_INPUT("sinh_", n.sinh_(), DTypeError, "f32", "[2, 3] i64", "without the underscore"),
      // out=
      UNDEFINED("pow_out", pow_out(out, none, 2)),
      UNDEFINED("clamp_out", clamp_out(out, none, 0)),
      UNDEFINED("where_out", where_out(out, b, none, x)),
      BAD_INPUT("where_out", where_out(small, b, x, x), ShapeError, "[2, 3]", "out is [2]"),
      UNDEFINED("lerp_out", lerp_out(out, none, x, 0.5)),
      UNDEFINED("lerp_out", lerp_out(out, x, x, none)),
      UNDEFINED("addcmul_out", addcmul_out(out, x, none, x)),
      UNDEFINED("addcdiv_out", addcdiv_out(out, x, x, none)),
      UNDEFINED("mean_out", mean_out(out, none, 0)),
      UNDEFINED("prod_out", prod_out(out, none, 0)),
      UNDEFINED("amax_out", amax_out(out, none, 0)),
      UNDEFINED("amin_out", amin_out(out, none, 0)),
      UNDEFINED("logsumexp_out", logsumexp_out(out, none, 0)),
      BAD_INPUT("sinh_out", sinh_out(small, x), ShapeError, "[2, 3]", "out is [2]", "must have the same sizes"),
      BAD_INPUT("sinh_out", sinh_out(i_out, x), DTypeError, "f32", "[2, 3] i64", "use an out of f32"),
  };
  for (const FunctionOp& op : functions) rows.push_back(UNDEFINED(op.name, op.run(none)));
  for (const FunctionOp& op : in_place) add_method(rows, op.name, op.run);
  add_methods(rows);
  add_out_functions(rows);
  return rows;
}

TEST(FunctionsErrors, BadInputIsRefused) { expect_refused(functions_bad_input()); }

}  // namespace tandem::testing
