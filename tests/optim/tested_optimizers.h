#pragma once
// Every optimizer that supports GradScaler and master weights, for tests of what they have in common.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/optim/optim.h"

namespace tandem::testing {

struct TestedOptimizer {
  std::string name;
  double rate;  ///< a learning rate for small steps
  std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>, double lr)> make;
};

/// A kind that steps with `options`; its small rate is `rate`.
template <class O, class Options>
TestedOptimizer tested_optimizer(std::string name, double rate, Options options) {
  return {std::move(name), rate, [options](std::vector<Tensor> params, double lr) -> std::unique_ptr<optim::Optimizer> {
            Options own = options;
            own.set_lr(lr);
            return std::make_unique<O>(std::move(params), own);
          }};
}

inline const std::vector<TestedOptimizer>& tested_optimizers() {
  using namespace optim;  // NOLINT(google-build-using-namespace)
  static const std::vector<TestedOptimizer> all = {
      tested_optimizer<SGD>("SGD", 0.01, SGDOptions(1).weight_decay(0.1)),
      tested_optimizer<SGD>("SGDMomentum", 0.01, SGDOptions(1).momentum(0.9)),
      tested_optimizer<Adam>("AdamAmsgrad", 1e-3, AdamOptions().amsgrad(true)),
      tested_optimizer<AdamW>("AdamW", 1e-3, AdamWOptions()),
      tested_optimizer<AdamW>("AdamWCompact", 1e-3,
                              AdamWOptions().exp_avg_dtype(kFloat8_e4m3fn).exp_avg_sq_dtype(kBFloat16)),
      tested_optimizer<RMSprop>("RMSprop", 1e-3, RMSpropOptions().weight_decay(0.1)),
      tested_optimizer<RMSprop>("RMSpropCentered", 1e-3, RMSpropOptions().centered(true).momentum(0.5)),
      tested_optimizer<Adagrad>("Adagrad", 1e-3, AdagradOptions().lr_decay(0.1)),
      tested_optimizer<Adadelta>("Adadelta", 1, AdadeltaOptions()),
      tested_optimizer<Adamax>("Adamax", 1e-3, AdamaxOptions()),
      tested_optimizer<NAdam>("NAdam", 1e-3, NAdamOptions().weight_decay(0.1)),
      tested_optimizer<RAdam>("RAdam", 1e-3, RAdamOptions().weight_decay(0.1).decoupled_weight_decay(true)),
      tested_optimizer<Lion>("Lion", 1e-3, LionOptions().weight_decay(0.1)),
      tested_optimizer<LAMB>("LAMB", 1e-3, LAMBOptions()),
  };
  return all;
}

/// The name of a kind in those of parameterized tests, whose parameter is an index into tested_optimizers().
inline std::string tested_optimizer_name(const ::testing::TestParamInfo<size_t>& info) {
  return tested_optimizers()[info.param].name;
}
inline auto all_tested_optimizers() { return ::testing::Range(size_t{0}, tested_optimizers().size()); }

}  // namespace tandem::testing
