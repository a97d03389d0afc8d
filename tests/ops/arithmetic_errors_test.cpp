// Division with remainder, functions of two numbers, bits and ops of three operands reject undefined tensors, sizes
// that do not broadcast, unsupported dtypes, and integer division by zero.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct ArithmeticOp {
  const char* name;
  void (*run)(const Tensor&, const Tensor&);
};
#define OP(NAME)                                                \
  {                                                             \
#NAME, [](const Tensor& a, const Tensor& b) { NAME(a, b); } \
  }
/// Ops of numbers, and ops of integers.
constexpr ArithmeticOp arithmetic_ops[] = {OP(fmod),       OP(remainder), OP(floor_divide), OP(hypot), OP(fmax),
                                           OP(fmin),       OP(copysign),  OP(logaddexp),    OP(xlogy), OP(heaviside),
                                           OP(logaddexp2), OP(ldexp),     OP(float_power),  OP(rsub),  OP(clamp_min),
                                           OP(clamp_max),  OP(isclose),   OP(nextafter)};
constexpr ArithmeticOp integer_ops[] = {OP(gcd),
                                        OP(lcm),
                                        OP(bitwise_and),
                                        OP(bitwise_or),
                                        OP(bitwise_xor),
                                        OP(bitwise_left_shift),
                                        OP(bitwise_right_shift)};
#undef OP

struct NumberOp {
  const char* name;
  void (*run)(const Tensor&);
};
#define OP(NAME)                               \
  {                                            \
#NAME, [](const Tensor& x) { NAME(x, 2); } \
  }
constexpr NumberOp with_number[] = {
    OP(fmod),        OP(remainder),  OP(floor_divide), OP(copysign),           OP(xlogy),
    OP(bitwise_and), OP(bitwise_or), OP(bitwise_xor),  OP(bitwise_left_shift), OP(bitwise_right_shift),
    OP(float_power), OP(clamp_min),  OP(clamp_max)};
#undef OP

}  // namespace

BadInputs arithmetic_bad_input() {
  const Tensor none, x = ones({2, 3}), y = ones({4}), n = ones({2, 3}, kLong), b = ones({2, 3}, kBool);
  const Tensor zeros_too = tensor({1, 0, 2}), wide = ones({2, 3}, kDouble);
  BadInputs rows = {
      BAD_INPUT("fmod", fmod(n, zeros_too), StateError, "[3] i64", "contains 0"),
      BAD_INPUT("remainder", remainder(n, zeros_too), StateError, "[3] i64", "contains 0"),
      BAD_INPUT("floor_divide", floor_divide(n, zeros_too), StateError, "[3] i64", "contains 0"),
      BAD_INPUT("floor_divide", floor_divide(n, 0), StateError, "contains 0"),
      BAD_INPUT("div", div(n, zeros_too, "trunc"), StateError, "[3] i64", "contains 0"),
      BAD_INPUT("div", div(x, x, "round"), StateError, "\"trunc\" or \"floor\"", "\"round\""),
      UNDEFINED("frexp", frexp(none)),
      BAD_INPUT("frexp", frexp(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("nextafter", nextafter(n, n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      UNDEFINED("div", div(none, x, "floor")),
      UNDEFINED("div", div(x, none, "floor")),
      UNDEFINED("div", div(none, 2, "floor")),
      BAD_INPUT("fmod", fmod(b, b), DTypeError, "bool", ".to()"),
      BAD_INPUT("floor_divide", floor_divide(b, b), DTypeError, "bool", ".to()"),
      BAD_INPUT("heaviside", heaviside(x, n), DTypeError, "[2, 3] f32", "[2, 3] i64"),
      UNDEFINED("xlogy", xlogy(2, none)),
      UNDEFINED("float_power", float_power(2, none)),
      UNDEFINED("rsub", rsub(none, 1, 2)),
      BAD_INPUT("rsub", rsub(n, n, 0.5), DTypeError, "alpha = 0.5", "[2, 3] i64", ".to(kFloat)"),
      UNDEFINED("clamp", clamp(none, std::optional<Tensor>(x))),
      UNDEFINED("clamp", clamp(x, std::optional<Tensor>(none))),
      BAD_INPUT("clamp", clamp(x, std::optional<Tensor>(y)), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      BAD_INPUT("clamp", clamp(x, std::optional<Tensor>()), StateError, "give min, max or both"),
      UNDEFINED("bitwise_not", bitwise_not(none)),
      BAD_INPUT("bitwise_not", bitwise_not(x), DTypeError, "f32", ".to(kLong)"),
      BAD_INPUT("bitwise_left_shift", bitwise_left_shift(b, b), DTypeError, "bool", ".to(kLong)"),
      BAD_INPUT("gcd", gcd(b, b), DTypeError, "bool", ".to(kLong)"),
      UNDEFINED("lerp", lerp(none, x, 0.5)),
      UNDEFINED("lerp", lerp(x, none, 0.5)),
      UNDEFINED("lerp", lerp(none, x, x)),
      UNDEFINED("lerp", lerp(x, none, x)),
      UNDEFINED("lerp", lerp(x, x, none)),
      BAD_INPUT("lerp", lerp(x, wide, 0.5), DTypeError, "[2, 3] f32", "[2, 3] f64"),
      BAD_INPUT("lerp", lerp(x, x, wide), DTypeError, "[2, 3] f32", "[2, 3] f64"),
      BAD_INPUT("lerp", lerp(n, n, 0.5), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("lerp", lerp(x, y, 0.5), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      BAD_INPUT("lerp", lerp(x, x, y), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      UNDEFINED("addcmul", addcmul(none, x, x)),
      UNDEFINED("addcmul", addcmul(x, none, x)),
      UNDEFINED("addcmul", addcmul(x, x, none)),
      BAD_INPUT("addcmul", addcmul(x, x, y), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      BAD_INPUT("addcmul", addcmul(n, n, n, 0.5), DTypeError, "0.5", "integers", ".to(kFloat)"),
      BAD_INPUT("addcmul", addcmul(b, b, b), DTypeError, "bool"),
      ON_TWO_DEVICES("addcmul", addcmul(x, x, on_another_device({2, 3}))),
      UNDEFINED("addcdiv", addcdiv(none, x, x)),
      UNDEFINED("addcdiv", addcdiv(x, none, x)),
      UNDEFINED("addcdiv", addcdiv(x, x, none)),
      BAD_INPUT("addcdiv", addcdiv(x, n, n), DTypeError, "[2, 3] i64", "integers", ".to(kFloat)"),
      BAD_INPUT("addcdiv", addcdiv(x, x, y), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      BAD_INPUT("isclose", isclose(x, n), DTypeError, "[2, 3] f32", "[2, 3] i64"),
      BAD_INPUT("isclose", isclose(x, x, -1), StateError, "rtol", "-1"),
      UNDEFINED("allclose", allclose(none, x)),
      BAD_INPUT("allclose", allclose(x, y), ShapeError, "[2, 3]", "[4]"),
      UNDEFINED("equal", equal(none, x)),
      UNDEFINED("equal", equal(x, none)),
  };
  for (const ArithmeticOp& op : arithmetic_ops) {
    rows.push_back(UNDEFINED(op.name, op.run(none, x)));
    rows.push_back(UNDEFINED(op.name, op.run(x, none)));
    rows.push_back(BAD_INPUT(op.name, op.run(x, y), ShapeError, "[2, 3]", "[4]"));
  }
  for (const ArithmeticOp& op : integer_ops) {
    rows.push_back(UNDEFINED(op.name, op.run(none, n)));
    rows.push_back(UNDEFINED(op.name, op.run(n, none)));
    rows.push_back(BAD_INPUT(op.name, op.run(n, ones({4}, kLong)), ShapeError, "[2, 3]", "[4]"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, n), DTypeError, "f32", ".to(kLong)"));
  }
  for (const NumberOp& op : with_number) rows.push_back(UNDEFINED(op.name, op.run(none)));
  return rows;
}

TEST(ArithmeticErrors, BadInputIsRefused) { expect_refused(arithmetic_bad_input()); }

}  // namespace tandem::testing
