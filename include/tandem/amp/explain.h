#pragma once
// explain: by which rule an op's tensors got their dtypes.
#include <concepts>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/amp/policy.h"
#include "tandem/base/dtype.h"
#include "tandem/tensor/default_device.h"

namespace tandem::amp {

/// Why the tensors of one call of an op have their dtypes.
struct Explanation {
  std::string op;
  std::string rule;                 ///< the policy in force, and where it comes from
  std::vector<std::string> inputs;  ///< a sentence each
  std::string result;               ///< of the result, or why there is none

  std::string str() const;
};

/// What the policy that is in force on this thread does with an op's inputs of these dtypes on `device`: the answer is
/// taken from the door itself, in front of the op's body. An op that is banned is explained, too. Throws StateError for
/// an op that is not in the table (amp/policy.h), DeviceError where the device is not available.
///
///   amp::AutocastGuard autocast(kCPU);
///   std::cout << amp::explain("linear", {kFloat, kDouble});
Explanation explain(std::string_view op, const std::vector<DType>& inputs, Device device = get_default_device());
template <std::same_as<DType>... D>
Explanation explain(std::string_view op, DType first, D... more) {
  return explain(op, std::vector<DType>{first, more...});
}

/// The ops that a piece of code called, in order, each with its reasons.
struct Explanations {
  std::vector<Explanation> ops;
  std::string error;  ///< of a tandem::Error that ended the run; else empty

  std::string str() const;
};

/// Runs `run` on this thread and explains every op that passes the door, backward passes and in-place calls included. A
/// tandem::Error that `run` throws ends it and is part of the answer: the last op explained is the one that refused,
/// if it got as far as its body. Throws StateError for an empty function.
Explanations explain(const std::function<void()>& run);

/// "lower", "f32", ...: the name of a policy in the table.
std::string_view name(Cast policy);

/// These write str().
std::ostream& operator<<(std::ostream& stream, const Explanation& explanation);
std::ostream& operator<<(std::ostream& stream, const Explanations& explanations);

}  // namespace tandem::amp
