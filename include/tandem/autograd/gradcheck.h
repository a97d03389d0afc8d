#pragma once
// gradcheck, gradgradcheck: compare the derivatives from backward with central differences. For tests.
#include <functional>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::autograd {

/// A function under test. It must be deterministic and must not change its inputs.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// For every output and input that requires grad, compares each entry of the Jacobian from backward with the numeric
/// derivative (f(x + eps) - f(x - eps)) / (2 eps). Requires |analytic - numeric| <= atol + rtol |numeric|.
///
///   autograd::gradcheck([](const std::vector<Tensor>& x) { return std::vector<Tensor>{matmul(x[0], x[1])}; },
///                       {randn({3, 4}, kDouble).requires_grad_(), randn({4, 2}, kDouble).requires_grad_()});
///
/// Also checks that two backward runs agree within `nondet_tol` and, with `check_undefined_grad`, that backward treats
/// undefined gradients of outputs as zeros. With `fast_mode`, compares one projection of each Jacobian J instead of all
/// entries: v^T J u for directions u and v, within atol |u| |v| + rtol |u| |J^T v|. That needs two evaluations per
/// input instead of two per element, and finds all but small errors. Works on copies of `inputs`, so their values and
/// `.grad` do not change. Returns true. On failure throws an AutogradError that names output, input, element and both
/// values, or returns false if `raise_exception` is false. Throws DTypeError if an input or output that requires grad
/// is not f64, StateError if no input requires grad. Source: torch.autograd.gradcheck.
bool gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs, double eps = 1e-6, double atol = 1e-5,
               double rtol = 1e-3, bool raise_exception = true, double nondet_tol = 0, bool check_undefined_grad = true,
               bool fast_mode = false);

/// Runs gradcheck on the gradients: on the function (inputs, grad_outputs) -> d(sum outputs . grad_outputs)/d(inputs),
/// computed with create_graph. `grad_outputs` has one f64 tensor per output that requires grad; if it is empty, values
/// are chosen.
/// Source: torch.autograd.gradgradcheck.
bool gradgradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& grad_outputs = {}, double eps = 1e-6, double atol = 1e-5,
                   double rtol = 1e-3, bool raise_exception = true, double nondet_tol = 0,
                   bool check_undefined_grad = true, bool fast_mode = false);

}  // namespace tandem::autograd
#pragma GCC visibility pop
