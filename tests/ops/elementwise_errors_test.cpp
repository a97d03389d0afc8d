// Elementwise ops reject undefined tensors, sizes that do not broadcast, tensors on two devices, and unsupported dtypes
// and values.
#include "cases/cases.h"
#include "ops/bad_input.h"
#include "tandem/math/binary.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct UnaryOp {
  const char* name;
  Tensor (*run)(const Tensor&);
};

/// Ops that leave integers unchanged and reject bool.
#define OP(NAME)                                   \
  {                                                \
#NAME, [](const Tensor& x) { return NAME(x); } \
  }
constexpr UnaryOp whole_ops[] = {OP(neg), OP(abs), OP(relu), OP(floor), OP(ceil), OP(round)};
#undef OP

struct BinaryOp {
  const char* name;
  Tensor (*run)(const Tensor&, const Tensor&);
};
#define OP(NAME)                                                       \
  {                                                                    \
#NAME, [](const Tensor& a, const Tensor& b) { return NAME(a, b); } \
  }
constexpr BinaryOp derivatives[] = {OP(relu_backward), OP(sigmoid_backward), OP(tanh_backward), OP(gelu_backward)};
#undef OP

/// Ops of a tensor and a number.
#define OP(NAME)                                      \
  {                                                   \
#NAME, [](const Tensor& x) { return NAME(x, 2); } \
  }
constexpr UnaryOp number_ops[] = {OP(add), OP(mul), OP(div), OP(pow), OP(eq), OP(ne), OP(lt), OP(le), OP(gt), OP(ge)};
#undef OP

/// Rows for the ops that are a formula, from the case table: undefined tensors and, for two operands, sizes that do not
/// broadcast and tensors on two devices.
void add_formula_rows(BadInputs& rows) {
  std::set<std::string> done;
  for (const Case& c : all_cases()) {
    const bool is_formula = kernels::unary_named(c.op) || kernels::binary_named(c.op);
    const bool is_plain = c.family == "elementwise" || c.family == "comparison";
    if (!is_formula || !is_plain || !done.insert(c.op + std::to_string(c.inputs.size())).second) continue;
    const std::vector<Tensor> inputs = make_inputs(c, kFloat);
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<Tensor> x = inputs;
      x[i] = Tensor();
      rows.push_back(UNDEFINED(c.op, c.run(x)));
    }
    if (inputs.size() != 2) continue;
    rows.push_back(BAD_INPUT(c.op, c.run({ones({2, 3}), ones({4})}), ShapeError, "[2, 3]", "[4]"));
    rows.push_back(ON_TWO_DEVICES(c.op, c.run({ones({2, 3}), on_another_device({2, 3})})));
    rows.push_back(ON_TWO_DEVICES(c.op, c.run({on_another_device({2, 3}), ones({2, 3})})));
  }
}

}  // namespace

BadInputs elementwise_bad_input() {
  const Tensor none, x = ones({2, 3}), y = ones({4}), far = on_another_device({2, 3});
  const Tensor n = ones({2, 3}, kLong), b = ones({2, 3}, kBool);
  BadInputs rows = {
      UNDEFINED("pow", pow(2, none)),
      UNDEFINED("clamp", clamp(none, 0)),
      BAD_INPUT("where", where(b, ones({1}, kUInt8), 300), StateError, "300 is outside the range of u8"),
      BAD_INPUT("where", where(b, -300, ones({1}, kUInt8)), StateError, "-300 is outside the range of u8"),
      UNDEFINED("where", where(none, x, x)),
      UNDEFINED("where", where(b, none, x)),
      UNDEFINED("where", where(b, x, none)),
      UNDEFINED("where", where(none, x, 1)),
      UNDEFINED("where", where(none, 1, x)),
      UNDEFINED("where", where(b, none, 1)),
      UNDEFINED("where", where(b, 1, none)),
      UNDEFINED("sub", sub(none, 1)),
      UNDEFINED("rsub", rsub(none, 1)),
      UNDEFINED("div", 1 / none),
      UNDEFINED("result_type", result_type(none, x)),
      UNDEFINED("result_type", result_type(x, none)),
      UNDEFINED("result_type", result_type(none, 1)),
      UNDEFINED("result_type", result_type({x, none})),
      BAD_INPUT("result_type", result_type(TensorList()), StateError, "empty", "at least one"),
      UNDEFINED("sum_to_size", sum_to_size(none, {1})),
      BAD_INPUT("sum_to_size", sum_to_size(x, {2}), ShapeError, "[2, 3] f32", "[2]", "must broadcast"),
      BAD_INPUT("sum_to_size", sum_to_size(x, {1, 2, 3}), ShapeError, "[2, 3] f32", "[1, 2, 3]", "must broadcast"),
      BAD_INPUT("sum_to_size", sum_to_size(x, {0, 3}), ShapeError, "[2, 3] f32", "[0, 3]", "must broadcast"),
      BAD_INPUT("where", where(b, y, x), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      BAD_INPUT("where", where(b, x, y), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      BAD_INPUT("where", where(b, 1, y), ShapeError, "[2, 3]", "[4]", "equal or 1"),
      BAD_INPUT("where", where(n, x, x), DTypeError, "bool", "i64", "compare it"),
      BAD_INPUT("where", where(n, x, 1), DTypeError, "bool", "i64", "compare it"),
      ON_TWO_DEVICES("where", where(b, far, x)),
      ON_TWO_DEVICES("where", where(b, x, far)),
      ON_TWO_DEVICES("where", where(on_another_device({2, 3}, kBool), x, x)),
      BAD_INPUT("sub", sub(b, b), DTypeError, "bool", "use logical_xor"),
      BAD_INPUT("sub", sub(ones({2, 3}, kLong), b), DTypeError, "bool", ".to()"),
      BAD_INPUT("sub", sub(b, 1), DTypeError, "bool", ".to()"),
      BAD_INPUT("sub", sub(ones({2, 3}), true), DTypeError, "the number is a bool", "0 or 1"),
      BAD_INPUT("rsub", 1 - b, DTypeError, "bool", "logical_not()"),
      BAD_INPUT("add", add(n, n, 2.5), DTypeError, "alpha = 2.5", "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("sub", sub(n, n, 2.5), DTypeError, "alpha = 2.5", "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("pow", pow(n, -1), StateError, "[2, 3] i64", "-1", ".to(kFloat)"),
      BAD_INPUT("clamp", clamp(x, std::optional<Scalar>(), {}), StateError, "give min, max or both"),
      BAD_INPUT("gelu", gelu(x, "erf"), StateError, "\"none\" or \"tanh\"", "\"erf\""),
  };
  for (const UnaryOp& op : whole_ops) {
    rows.push_back(BAD_INPUT(op.name, op.run(b), DTypeError, "[2, 3] bool", "logical_not()", ".to()"));
  }
  for (const BinaryOp& op : derivatives) {
    rows.push_back(BAD_INPUT(op.name, op.run(ones({1}), x), ShapeError, "[1] f32", "[2, 3]"));
    rows.push_back(BAD_INPUT(op.name, op.run(n, x), DTypeError, "[2, 3] i64", ".to(kFloat)"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, n), DTypeError, "[2, 3] i64", ".to(kFloat)"));
  }
  for (const UnaryOp& op : number_ops) rows.push_back(UNDEFINED(op.name, op.run(none)));
  add_formula_rows(rows);
  return rows;
}

TEST(ElementwiseErrors, BadInputIsRefused) { expect_refused(elementwise_bad_input()); }

}  // namespace tandem::testing
