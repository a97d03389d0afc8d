#pragma once
// gradcheck, gradgradcheck: the derivatives that backward gives, against central differences. For tests.
#include <functional>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// A function under test. It must give the same outputs for the same inputs, and must not change them.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Compares, for every output that requires grad and every input that does, each entry of the Jacobian from backward
/// with the numeric (f(x + eps) - f(x - eps)) / (2 eps): |analytic - numeric| <= atol + rtol |numeric|.
///
///   autograd::gradcheck([](const std::vector<Tensor>& x) { return std::vector<Tensor>{matmul(x[0], x[1])}; },
///                       {randn({3, 4}, kDouble).requires_grad_(), randn({4, 2}, kDouble).requires_grad_()});
///
/// Also checked: two backward runs agree within `nondet_tol`, and with `check_undefined_grad` that backward takes
/// undefined gradients of outputs as zeros. Works on copies of `inputs`: their values and `.grad` stay as they are.
/// Returns true; on failure throws AutogradError naming output, input, element and both values, or returns false when
/// `raise_exception` is false. Inputs that require grad and outputs that do must be f64 (else DTypeError), and at least
/// one input must require grad (else StateError).
/// Source: torch.autograd.gradcheck.
bool gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs, double eps = 1e-6, double atol = 1e-5,
               double rtol = 1e-3, bool raise_exception = true, double nondet_tol = 0,
               bool check_undefined_grad = true);

/// gradcheck of the gradients themselves: of (inputs, grad_outputs) -> d(sum outputs . grad_outputs)/d(inputs), made
/// with create_graph. `grad_outputs`, one f64 tensor for each output that requires grad, are chosen when empty.
/// Source: torch.autograd.gradgradcheck.
bool gradgradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& grad_outputs = {}, double eps = 1e-6, double atol = 1e-5,
                   double rtol = 1e-3, bool raise_exception = true, double nondet_tol = 0,
                   bool check_undefined_grad = true);

}  // namespace tandem::autograd
