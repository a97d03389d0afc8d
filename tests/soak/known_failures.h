#pragma once
// Failures that wait for a fix: the only place where a finder is told to look away. An entry goes when its fix comes.
#include <array>
#include <string_view>

namespace tandem::testing {

struct KnownFailure {
  std::string_view finder;  ///< the child task or the test
  std::string_view input;   ///< occurs in the input's description
  std::string_view ending;  ///< occurs in how it ended; what "did not end" is not tried again
  std::string_view defect;  ///< in plain words
};

inline constexpr std::array<KnownFailure, 0> kKnownFailures = {};

}  // namespace tandem::testing
