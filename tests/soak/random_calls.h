#pragma once
// Op calls as differential.py writes them: run from their description, compared with PyTorch's results beside it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// The lines of TANDEM_SOAK_CALLS, or of the recorded selection.
std::vector<std::string> recorded_calls();

/// What running the call shows to be wrong, or nothing.
std::string check_call(const nlohmann::json& call);

/// The call without PyTorch's results, to read.
std::string described(nlohmann::json call);

/// The op of a call: `args` are numbers by name. Throws std::out_of_range for a name it does not know.
std::vector<Tensor> run_op(const std::string& op, const std::vector<Tensor>& x, const nlohmann::json& args);

}  // namespace tandem::testing
