// The random calls of random_ops_test.cpp on the CPU and on the CUDA device that TANDEM_TEST_DEVICE names, with tensors
// of the same sizes, strides, offsets and dtypes. The calls leave no choice among results: indices that are written
// differ, and so do numbers that are sorted without `stable`.
#include <map>

#include "soak/random_calls.h"
#include "soak/soak.h"
#include "support/device.h"
#include "tandem/cuda/math_mode.h"

namespace tandem::testing {
namespace {

CallResults run_on_cpu(const nlohmann::json& call) {
  const DefaultDeviceGuard on_host(kCPU);
  return run_call(call);
}

TEST(RandomOpsOnDevice, MatchTheCpu) {
  if (!on_cuda()) GTEST_SKIP() << "no TANDEM_TEST_DEVICE";
  const std::vector<std::string> calls = recorded_calls();
  std::map<std::string, int> failed;
  std::vector<std::string> failures;
  for (Inputs inputs(calls.size()); inputs.next() && inputs.seed() < calls.size();) {
    const nlohmann::json call = nlohmann::json::parse(calls[inputs.seed()]);
    cuda::set_deterministic(inputs.seed() % 2 == 1);  // which selects other kernels for sums by index
    std::string text;
    try {
      text = difference_of_devices(call, run_on_cpu(call));
    } catch (const std::exception& e) {
      text = std::string("exception ") + typeid(e).name() + ": " + e.what();
    }
    const std::string op = call.at("op");
    if (text.empty() || failed[op]++ >= 3) continue;  // a few per op are enough
    failures.push_back(op + ": " + text + "\nreproduce with: " + inputs.reproduction() + '\n' + described(call));
  }
  cuda::set_deterministic(false);
  for (const std::string& text : failures) ADD_FAILURE() << text;
  for (const auto& [op, times] : failed) std::printf("%s: %d calls failed\n", op.c_str(), times);
}

}  // namespace
}  // namespace tandem::testing
