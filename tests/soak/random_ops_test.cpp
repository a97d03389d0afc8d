// Random op calls compared with PyTorch's results, at every SIMD level of the processor: the calls that differential.py
// recorded, or those in the file TANDEM_SOAK_CALLS.
#include <map>

#include "soak/random_calls.h"
#include "soak/soak.h"
#include "support/simd_levels.h"

namespace tandem::testing {
namespace {

using RandomOps = SimdLevels;

TEST_P(RandomOps, MatchPyTorch) {
  std::map<std::string, int> known, failed;
  const std::vector<std::string> calls = recorded_calls();
  for (size_t i = 0; i < calls.size(); ++i) {
    const nlohmann::json call = nlohmann::json::parse(calls[i]);
    std::string text;
    try {
      text = check_call(call);
    } catch (const std::exception& e) {
      text = std::string("exception ") + typeid(e).name() + ": " + e.what();
    }
    if (text.empty()) continue;
    const std::string op = call.at("op"), defect = known_defect("RandomOps", described(call), text);
    if (!defect.empty()) {
      ++known[defect];
    } else if (failed[op]++ < 3) {  // a few per op are enough
      ADD_FAILURE() << "call " << i << ": " << op << ": " << text << '\n' << described(call);
    }
  }
  for (const auto& [defect, times] : known) std::printf("known, %d times: %s\n", times, defect.c_str());
  for (const auto& [op, times] : failed) std::printf("%s: %d calls failed\n", op.c_str(), times);
  EXPECT_GT(calls.size(), 0u);
}

TANDEM_AT_EVERY_SIMD_LEVEL(RandomOps);

}  // namespace
}  // namespace tandem::testing
