#pragma once
// Op calls in the format of differential.py: runs them on the default device and compares with PyTorch's results in the
// same line.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// The lines of TANDEM_SOAK_CALLS, or of the recorded selection.
std::vector<std::string> recorded_calls();

/// What a call gave on the default device.
struct CallResults {
  std::vector<Tensor> outputs;    ///< or, if the op writes its first input, all memory of the inputs
  std::vector<Tensor> gradients;  ///< of the inputs that require grad; undefined for those without a gradient
  std::string refusal;            ///< the error of the op or of its backward pass, or ""
};
CallResults run_call(const nlohmann::json& call);

/// Runs the call. Returns a description of how it differs from PyTorch's results, or "".
std::string check_call(const nlohmann::json& call);

/// The same with results of the call on another device: a description of how those of the default device differ, or "".
/// Each of the two may be off by the tolerance of the call, so they may differ by twice as much; where that is 0, they
/// have the same bits.
std::string difference_of_devices(const nlohmann::json& call, const CallResults& other);

/// The call without PyTorch's results, for messages.
std::string described(nlohmann::json call);

/// The op of a call: `args` are numbers by name. Throws std::out_of_range for unknown names.
std::vector<Tensor> run_op(const std::string& op, const std::vector<Tensor>& x, const nlohmann::json& args);

}  // namespace tandem::testing
