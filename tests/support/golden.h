#pragma once
// Values computed by PyTorch and stored in tests/golden by generate.py: a manifest and one f32 file per family.
#include <string>
#include <vector>

#include "cases/cases.h"

namespace tandem::testing {

/// One output of PyTorch for f32 inputs. The values were computed in f64 and rounded to f32.
struct GoldenOutput {
  DType dtype = kFloat;
  std::vector<int64_t> sizes;
  bool requires_grad = false;
  std::vector<double> values;
};

struct Golden {
  std::vector<GoldenOutput> outputs;
  /// dL/d(input) for each input with wants_grad(), in order; L = sum of outputs . make_output_gradient. Empty if no
  /// output requires grad.
  std::vector<std::vector<double>> gradients;
};

/// Returns the golden values of a case. Throws std::runtime_error if there are none or the case has changed since they
/// were made; the message says how to make them.
Golden golden_of(const Case& c);
/// Returns the names of all cases in the manifest.
std::vector<std::string> golden_names();

}  // namespace tandem::testing
