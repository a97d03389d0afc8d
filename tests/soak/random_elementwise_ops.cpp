// Random calls of element-wise ops. The Python side is differential_elementwise.py.
#include "soak/random_call_ops.h"

#define TANDEM_ONE(NAME) TANDEM_OP(#NAME, NAME(x[0]))
#define TANDEM_TWO(NAME) TANDEM_OP(#NAME, NAME(x[0], x[1]))
#define TANDEM_NUMBER(NAME) TANDEM_OP(#NAME ".number", NAME(x[0], a.n("number")))

namespace tandem::testing {
namespace {

void of_one(Ops& ops) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA)
#define TANDEM_UNARY_OP(NAME, SAVED, DERIVATIVE) TANDEM_ONE(NAME);
#include "tandem/math/unary.inc"
  TANDEM_ONE(square);
  TANDEM_ONE(frac);
  TANDEM_ONE(deg2rad);
  TANDEM_ONE(rad2deg);
  TANDEM_ONE(positive);
  TANDEM_ONE(isreal);
  TANDEM_ONE(bitwise_not);
  TANDEM_OP("logit", logit(x[0], a.maybe_real("eps")));
  TANDEM_OP("round.decimals", round(x[0], a.i("decimals")));
  TANDEM_OP("nan_to_num", nan_to_num(x[0], a.maybe_real("nan"), a.maybe_real("posinf"), a.maybe_real("neginf")));
  TANDEM_OP("clamp", clamp(x[0], a.maybe_n("min"), a.maybe_n("max")));
  TANDEM_OP("clamp.tensors", clamp(x[0], std::optional<Tensor>(x[1]), std::optional<Tensor>(x[2])));
  TANDEM_OP("clip", clip(x[0], a.maybe_n("min"), a.maybe_n("max")));
  TANDEM_OP("clamp_min", clamp_min(x[0], x[1]));
  TANDEM_OP("clamp_max", clamp_max(x[0], x[1]));
  TANDEM_NUMBER(clamp_min);
  TANDEM_NUMBER(clamp_max);
}

void of_two(Ops& ops) {
  TANDEM_OP("add", add(x[0], x[1], a.n("alpha")));
  TANDEM_OP("sub", sub(x[0], x[1], a.n("alpha")));
  TANDEM_OP("rsub", rsub(x[0], x[1], a.n("alpha")));
  TANDEM_TWO(mul);
  TANDEM_TWO(div);
  TANDEM_TWO(pow);
  TANDEM_TWO(atan2);
  TANDEM_TWO(nextafter);
  TANDEM_OP("frexp", frexp(x[0]));
  TANDEM_TWO(maximum);
  TANDEM_TWO(minimum);
  TANDEM_TWO(fmax);
  TANDEM_TWO(fmin);
  TANDEM_TWO(hypot);
  TANDEM_TWO(copysign);
  TANDEM_TWO(logaddexp);
  TANDEM_TWO(logaddexp2);
  TANDEM_TWO(xlogy);
  TANDEM_TWO(heaviside);
  TANDEM_TWO(ldexp);
  TANDEM_TWO(float_power);
  TANDEM_TWO(fmod);
  TANDEM_TWO(remainder);
  TANDEM_TWO(floor_divide);
  TANDEM_OP("div.rounded", div(x[0], x[1], a.maybe_text("rounding_mode")));
  TANDEM_TWO(gcd);
  TANDEM_TWO(lcm);
  TANDEM_TWO(bitwise_and);
  TANDEM_TWO(bitwise_or);
  TANDEM_TWO(bitwise_xor);
  TANDEM_TWO(bitwise_left_shift);
  TANDEM_TWO(bitwise_right_shift);
  TANDEM_TWO(eq);
  TANDEM_TWO(ne);
  TANDEM_TWO(lt);
  TANDEM_TWO(le);
  TANDEM_TWO(gt);
  TANDEM_TWO(ge);
  TANDEM_TWO(logical_and);
  TANDEM_TWO(logical_or);
  TANDEM_TWO(logical_xor);
  TANDEM_OP("isclose", isclose(x[0], x[1], a.real("rtol"), a.real("atol"), a.flag("equal_nan")));
}

void of_a_number(Ops& ops) {
  TANDEM_NUMBER(add);
  TANDEM_NUMBER(sub);
  TANDEM_NUMBER(rsub);
  TANDEM_NUMBER(mul);
  TANDEM_NUMBER(div);
  TANDEM_NUMBER(pow);
  TANDEM_NUMBER(fmod);
  TANDEM_NUMBER(remainder);
  TANDEM_NUMBER(floor_divide);
  TANDEM_NUMBER(copysign);
  TANDEM_NUMBER(xlogy);
  TANDEM_NUMBER(float_power);
  TANDEM_NUMBER(bitwise_and);
  TANDEM_NUMBER(bitwise_or);
  TANDEM_NUMBER(bitwise_xor);
  TANDEM_NUMBER(bitwise_left_shift);
  TANDEM_NUMBER(bitwise_right_shift);
  TANDEM_NUMBER(eq);
  TANDEM_NUMBER(ne);
  TANDEM_NUMBER(lt);
  TANDEM_NUMBER(le);
  TANDEM_NUMBER(gt);
  TANDEM_NUMBER(ge);
  TANDEM_OP("pow.base", pow(a.n("number"), x[0]));
  TANDEM_OP("float_power.base", float_power(a.n("number"), x[0]));
  TANDEM_OP("xlogy.first", xlogy(a.n("number"), x[0]));
  TANDEM_OP("div.rounded_number", div(x[0], a.n("number"), a.maybe_text("rounding_mode")));
}

void of_three(Ops& ops) {
  TANDEM_OP("where", where(x[0], x[1], x[2]));
  TANDEM_OP("where.number", where(x[0], x[1], a.n("number")));
  TANDEM_OP("where.first_number", where(x[0], a.n("number"), x[1]));
  TANDEM_OP("where.numbers", where(x[0], a.n("number"), a.n("other")));
  TANDEM_OP("lerp", lerp(x[0], x[1], x[2]));
  TANDEM_OP("lerp.number", lerp(x[0], x[1], a.n("number")));
  TANDEM_OP("addcmul", addcmul(x[0], x[1], x[2], a.n("number")));
  TANDEM_OP("addcdiv", addcdiv(x[0], x[1], x[2], a.n("number")));
}

void activations(Ops& ops) {
  TANDEM_ONE(silu);
  TANDEM_ONE(mish);
  TANDEM_ONE(selu);
  TANDEM_ONE(relu6);
  TANDEM_ONE(hardsigmoid);
  TANDEM_ONE(hardswish);
  TANDEM_OP("gelu", gelu(x[0], a.text("approximate")));
  TANDEM_OP("softplus", softplus(x[0], a.n("beta"), a.n("threshold")));
  TANDEM_OP("elu", elu(x[0], a.n("alpha"), a.n("scale"), a.n("input_scale")));
  TANDEM_OP("celu", celu(x[0], a.n("alpha")));
  TANDEM_OP("leaky_relu", leaky_relu(x[0], a.n("slope")));
  TANDEM_OP("rrelu", rrelu(x[0], a.n("lower"), a.n("upper"), false));
  TANDEM_OP("prelu", prelu(x[0], x[1]));
  TANDEM_OP("hardtanh", hardtanh(x[0], a.n("min"), a.n("max")));
  TANDEM_OP("hardshrink", hardshrink(x[0], a.n("lambda")));
  TANDEM_OP("softshrink", softshrink(x[0], a.n("lambda")));
  TANDEM_OP("threshold", threshold(x[0], a.n("threshold"), a.n("value")));
  TANDEM_OP("glu", glu(x[0], a.i("dim")));
}

}  // namespace

void add_elementwise_ops(Ops& ops) {
  of_one(ops);
  of_two(ops);
  of_a_number(ops);
  of_three(ops);
  activations(ops);
}

}  // namespace tandem::testing
