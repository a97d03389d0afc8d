// out= functions: the values of the plain op, written into existing memory.
#include "ops/bad_input.h"
#include "support/device.h"
#include "support/op_test.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/grad_mode.h"

namespace tandem::testing {

BadInputs out_bad_input() {
  const Tensor none, x = ones({2, 3}), y = ones({2, 3}), out = ones({2, 3}), small = ones({2});
  const Tensor n = ones({2, 3}, kLong), b = ones({2, 3}, kBool), weight = ones({2, 3}).requires_grad_();
  const Tensor expanded = ones({2, 1}).expand({2, 3}), elsewhere = on_another_device({2, 3});
  const Tensor a = ones({2, 4}), c = ones({4, 3}), batch = ones({1, 2, 4}), batch_c = ones({1, 4, 3});
  BadInputs rows;
  using Function = const Tensor& (*)(const Tensor&, const Tensor&, const Tensor&);
  const Function add = [](const Tensor& to, const Tensor& p, const Tensor& q) -> const Tensor& {
    return add_out(to, p, q);
  };
  const Function sub = [](const Tensor& to, const Tensor& p, const Tensor& q) -> const Tensor& {
    return sub_out(to, p, q);
  };
  const std::pair<const char*, Function> elementwise[] = {{"add_out", add},
                                                          {"sub_out", sub},
                                                          {"mul_out", mul_out},
                                                          {"div_out", div_out},
                                                          {"maximum_out", maximum_out},
                                                          {"minimum_out", minimum_out}};
  for (const auto& function : elementwise) {
    const char* const name = function.first;
    const Function& f = function.second;
    rows.push_back(BAD_INPUT(name, f(none, x, y), StateError, "out is an undefined tensor", "give it a value first"));
    rows.push_back(UNDEFINED(name, f(out, none, y)));
    rows.push_back(UNDEFINED(name, f(out, x, none)));
    rows.push_back(
        BAD_INPUT(name, f(small, x, y), ShapeError, "[2, 3]", "out is [2] f32", "out must have the same sizes"));
    rows.push_back(
        BAD_INPUT(name, f(empty({0}), x, y), ShapeError, "[2, 3]", "out is [0]", "out must have the same sizes"));
    rows.push_back(BAD_INPUT(name, f(out, x, small), ShapeError, "[2, 3]", "[2]", "do not broadcast"));
    rows.push_back(BAD_INPUT(name, f(expanded, x, y), ShapeError, "[2, 3] f32", "[1, 0]", "clone() it first"));
    rows.push_back(BAD_INPUT(name, f(n, x, y), DTypeError, "f32", "[2, 3] i64", "use an out of f32"));
    rows.push_back(BAD_INPUT(name, f(b, n, n), DTypeError, "out [2, 3] bool"));
    rows.push_back(BAD_INPUT(name, f(weight, x, y), AutogradError, "out [2, 3] f32", "requires grad", "NoGradGuard"));
    rows.push_back(BAD_INPUT(name, f(out, x, weight), AutogradError, "the operand [2, 3] f32", "requires grad",
                             "NoGradGuard", "without _out"));
    rows.push_back(ON_TWO_DEVICES(name, f(out, x, elsewhere)));
  }
  const BadInputs others = {
      BAD_INPUT("add_out", add_out(n, n, n, 0.5), DTypeError, "alpha = 0.5", "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("sub_out", sub_out(n, n, n, 0.5), DTypeError, "alpha = 0.5", "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("sub_out", sub_out(b, b, b), DTypeError, "[2, 3] bool", "logical_xor"),
      UNDEFINED("mm_out", mm_out(none, a, c)),
      UNDEFINED("mm_out", mm_out(out, none, c)),
      BAD_INPUT("mm_out", mm_out(out, c, a), ShapeError, "inner sizes differ", "[4, 3] f32", "[2, 4] f32"),
      BAD_INPUT("mm_out", mm_out(small, a, c), ShapeError, "[2, 3]", "[2]", "out must have the same sizes"),
      BAD_INPUT("mm_out", mm_out(n, a, c), DTypeError, "f32", "[2, 3] i64", "use an out of f32"),
      BAD_INPUT("mm_out", mm_out(weight, a, c), AutogradError, "out [2, 3] f32", "NoGradGuard"),
      ON_TWO_DEVICES("mm_out", mm_out(out, a, on_another_device({4, 3}))),
      UNDEFINED("bmm_out", bmm_out(none, batch, batch_c)),
      BAD_INPUT("bmm_out", bmm_out(out, batch, batch_c), ShapeError, "[1, 2, 3]", "[2, 3]",
                "out must have the same sizes"),
      BAD_INPUT("bmm_out", bmm_out(out, a, c), ShapeError, "rank 3", "[2, 4] f32"),
      UNDEFINED("matmul_out", matmul_out(none, a, c)),
      BAD_INPUT("matmul_out", matmul_out(small, a, c), ShapeError, "[2, 3]", "[2]", "out must have the same sizes"),
      UNDEFINED("addmm_out", addmm_out(none, x, a, c)),
      UNDEFINED("addmm_out", addmm_out(out, none, a, c)),
      BAD_INPUT("addmm_out", addmm_out(small, x, a, c), ShapeError, "[2, 3]", "[2]", "out must have the same sizes"),
      BAD_INPUT("addmm_out", addmm_out(out, weight, a, c), AutogradError, "the operand [2, 3] f32", "NoGradGuard"),
      UNDEFINED("sum_out", sum_out(none, x)),
      UNDEFINED("sum_out", sum_out(out, none, {0})),
      BAD_INPUT("sum_out", sum_out(small, x, {0}), ShapeError, "[3]", "[2]", "out must have the same sizes"),
      BAD_INPUT("sum_out", sum_out(ones({}, kLong), x), DTypeError, "f32", "[] i64", "use an out of f32"),
      BAD_INPUT("sum_out", sum_out(small, x, {2}), IndexError, "dimension 2", "rank 2"),
      UNDEFINED("cat_out", cat_out(none, {x, y})),
      UNDEFINED("cat_out", cat_out(out, {x, none})),
      BAD_INPUT("cat_out", cat_out(out, {}), StateError, "empty"),
      BAD_INPUT("cat_out", cat_out(out, {x, y}), ShapeError, "[4, 3]", "[2, 3]", "out must have the same sizes"),
      BAD_INPUT("cat_out", cat_out(out, {x, weight}), AutogradError, "the operand [2, 3] f32", "NoGradGuard"),
      UNDEFINED("stack_out", stack_out(none, {x, y})),
      BAD_INPUT("stack_out", stack_out(out, {x, y}), ShapeError, "[2, 2, 3]", "[2, 3]", "out must have the same sizes"),
  };
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

namespace {

class OutTest : public OpTest {};

TEST(OutErrors, BadInputIsRefused) { expect_refused(out_bad_input()); }

TEST_F(OutTest, RefusedCallKeepsOut) {
  const Tensor out = full({2, 3}, 5.0), x = ones({2, 3});
  const uint64_t version = out._version();
  EXPECT_THROWS(add_out(out, x, ones({4})), ShapeError, "add_out: ");
  EXPECT_THROWS(mm_out(out, x, x), ShapeError, "mm_out: ");
  EXPECT_THROWS(cat_out(out, {x, x}), ShapeError, "cat_out: ");
  EXPECT_TRUE(same_bits(out, full({2, 3}, 5.0)));
  EXPECT_EQ(out._version(), version);
}

/// Calls f with a dense, a strided and a differently typed floating out; each must get the values of `plain`.
template <class F>
void expect_writes(const Tensor& plain, const F& f) {
  const Tensor dense = full_like(plain, 77);
  const uint64_t version = dense._version();
  EXPECT_TRUE(f(dense).is_same(dense));
  EXPECT_TRUE(same_bits(dense, plain));
  EXPECT_GT(dense._version(), version);
  EXPECT_FALSE(dense.requires_grad());

  Dims doubled = plain.impl().sizes;
  doubled.push_back(2);
  const Tensor whole = full(doubled, 77, plain.dtype()), strided = whole.select(-1, 1);
  f(strided);
  EXPECT_TRUE(same_bits(strided, plain));
  EXPECT_TRUE(same_bits(whole.select(-1, 0), full(plain.sizes(), 77, plain.dtype()))) << "what lies between";

  if (plain.is_floating_point()) {
    const Tensor low = full(plain.sizes(), 77, kHalf);
    f(low);
    EXPECT_TRUE(same_bits(low, plain.to(kHalf)));
  }
}

TEST_F(OutTest, GivesTheValuesOfThePlainOp) {
  for (const DType t : {kFloat, kDouble, kBFloat16}) {
    const Tensor x = randn({3, 4}).to(t), y = randn({3, 4}).to(t), row = randn({4}).to(t), z = randn({4, 5}).to(t);
    expect_writes(
        add(x, y), [&](auto& out) -> auto& { return add_out(out, x, y); });
    expect_writes(
        add(x, row, 2.5), [&](auto& out) -> auto& { return add_out(out, x, row, 2.5); });
    expect_writes(
        sub(row, x, 3), [&](auto& out) -> auto& { return sub_out(out, row, x, 3); });
    expect_writes(
        mul(x, y), [&](auto& out) -> auto& { return mul_out(out, x, y); });
    expect_writes(
        div(x, y), [&](auto& out) -> auto& { return div_out(out, x, y); });
    expect_writes(
        maximum(x, y), [&](auto& out) -> auto& { return maximum_out(out, x, y); });
    expect_writes(
        minimum(x, y), [&](auto& out) -> auto& { return minimum_out(out, x, y); });
    expect_writes(
        mm(x, z), [&](auto& out) -> auto& { return mm_out(out, x, z); });
    expect_writes(
        matmul(row, z), [&](auto& out) -> auto& { return matmul_out(out, row, z); });
    expect_writes(
        bmm(x.unsqueeze(0), z.unsqueeze(0)), [&](auto& out) -> auto& {
          return bmm_out(out, x.unsqueeze(0), z.unsqueeze(0));
        });
    expect_writes(
        addmm(x, y.t().t(), ones({4, 4}, t), 0.5, 2), [&](auto& out) -> auto& {
          return addmm_out(out, x, y, ones({4, 4}, t), 0.5, 2);
        });
    expect_writes(
        sum(x), [&](auto& out) -> auto& { return sum_out(out, x); });
    expect_writes(
        sum(x, {0}, true), [&](auto& out) -> auto& { return sum_out(out, x, {0}, true); });
    expect_writes(
        cat({x, y}, 1), [&](auto& out) -> auto& {
          return cat_out(out, {x, y}, 1);
        });
    expect_writes(
        stack({x, y}, 1), [&](auto& out) -> auto& {
          return stack_out(out, {x, y}, 1);
        });
  }
}

TEST_F(OutTest, Integers) {
  const Tensor a = arange(6).view({2, 3}), b = full({2, 3}, 4);
  expect_writes(
      add(a, b, 3), [&](auto& out) -> auto& { return add_out(out, a, b, 3); });
  expect_writes(
      cat({a, b}), [&](auto& out) -> auto& {
        return cat_out(out, {a, b});
      });
  expect_writes(
      sum(a, {1}), [&](auto& out) -> auto& { return sum_out(out, a, {1}); });
  expect_writes(
      div(a, b), [&](auto& out) -> auto& { return div_out(out, a, b); });
  const Tensor narrow = zeros({2, 3}, kInt), wide = zeros({2, 3}, kDouble);  // any width, as in libtorch
  EXPECT_TRUE(same_bits(mul_out(narrow, a, b), mul(a, b).to(kInt)));
  EXPECT_TRUE(same_bits(mul_out(wide, a, b), mul(a, b).to(kDouble)));
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(add_out(zeros({}, kLong), tensor(0), tensor(1), big).item<int64_t>(), big);
}

TEST_F(OutTest, SumsIntoAWiderOutAreNotRounded) {
  const Tensor x = full({4096}, 1.0 + 0x1p-7, kBFloat16), out = zeros({});
  EXPECT_EQ(sum_out(out, x).item<float>(), 4096 + 32);
  EXPECT_EQ(sum_out(out, x, kBFloat16).item<float>(), sum(x).item<float>()) << "a dtype that the caller gave holds";
}

TEST_F(OutTest, OutMayBeAnOperand) {
  const Tensor x = randn({4, 4}), y = randn({4, 4});
  Tensor a = x.clone();
  EXPECT_TRUE(same_bits(add_out(a, a, y), x + y));
  a = x.clone();
  EXPECT_TRUE(same_bits(mul_out(a, a, a), x * x));
  a = x.clone();
  EXPECT_TRUE(same_bits(sub_out(a, y, a), y - x));
  a = x.clone();
  EXPECT_TRUE(same_bits(add_out(a, a, a.t()), x + x.t())) << "the same memory in another order";
  a = x.clone();
  EXPECT_TRUE(same_bits(mm_out(a, a, a), mm(x, x)));
  a = x.clone();
  EXPECT_TRUE(same_bits(addmm_out(a, a, a, y), addmm(x, x, y)));
  a = x.clone();
  EXPECT_TRUE(same_bits(add_out(a, a, a[0]), x + x[0])) << "a part of out, repeated";
  a = x.clone();
  EXPECT_TRUE(same_bits(cat_out(a, {a.slice(0, 2), a.slice(0, 0, 2)}), cat({x.slice(0, 2), x.slice(0, 0, 2)})));
}

TEST_F(OutTest, OutMayOverlapAnOperandInPart) {
  const int64_t n = 100000;  // more than one thread's share
  const Tensor x = randn({n});
  for (const bool forwards : {false, true}) {
    const Tensor a = x.clone(), head = a.slice(0, 0, n - 1), tail = a.slice(0, 1);
    const Tensor expected = x.slice(0, forwards ? 0 : 1, forwards ? n - 1 : n) * 2;
    add_out(forwards ? tail : head, forwards ? head : tail, forwards ? head : tail);
    EXPECT_TRUE(same_bits(forwards ? tail : head, expected));
  }
}

TEST_F(OutTest, IgnoresAutocast) {
  const Tensor x = randn({8, 8}), y = randn({8, 8}), low = x.to(kHalf), out = zeros({8, 8}),
               low_out = zeros({8, 8}, kHalf);
  const Tensor product = mm(x, y), sums = sum(low, {0});
  const amp::AutocastGuard autocast(device_type(), kBFloat16);
  EXPECT_TRUE(same_bits(mm_out(out, x, y), product));
  EXPECT_TRUE(same_bits(matmul_out(out, x, y), product));
  EXPECT_TRUE(same_bits(addmm_out(out, zeros({8, 8}), x, y), product));
  EXPECT_TRUE(same_bits(sum_out(zeros({8}, kHalf), low, {0}), sums));  // in a region `sum` computes in f32
  EXPECT_EQ(mm(x, y).dtype(), kBFloat16) << "the region goes on";
  EXPECT_THROWS(mm_out(low_out, low, y), DTypeError, "mm_out: ", ".to()", "f16", "f32");
}

TEST_F(OutTest, NothingIsRecorded) {
  const Tensor w = leaf({2, 3}), out = zeros({2, 3});
  {
    const NoGradGuard no_grad;
    EXPECT_TRUE(same_bits(add_out(out, w, w), w + w));
    EXPECT_TRUE(same_bits(cat_out(zeros({4, 3}), {w, w}), cat({w, w})));
    EXPECT_TRUE(w.is_leaf() && !out.requires_grad());
    add_out(w, w, ones({2, 3}));
  }
  EXPECT_TRUE(w.is_leaf() && w.requires_grad());
}

TEST_F(OutTest, WritesInvalidateSavedTensors) {
  const Tensor w = leaf({3}), x = ones({3});
  const Tensor y = (w * x).sum();
  add_out(x, x, x);
  EXPECT_THROWS(y.backward(), AutogradError, "mul");
}

}  // namespace
}  // namespace tandem::testing
