#pragma once
// Op calls in the format of differential.py: runs them and compares with PyTorch's results in the same line.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// The lines of TANDEM_SOAK_CALLS, or of the recorded selection.
std::vector<std::string> recorded_calls();

/// Runs the call. Returns a description of what is wrong, or "".
std::string check_call(const nlohmann::json& call);

/// The call without PyTorch's results, for messages.
std::string described(nlohmann::json call);

/// The op of a call: `args` are numbers by name. Throws std::out_of_range for unknown names.
std::vector<Tensor> run_op(const std::string& op, const std::vector<Tensor>& x, const nlohmann::json& args);

}  // namespace tandem::testing
