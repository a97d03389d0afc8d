// Backward, grad, gradcheck and hooks reject tensors without history, gradients of the wrong form, and calls in the
// wrong order.
#include <cmath>

#include "autograd/support.h"
#include "support/bad_input.h"
#include "tandem/amp/custom_op.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/gradcheck.h"

namespace tandem::testing {
namespace {

using autograd::backward;
using autograd::grad;
using autograd::gradcheck;
using autograd::gradgradcheck;
using Tensors = std::vector<Tensor>;

TEST(EngineErrors, BackwardNeedsHistoryAndMatchingGradients) {
  const Tensor none, x = ones({2, 3}), w = ones({2, 3}).requires_grad_(), y = ones({5});
  expect_refused({
      BAD_INPUT("backward", none.backward(), AutogradError, "tensor 0 (undefined)", "NoGradGuard"),
      BAD_INPUT("backward", x.backward(), AutogradError, "tensor 0 [2, 3]", "does not require grad", "NoGradGuard"),
      BAD_INPUT("backward", (w * 2).backward(), AutogradError, "tensor 0", "[2, 3]", "one element", "sum() or mean()"),
      BAD_INPUT("backward", (w * 2).backward(y), ShapeError, "gradient is [5]", "tensor 0 is [2, 3]"),
      BAD_INPUT("backward", (w * 2).backward(on_another_device({2, 3})), DeviceError, "gradient is on cuda",
                "tensor 0 is on cpu", ".to(device)"),
      BAD_INPUT("backward", backward({}), AutogradError, "no tensors were given", "at least one"),
      BAD_INPUT("backward", backward({none}), AutogradError, "tensor 0 (undefined)"),
      BAD_INPUT("backward", backward({w * 2, x}, {x, x}), AutogradError, "tensor 1 [2, 3]", "does not require grad"),
      BAD_INPUT("backward", backward({w * 2}, {x, x}), AutogradError, "1 tensors but 2 gradients", "one for each"),
      BAD_INPUT("backward", backward({w * 2, w * 3}, {x}), AutogradError, "2 tensors but 1 gradients", "one for each"),
      BAD_INPUT("backward", backward({w * 2, w * 3}, {x, y}), ShapeError, "gradient is [5]", "tensor 1 is [2, 3]"),
  });
  EXPECT_FALSE(w.grad().defined()) << "a refused backward leaves no gradient";
}

TEST(EngineErrors, GradNeedsReachableInputs) {
  const Tensor none, x = ones({2, 3}), w = ones({2, 3}).requires_grad_(), unused = ones({4}).requires_grad_();
  const Tensor loss = (w * 2).sum(), y = ones({5});
  expect_refused({
      BAD_INPUT("grad", grad({none}, {w}), AutogradError, "tensor 0 (undefined)"),
      BAD_INPUT("grad", grad({x}, {w}), AutogradError, "tensor 0 [2, 3]", "does not require grad"),
      BAD_INPUT("grad", grad({loss}, {none}), AutogradError, "input 0 (undefined)", "requires_grad_()"),
      BAD_INPUT("grad", grad({loss}, {w, x}), AutogradError, "input 1 [2, 3]", "requires_grad_()"),
      BAD_INPUT("grad", grad({loss}, {w, unused}, {}, true), AutogradError, "input 1 [4]", "allow_unused"),
      BAD_INPUT("grad", grad({}, {w}), AutogradError, "no tensors were given", "at least one"),
      BAD_INPUT("grad", grad({loss}, {}), AutogradError, "no inputs", "whose gradients you want"),
      BAD_INPUT("grad", grad({w * 2}, {w}), AutogradError, "tensor 0", "[2, 3]", "one element"),
      BAD_INPUT("grad", grad({w * 2}, {w}, {y}), ShapeError, "gradient is [5]", "tensor 0 is [2, 3]"),
      BAD_INPUT("grad", grad({w * 2}, {w}, {x, x}), AutogradError, "1 tensors but 2 gradients", "one for each"),
  });
}

TEST(EngineErrors, AGraphRunsOnce) {
  const Tensor w = ones({2}).requires_grad_(), y = (w * w).sum();
  y.backward();
  EXPECT_THROWS(y.backward(), AutogradError, "freed", "retain_graph = true");
}

TEST(EngineErrors, GradcheckNeedsF64AndAGradient) {
  const auto square = [](const Tensors& x) { return Tensors{x[0] * x[0]}; };
  const auto narrow = [](const Tensors& x) { return Tensors{x[0].to(kFloat)}; };
  const auto constant = [](const Tensors& x) { return Tensors{x[0] > 0}; };
  // Functions whose outputs change between calls.
  const auto fickle = [] {
    return [calls = 0](const Tensors& x) mutable { return Tensors{++calls == 1 ? x[0] * 2 : x[0].narrow(0, 0, 1)}; };
  };
  const auto forgetful = [] {
    return [calls = 0](const Tensors& x) mutable { return ++calls == 1 ? Tensors{x[0] * 2} : Tensors{}; };
  };
  const double nan = std::nan("");
  const Tensor none;
  const Tensor x = ones({2}, kDouble), w = ones({2}, kDouble).requires_grad_(), f32 = ones({3}).requires_grad_();
  expect_refused({
      BAD_INPUT("gradcheck", gradcheck(square, {f32}), DTypeError, "input 0 [3] is f32", ".to(kDouble)"),
      BAD_INPUT("gradcheck", gradcheck(narrow, {w}), DTypeError, "output 0 [2] is f32", "f64"),
      BAD_INPUT("gradcheck", gradcheck(square, {x}), StateError, "no input requires grad", "requires_grad_()"),
      BAD_INPUT("gradcheck", gradcheck(square, {}), StateError, "no input requires grad", "requires_grad_()"),
      BAD_INPUT("gradcheck", gradcheck([](const Tensors&) { return Tensors{}; }, {w}), StateError, "0 outputs",
                "return"),
      BAD_INPUT("gradcheck", gradcheck([](const Tensors&) { return Tensors(2); }, {w}), StateError, "2 outputs",
                "none of them defined"),
      BAD_INPUT("gradcheck", gradcheck(nullptr, {w}), StateError, "function is empty"),
      BAD_INPUT("gradcheck", gradcheck(square, {w}, 0), StateError, "eps = 0", "above 0"),
      BAD_INPUT("gradcheck", gradcheck(square, {w}, 1e-6, -1), StateError, "atol = -1", "at least 0"),
      BAD_INPUT("gradcheck", gradcheck(square, {w}, 1e-6, 0, nan), StateError, "rtol = nan", "at least 0"),
      BAD_INPUT("gradcheck", gradcheck(square, {w}, 1e-6, 0, 0, true, nan), StateError, "nondet_tol = nan"),
      BAD_INPUT("gradcheck", gradcheck(fickle(), {w}), StateError, "output 0 is [2] f64", "then [1] f64", "same sizes"),
      BAD_INPUT("gradcheck", gradcheck(forgetful(), {w}), StateError, "output 0 is [2] f64", "then undefined"),
      BAD_INPUT("gradgradcheck", gradgradcheck(nullptr, {w}), StateError, "function is empty"),
      BAD_INPUT("gradgradcheck", gradgradcheck(square, {f32}), DTypeError, "input 0 [3] is f32", ".to(kDouble)"),
      BAD_INPUT("gradgradcheck", gradgradcheck(narrow, {w}), DTypeError, "output 0 [2] is f32", "f64"),
      BAD_INPUT("gradgradcheck", gradgradcheck(square, {x}), StateError, "no input requires grad", "requires_grad_()"),
      BAD_INPUT("gradgradcheck", gradgradcheck(constant, {w}), StateError, "no output", "requires grad"),
      BAD_INPUT("gradgradcheck", gradgradcheck(square, {w}, {none}), ShapeError, "grad_outputs 0 is undefined",
                "output 0 is [2] f64", "its sizes and dtype"),
      BAD_INPUT("gradgradcheck", gradgradcheck(square, {w}, {ones({5}, kDouble)}), ShapeError, "0 is [5] f64",
                "output 0 is [2] f64"),
      BAD_INPUT("gradgradcheck", gradgradcheck(square, {w}, {f32}), ShapeError, "0 is [3] f32", "[2] f64"),
      BAD_INPUT("gradgradcheck", gradgradcheck(square, {w}, {}, -1), StateError, "eps = -1", "above 0"),
      BAD_INPUT("gradgradcheck", gradgradcheck(square, {w}, {x, x}), StateError, "2 grad_outputs", "1 outputs",
                "one for each, or none"),
  });
}

TEST(EngineErrors, HooksAndCustomOpsReturnMatchingGradients) {
  const auto hooked = [](const Tensor& replacement) {
    const Tensor w = ones({2}).requires_grad_(), h = w * 2;
    h.register_hook([=](const Tensor&) { return replacement; });
    h.sum().backward();
  };
  const auto gradients = [](size_t count) {
    const Tensor w = ones({2}).requires_grad_();
    const Tensor y = amp::custom_op<"mine">(
        amp::Cast::keep,
        [count](const Tensor& x) {
          return Result{x.clone(), {}, [count](const Backward&) { return Grads(count, ones({2})); }};
        },
        w);
    y.sum().backward();
  };
  const auto misfit = [](const Tensor& gradient) {
    const Tensor w = ones({2}).requires_grad_();
    const Tensor y = amp::custom_op<"mine">(
        amp::Cast::keep,
        [gradient](const Tensor& x) {
          return Result{x.clone(), {}, [gradient](const Backward&) { return Grads{gradient}; }};
        },
        w);
    y.sum().backward();
  };
  const Tensor w = ones({2}).requires_grad_();
  expect_refused({
      BAD_INPUT("register_hook", w.register_hook(nullptr), AutogradError, "empty", "takes the gradient"),
      BAD_INPUT("mul", hooked(ones({5})), AutogradError, "hook", "[5] f32", "[2] f32",
                "the same sizes, dtype and device"),
      BAD_INPUT("mul", hooked(ones({2}, kLong)), AutogradError, "hook", "[2] i64", "[2] f32",
                "the same sizes, dtype and device"),
      BAD_INPUT("mul", hooked(on_another_device({2})), AutogradError, "hook", "on cuda", "on cpu",
                "the same sizes, dtype and device"),
      BAD_INPUT("mine", gradients(0), AutogradError, "0 gradients for 1 inputs", "one per input"),
      BAD_INPUT("mine", misfit(ones({5})), ShapeError, "gradient of [5]", "input of [2]", "the input's sizes"),
      BAD_INPUT("mine", misfit(on_another_device({2})), DeviceError, "on cuda", "on cpu", ".to(device)"),
      BAD_INPUT("mine", gradients(2), AutogradError, "2 gradients for 1 inputs", "one per input"),
  });
}

TEST(EngineErrors, InferenceTensorsCannotBeRecorded) {
  const Tensor w = ones({2, 3}).requires_grad_();
  Tensor x;
  {
    const InferenceMode inference;
    x = ones({2, 3});
  }
  expect_refused({BAD_INPUT("mul", x * w, AutogradError, "input 0", "InferenceMode", "clone"),
                  BAD_INPUT("matmul", matmul(w, x.t()), AutogradError, "input 1", "InferenceMode", "clone")});
}

}  // namespace
}  // namespace tandem::testing
