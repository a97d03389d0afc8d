#pragma once
// Values that PyTorch computed, stored in tests/golden by generate.py: a manifest and one file of f32 per family.
#include <string>
#include <vector>

#include "cases/cases.h"

namespace tandem::testing {

/// One output as PyTorch gave it for f32 inputs; its values were computed in f64 and rounded to f32.
struct GoldenOutput {
  DType dtype = kFloat;
  std::vector<int64_t> sizes;
  bool requires_grad = false;
  std::vector<double> values;
};

struct Golden {
  std::vector<GoldenOutput> outputs;
  /// dL/d(input) for each input that wants a gradient, in order; L = sum of outputs . make_output_gradient. Empty when
  /// no output requires grad.
  std::vector<std::vector<double>> gradients;
};

/// The golden values of a case. Throws std::runtime_error when there are none, or when the case has changed since they
/// were made; the message says how to make them.
Golden golden_of(const Case& c);
/// Names of all cases in the manifest.
std::vector<std::string> golden_names();

}  // namespace tandem::testing
