#pragma once
// Shared by the tests that run over the case table.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cases/cases.h"
#include "support/compare.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"

namespace tandem::testing {

/// Returns the case's name in the form that GoogleTest requires: "add_bias" for "add/bias".
inline std::string parameter_name(const ::testing::TestParamInfo<const Case*>& info) {
  std::string name = full_name(*info.param);
  for (char& c : name) {
    if (c == '/') c = '_';
  }
  return name;
}

inline void PrintTo(const Case* c, std::ostream* out) { *out << full_name(*c) << ": " << c->torch; }

/// Returns the cases that satisfy `wanted`.
inline std::vector<const Case*> cases_where(const std::function<bool(const Case&)>& wanted) {
  std::vector<const Case*> result;
  for (const Case& c : all_cases()) {
    if (wanted(c)) result.push_back(&c);
  }
  return result;
}

inline bool has_gradient(const Case& c) {
  for (const Input& input : c.inputs) {
    if (input.wants_grad()) return true;
  }
  return false;
}

/// Returns the tensors that require grad.
inline Out requiring_grad(In tensors) {
  Out result;
  for (const Tensor& x : tensors) {
    if (x.requires_grad()) result.push_back(x);
  }
  return result;
}

/// Returns dL/d(input) for each of `inputs`, L = sum of outputs . make_output_gradient; undefined if there is no
/// gradient path. Empty if no output requires grad.
inline Out gradients(In outputs, const Out& inputs) {
  Out roots, weights;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    weights.push_back(make_output_gradient(outputs[i], i));
  }
  if (roots.empty()) return {};
  return autograd::grad(roots, inputs, weights, std::nullopt, false, /*allow_unused=*/true);
}

/// Returns the values of a gradient; an undefined gradient counts as zeros.
inline std::vector<double> gradient_values(const Tensor& gradient, const Tensor& input) {
  return gradient.defined() ? values_of(gradient) : std::vector<double>(static_cast<size_t>(input.numel()), 0.0);
}

/// Returns the tolerance for an output of a case against values computed in f64.
inline Tolerance forward_tolerance(const Case& c, DType dtype, const std::vector<double>& expected) {
  if (c.sum == 0) return kExact;
  return tolerance(dtype, c.sum, c.roundings, scale_of(expected));
}

/// Returns the tolerance for gradients, which includes the roundings of the forward pass.
inline Tolerance gradient_tolerance(const Case& c, DType dtype, const std::vector<double>& expected) {
  const int roundings = c.grad_roundings > 0 ? c.grad_roundings : c.roundings + 4;
  return tolerance(dtype, std::max<int64_t>(c.sum, 1), roundings, scale_of(expected));
}

}  // namespace tandem::testing
