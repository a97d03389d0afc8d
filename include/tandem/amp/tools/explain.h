#pragma once
// explain: tells by which rule the tensors of an op got their dtypes.
#include <concepts>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/amp/policy.h"
#include "tandem/base/dtype.h"
#include "tandem/tensor/default_device.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Why the tensors of one call of an op have their dtypes.
struct Explanation {
  std::string op;
  std::string rule;                 ///< the policy in force and its origin
  std::vector<std::string> inputs;  ///< one line per input
  std::string result;               ///< the dtype of the result and its reason, or why there is no result

  std::string str() const;
};

/// Explains what the policy in force on this thread does with inputs of these dtypes on `device`. The answer comes from
/// an actual dispatch that stops before the op's body. Banned ops are explained too. Throws StateError for an op that
/// is not in the table (amp/policy.h), DeviceError if the device is not available.
///
///   amp::AutocastGuard autocast(kCPU);
///   std::cout << amp::explain("linear", {kFloat, kDouble});
Explanation explain(std::string_view op, const std::vector<DType>& inputs, Device device = get_default_device());
template <std::same_as<DType>... D>
Explanation explain(std::string_view op, DType first, D... more) {
  return explain(op, std::vector<DType>{first, more...});
}

/// The ops that a function called, in order, with their explanations.
struct Explanations {
  std::vector<Explanation> ops;
  std::string error;  ///< the message of a tandem::Error that ended the run, else empty

  std::string str() const;
};

/// Calls `run` on this thread and explains every op that it dispatches, including those of backward passes and in-place
/// calls. A tandem::Error thrown by `run` is caught and reported in `error`; if the failing op had reached its body, it
/// is the last op explained. Throws StateError for an empty function.
Explanations explain(const std::function<void()>& run);

/// The name of a policy as in the table: "lower", "f32", ...
std::string_view name(Cast policy);

/// Write str().
std::ostream& operator<<(std::ostream& stream, const Explanation& explanation);
std::ostream& operator<<(std::ostream& stream, const Explanations& explanations);

}  // namespace tandem::amp
#pragma GCC visibility pop
