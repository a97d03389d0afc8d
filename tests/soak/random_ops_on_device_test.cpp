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

/// Whether the kernels that g++ compiled are wrong for the call: they take the sine of f32 numbers by a formula for
/// numbers up to 10^8 (math/trig.h). A GPU has another one, as nvcc's PTX shows.
bool is_beyond_emulation(const nlohmann::json& call) {
  constexpr double kFar = 1e8;
  const std::string op = call.at("op"), function = op.substr(0, op.find('_'));
  if (std::getenv("TANDEM_PTX") || (function != "sin" && function != "cos" && function != "tan")) return false;
  for (const nlohmann::json& base : call.at("bases")) {
    for (const nlohmann::json& v : base.at("special")) {
      const double number = std::strtod(v.get<std::string>().c_str(), nullptr);
      if (base.at("dtype") != "f64" && std::isfinite(number) && number > kFar) return true;
    }
  }
  return false;
}

TEST(RandomOpsOnDevice, MatchTheCpu) {
  if (!on_cuda()) GTEST_SKIP() << "no TANDEM_TEST_DEVICE";
  const std::vector<std::string> calls = recorded_calls();
  std::map<std::string, int> failed;
  std::vector<std::string> failures;
  for (Inputs inputs(calls.size()); inputs.next() && inputs.seed() < calls.size();) {
    const nlohmann::json call = nlohmann::json::parse(calls[inputs.seed()]);
    if (is_beyond_emulation(call)) continue;
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
