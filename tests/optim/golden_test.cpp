// The optimizers of multi_tensor_optimizer.h against PyTorch's (tests/golden/optimizers.py): parameters over 10 steps
// with three groups, one of them added later, and the states after them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "support/counter.h"
#include "support/traces.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using namespace optim;  // NOLINT(google-build-using-namespace)

constexpr int kSteps = 10, kAdded = 5;
constexpr int64_t kCount = 5;

using Groups = std::vector<OptimizerParamGroup>;
using Make = std::function<std::unique_ptr<Optimizer>(const Tensor&, const std::vector<Tensor>&)>;

/// Makes an optimizer of two groups, the second one with its own options.
template <class O, class Options>
Make two_groups(const Options& first, const Options& second) {
  return [=](const Tensor& a, const std::vector<Tensor>& b) -> std::unique_ptr<Optimizer> {
    Groups groups;
    groups.emplace_back(std::vector<Tensor>{a});
    groups.emplace_back(b, std::make_unique<Options>(second));
    return std::make_unique<O>(groups, first);
  };
}

/// The counterpart of CASES in optimizers.py.
const std::map<std::string, Make>& cases() {
  static const std::map<std::string, Make> all = {
      {"rmsprop", two_groups<RMSprop>(RMSpropOptions(), RMSpropOptions(0.02).alpha(0.9).eps(1e-3).weight_decay(0.1))},
      {"rmsprop_momentum",
       two_groups<RMSprop>(RMSpropOptions().momentum(0.9), RMSpropOptions(0.02).momentum(0.5).maximize(true))},
      {"rmsprop_centered", two_groups<RMSprop>(RMSpropOptions().centered(true),
                                               RMSpropOptions(0.02).momentum(0.5).centered(true).weight_decay(0.1))},
      {"adagrad", two_groups<Adagrad>(AdagradOptions(), AdagradOptions(0.1).lr_decay(0.1).weight_decay(0.1).eps(1e-3))},
      {"adagrad_maximize", two_groups<Adagrad>(AdagradOptions().initial_accumulator_value(0.3),
                                               AdagradOptions(0.1).initial_accumulator_value(0.3).maximize(true))},
      {"adadelta", two_groups<Adadelta>(AdadeltaOptions(),
                                        AdadeltaOptions(0.5).rho(0.8).eps(1e-3).weight_decay(0.1).maximize(true))},
      {"adamax", two_groups<Adamax>(AdamaxOptions(),
                                    AdamaxOptions(0.05).betas({0.5, 0.8}).eps(1e-3).weight_decay(0.1).maximize(true))},
      {"nadam",
       two_groups<NAdam>(NAdamOptions(),
                         NAdamOptions(0.05).betas({0.5, 0.8}).eps(1e-3).weight_decay(0.1).momentum_decay(0.1))},
      {"nadam_decoupled",
       two_groups<NAdam>(NAdamOptions(0.1),
                         NAdamOptions().weight_decay(0.5).decoupled_weight_decay(true).maximize(true))},
      {"radam", two_groups<RAdam>(RAdamOptions(), RAdamOptions(0.05).betas({0.5, 0.8}).eps(1e-3).weight_decay(0.1))},
      {"radam_decoupled",
       two_groups<RAdam>(RAdamOptions(0.1).betas({0.9, 0.95}),
                         RAdamOptions().weight_decay(0.5).decoupled_weight_decay(true).maximize(true))},
      {"lion", two_groups<Lion>(LionOptions(), LionOptions(0.05).betas({0.5, 0.8}).weight_decay(0.5).maximize(true))},
      {"lamb",
       two_groups<LAMB>(LAMBOptions(), LAMBOptions(0.05).betas({0.5, 0.8}).eps(1e-3).weight_decay(0.5).maximize(true))},
      {"lamb_no_decay", two_groups<LAMB>(LAMBOptions().weight_decay(0), LAMBOptions(0.05).weight_decay(0))},
  };
  return all;
}

Tensor values(uint64_t seed, DType dtype) {
  std::vector<double> v;
  for (int64_t i = 0; i < kCount; ++i) v.push_back(counter_normal(seed, static_cast<uint64_t>(i)));
  return tensor(v, dtype);
}

void expect_golden(const Tensor& actual, const nlohmann::json& expected, double tolerance, const std::string& what) {
  const Tensor x = actual.detach().to(kDouble).to(kCPU).contiguous().view({-1});
  ASSERT_EQ(x.numel(), static_cast<int64_t>(expected.size())) << what;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double value = expected[static_cast<size_t>(i)].get<double>();
    ASSERT_NEAR(x[i].item<double>(), value, tolerance * std::max(1.0, std::abs(value))) << what << ", element " << i;
  }
}

void compare(const std::string& name, const nlohmann::json& golden, DType dtype, double tolerance) {
  std::vector<Tensor> params;
  for (uint64_t k = 0; k < 4; ++k) params.push_back(values(7 + k, dtype).requires_grad_());
  const auto optimizer = cases().at(name)(params[0], {params[1], params[2]});
  size_t traced = 0;
  for (int step = 0; step < kSteps; ++step) {
    if (step == kAdded) optimizer->add_param_group(OptimizerParamGroup({params[3]}));
    for (uint64_t k = 0; k < 4; ++k) {
      params[k].mutable_grad() =
          k == 2 && step < 3 ? Tensor() : values(100 + 20 * k + static_cast<uint64_t>(step), dtype);
    }
    optimizer->step();
    if (step != 0 && step != 2 && step != 5 && step != kSteps - 1) continue;
    const auto& expected = golden.at("params")[traced++];
    for (size_t k = 0; k < 4; ++k) {
      expect_golden(params[k], expected[k], tolerance,
                    name + ", step " + std::to_string(step) + ", parameter " + std::to_string(k));
    }
  }
  const StateDict state = optimizer->state_dict();
  size_t entries = 0;
  for (const auto& [number, fields] : golden.at("state").items()) {
    for (const auto& [field, expected] : fields.items()) {
      std::string key = "state.";
      key += number;
      key += '.';
      key += field;
      ASSERT_TRUE(state.contains(key)) << name << ' ' << key;
      expect_golden(state[key], expected, tolerance, name + ' ' + key);
      ++entries;
    }
  }
  for (const auto& item : state) entries -= item.key().starts_with("state.") ? 1 : 0;
  EXPECT_EQ(entries, 0U) << name << ": states that PyTorch does not have";
}

TEST(GoldenOptimizers, MatchPyTorch) {
  const nlohmann::json golden = read_traces("optimizers").at("cases");
  ASSERT_EQ(golden.size(), cases().size());
  for (const auto& [name, make] : cases()) {
    compare(name, golden.at(name), kDouble, 1e-12);
    // 10 steps with a few f32 roundings each; at first most optimizers divide by small second moments.
    compare(name, golden.at(name), kFloat, 2e-5);
  }
}

}  // namespace
}  // namespace tandem::testing
