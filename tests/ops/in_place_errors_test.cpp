// In-place ops reject results that their tensor cannot hold, and tensors that must not change.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct UnaryInPlaceOp {
  const char* name;
  void (*run)(const Tensor&);
};
#define OP(NAME)                             \
  {                                          \
#NAME, [](const Tensor& x) { x.NAME(); } \
  }
constexpr UnaryInPlaceOp other_ops[] = {OP(neg_), OP(abs_), OP(relu_)};
/// Ops whose results are not integers.
constexpr UnaryInPlaceOp fractional_ops[] = {OP(reciprocal_), OP(sqrt_),    OP(rsqrt_), OP(exp_),
                                             OP(log_),        OP(sigmoid_), OP(tanh_)};
#undef OP
#define OP(NAME)                                \
  {                                             \
#NAME, [](const Tensor& x) { x.NAME(0.5); } \
  }
constexpr UnaryInPlaceOp half_ops[] = {OP(add_), OP(sub_), OP(mul_), OP(div_), OP(pow_)};
#undef OP

struct BinaryInPlaceOp {
  const char* name;
  void (*run)(const Tensor&, const Tensor&);
};
#define OP(NAME)                                               \
  {                                                            \
#NAME, [](const Tensor& x, const Tensor& y) { x.NAME(y); } \
  }
constexpr BinaryInPlaceOp binary_ops[] = {OP(add_), OP(sub_), OP(mul_), OP(div_)};
#undef OP

}  // namespace

BadInputs in_place_bad_input() {
  const Tensor none, x = ones({2, 3}), y = ones({4}), n = ones({2, 3}, kLong), b = ones({2, 3}, kBool);
  const Tensor weight = ones({2, 3}).requires_grad_(), repeated = ones({2, 1}).expand({2, 3});
  const Tensor square = ones({2, 2}), a = ones({2, 3}), c = ones({3, 2});
  BadInputs rows = {
      UNDEFINED("copy_", none.copy_(x)),
      UNDEFINED("copy_", x.copy_(none)),
      BAD_INPUT("copy_", x.copy_(y), ShapeError, "[2, 3]", "[4]"),
      BAD_INPUT("copy_", x.copy_(ones({5, 2, 3})), ShapeError, "[2, 3]", "[5, 2, 3]"),
      BAD_INPUT("copy_", weight.copy_(x), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("copy_", repeated.copy_(x), ShapeError, "[2, 3]", "clone()"),
      UNDEFINED("fill_", none.fill_(1)),
      UNDEFINED("fill_", none.fill_(x)),
      UNDEFINED("fill_", x.fill_(none)),
      BAD_INPUT("fill_", x.fill_(y), ShapeError, "[4] f32", "rank 0"),
      BAD_INPUT("fill_", n.fill_(x[0][0]), DTypeError, "[] f32", "[2, 3] i64"),
      BAD_INPUT("fill_", weight.fill_(1), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("fill_", repeated.fill_(1), ShapeError, "[2, 3]", "clone()"),
      BAD_INPUT("fill_", weight[0].fill_(1), AutogradError, "view of a leaf", "NoGradGuard"),
      BAD_INPUT("add_", b.add_(on_another_device({2, 3}, kBool)), DeviceError, "[2, 3] bool is on cpu", "on cuda",
                ".to(device)"),
      BAD_INPUT("add_", b.add_(n), DTypeError, "i64", "[2, 3] bool", "without the underscore"),
      BAD_INPUT("pow_", n.pow_(-1), StateError, "[2, 3] i64", "-1", ".to(kFloat)"),
      BAD_INPUT("fill_", n.fill_(1e19), StateError, "1e+19", "i64", "wider dtype"),
      UNDEFINED("zero_", none.zero_()),
      BAD_INPUT("zero_", weight.zero_(), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("sub_", b.sub_(b), DTypeError, "bool", "use logical_xor"),
      BAD_INPUT("sub_", ones({2, 3}).sub_(b), DTypeError, "bool", ".to()"),
      UNDEFINED("addcmul_", none.addcmul_(x, x)),
      UNDEFINED("addcmul_", x.addcmul_(none, x)),
      BAD_INPUT("addcmul_", x.addcmul_(x, y), ShapeError, "[2, 3]", "[4]"),
      BAD_INPUT("addcmul_", x.addcmul_(ones({5, 2, 3}), x), ShapeError, "[2, 3] f32", "[5, 2, 3] f32"),
      BAD_INPUT("clamp_", n.clamp_(0.5), DTypeError, "f32", "[2, 3] i64", "without the underscore"),
      BAD_INPUT("clamp_", b.clamp_(0), DTypeError, "[2, 3] bool", ".to()"),
      UNDEFINED("clamp_", none.clamp_(0)),
      BAD_INPUT("clamp_", weight.clamp_(0), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("clamp_", repeated.clamp_(0), ShapeError, "[2, 3]", "clone()"),
      UNDEFINED("addmm_", none.addmm_(a, c)),
      UNDEFINED("addmm_", square.addmm_(none, c)),
      UNDEFINED("addmm_", square.addmm_(a, none)),
      BAD_INPUT("addmm_", ones({2}).addmm_(a, c), ShapeError, "self is [2] f32", "[2, 3] f32", "[3, 2] f32"),
      BAD_INPUT("addmm_", ones({3, 2}).addmm_(a, c), ShapeError, "self is [3, 2] f32", "sizes of the product"),
      BAD_INPUT("addmm_", square.addmm_(a, a), ShapeError, "self is [2, 2] f32", "[2, 3] f32"),
      BAD_INPUT("addmm_", square.clone().requires_grad_().addmm_(a, c), AutogradError, "leaf", "[2, 2] f32",
                "NoGradGuard"),
      BAD_INPUT("addmm_", ones({2, 1}).expand({2, 2}).addmm_(a, c), ShapeError, "[2, 2]", "clone()"),
  };
  for (const BinaryInPlaceOp& op : binary_ops) {
    rows.push_back(UNDEFINED(op.name, op.run(none, x)));
    rows.push_back(UNDEFINED(op.name, op.run(x, none)));
    rows.push_back(BAD_INPUT(op.name, op.run(x, y), ShapeError, "[2, 3]", "[4]"));
    rows.push_back(BAD_INPUT(op.name, op.run(x, ones({5, 2, 3})), ShapeError, "[2, 3] f32", "[5, 2, 3] f32"));
    rows.push_back(BAD_INPUT(op.name, op.run(n, x), DTypeError, "f32", "[2, 3] i64", "without the underscore"));
    rows.push_back(BAD_INPUT(op.name, op.run(weight, x), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
    rows.push_back(BAD_INPUT(op.name, op.run(repeated, x), ShapeError, "[2, 3]", "expanded", "clone()"));
  }
  for (const UnaryInPlaceOp& op : half_ops) {
    rows.push_back(UNDEFINED(op.name, op.run(none)));
    rows.push_back(BAD_INPUT(op.name, op.run(n), DTypeError, "f32", "[2, 3] i64", "without the underscore"));
    rows.push_back(BAD_INPUT(op.name, op.run(weight), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
    rows.push_back(BAD_INPUT(op.name, op.run(repeated), ShapeError, "[2, 3]", "expanded", "clone()"));
  }
  for (const UnaryInPlaceOp& op : fractional_ops) {
    rows.push_back(UNDEFINED(op.name, op.run(none)));
    rows.push_back(BAD_INPUT(op.name, op.run(n), DTypeError, "f32", "[2, 3] i64", "without the underscore"));
    rows.push_back(BAD_INPUT(op.name, op.run(weight), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
    rows.push_back(BAD_INPUT(op.name, op.run(repeated), ShapeError, "[2, 3]", "expanded", "clone()"));
  }
  for (const UnaryInPlaceOp& op : other_ops) {
    rows.push_back(UNDEFINED(op.name, op.run(none)));
    rows.push_back(BAD_INPUT(op.name, op.run(b), DTypeError, "[2, 3] bool", ".to()"));
    rows.push_back(BAD_INPUT(op.name, op.run(weight), AutogradError, "leaf", "[2, 3] f32", "NoGradGuard"));
    rows.push_back(BAD_INPUT(op.name, op.run(repeated), ShapeError, "[2, 3]", "expanded", "clone()"));
  }
  return rows;
}

TEST(InPlaceErrors, BadInputIsRefused) { expect_refused(in_place_bad_input()); }

TEST(InPlaceErrors, RefusedCallChangesNothing) {
  const Tensor x = ones({2, 3}), n = ones({2, 3}, kLong);
  const uint64_t version = x._version();
  EXPECT_THROW(x.add_(ones({4})), ShapeError);
  EXPECT_THROW(n.mul_(0.5), DTypeError);
  EXPECT_EQ(x._version(), version);
  EXPECT_EQ(n.sum().item<int64_t>(), 6);
}

}  // namespace tandem::testing
