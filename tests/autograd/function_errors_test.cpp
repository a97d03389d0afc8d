// Custom functions and checkpoints reject invalid arguments and results in forward and in backward.
#include "autograd/support.h"
#include "support/bad_input.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/function.h"

namespace tandem::testing {
namespace {

using autograd::AutogradContext;
using autograd::checkpoint;
using autograd::Function;
using autograd::variable_list;

/// Messages begin with the name of the function's type.
std::string named(const char* type) { return std::string("tandem::testing::(anonymous namespace)::") + type; }

struct Wrong : Function<Wrong> {
  enum Kind { none, too_many, for_a_number, wrong_sizes, integer, broadcast, an_extra_undefined };
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int kind) {
    ctx->saved_data["kind"] = kind;
    return x.sum();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor g = grads[0].expand({2, 1});
    switch (ctx->saved_data["kind"].to<int>()) {
      case none:
        return {};
      case too_many:
        return {g, Tensor(), g};
      case for_a_number:
        return {g, g};
      case wrong_sizes:
        return {ones({3}), Tensor()};
      case integer:
        return {ones({2, 1}, kLong), Tensor()};
      case broadcast:
        return {ones({4, 2, 3}), Tensor()};
      default:
        return {g, Tensor(), Tensor()};
    }
  }
};

TEST(FunctionErrors, MismatchedGradients) {
  const Tensor x = ones({2, 1}).requires_grad_();
  const auto run = [=](int kind) { Wrong::apply(x, kind).backward(); };
  const std::string wrong = named("Wrong");
  expect_refused({
      BAD_INPUT(wrong, run(Wrong::none), AutogradError, "0 gradients for 2 arguments", "one per argument"),
      BAD_INPUT(wrong, run(Wrong::too_many), AutogradError, "3 gradients for 2 arguments", "one per argument"),
      BAD_INPUT(wrong, run(Wrong::for_a_number), AutogradError, "argument 1", "not a tensor",
                "undefined tensor instead"),
      BAD_INPUT(wrong, run(Wrong::wrong_sizes), ShapeError, "argument 0 is [3]", "the argument is [2, 1]",
                "with the argument's sizes"),
      BAD_INPUT(wrong, run(Wrong::integer), DTypeError, "argument 0 is [2, 1] i64", "floating", ".to(kFloat)"),
  });
  EXPECT_FALSE(x.grad().defined());
  run(Wrong::an_extra_undefined);
  EXPECT_TRUE(equals(x.grad(), {1, 1}));
  x.mutable_grad() = Tensor();
  run(Wrong::broadcast);
  EXPECT_TRUE(equals(x.grad(), {12, 12})) << "summed over the broadcast dimensions";
}

struct Marks : Function<Marks> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, int kind) {
    const Tensor y = x * 2;
    if (kind == 0) ctx->mark_dirty({x});
    if (kind == 1) ctx->mark_dirty({y});
    if (kind == 2) ctx->mark_non_differentiable({x});
    if (kind == 3) return {y, Tensor()};
    return {y};
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 2, Tensor()}; }
};

TEST(FunctionErrors, InvalidMarks) {
  const Tensor x = leaf({1}) * 1;
  const std::string marks = named("Marks");
  expect_refused({
      BAD_INPUT(marks, Marks::apply(x, 0), AutogradError, "mark_dirty", "return them"),
      BAD_INPUT(marks, Marks::apply(x, 1), AutogradError, "mark_dirty", "mark the inputs"),
      BAD_INPUT(marks, Marks::apply(x, 2), AutogradError, "mark_non_differentiable", "outputs only"),
      BAD_INPUT(marks, Marks::apply(x, 3), AutogradError, "undefined tensor as output 1", "only defined ones"),
  });
}

TEST(FunctionErrors, SavedData) {
  const autograd::SavedValue number = 3, nothing;
  expect_refused({
      BAD_INPUT("saved_data", number.toDouble(), StateError, "the value is long, not double", "that was stored"),
      BAD_INPUT("saved_data", nothing.toTensor(), StateError, "empty", "Tensor"),
  });
}

TEST(FunctionErrors, Checkpoints) {
  const Tensor x = ones({4, 8}).requires_grad_();
  // A function that behaves differently on the second call.
  const auto differs = [](auto first, auto second) {
    return [=, calls = 0](const Tensor& h) mutable { return calls++ == 0 ? first(h) : second(h); };
  };
  const auto exp = [](const Tensor& h) { return h.exp(); };
  const auto exp_twice = [](const Tensor& h) { return h.exp().exp(); };
  const auto exp_of_a_row = [](const Tensor& h) { return h.narrow(0, 0, 1).exp(); };
  const auto changed = [=] {
    const Tensor h = x * 1, y = checkpoint(exp, h);
    h.detach().mul_(2);
    y.sum().backward();
  };
  expect_refused({
      BAD_INPUT("checkpoint", checkpoint(differs(exp, exp_twice), x).sum().backward(), AutogradError, "saved 1 tensors",
                "the second saved 2", "compute the same both times"),
      BAD_INPUT("checkpoint", checkpoint(differs(exp, exp_of_a_row), x).sum().backward(), AutogradError,
                "was [4, 8] f32", "is [1, 8] f32", "compute the same both times"),
      BAD_INPUT("checkpoint", changed(), AutogradError, "changed in place", "clone it"),
  });
}

}  // namespace
}  // namespace tandem::testing
