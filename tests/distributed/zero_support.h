#pragma once
// Training of a few parameters with equal gradients on all ranks, for the tests of ZeroRedundancyOptimizer.
#include <memory>
#include <utility>
#include <vector>

#include "distributed/models.h"
#include "support/state.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/nn/utils.h"
#include "tandem/optim/optim.h"
#include "tandem/optim/zero_redundancy_optimizer.h"

namespace tandem::testing {

inline std::vector<Tensor> make_params(DType dtype = kFloat) {
  std::vector<Tensor> params;
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{7, 5}, {5}, {11, 3}, {}, {3, 2, 4}, {6, 6}, {2}}) {
    params.push_back(numbers(sizes, static_cast<int64_t>(params.size()), dtype).requires_grad_());
  }
  return params;
}

/// Two groups, of which the second has half of the learning rate.
template <class Options>
std::vector<optim::OptimizerParamGroup> two_groups(const std::vector<Tensor>& params, Options options) {
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>(params.begin(), params.begin() + 3), std::make_unique<Options>(options));
  options.set_lr(options.get_lr() / 2);
  groups.emplace_back(std::vector<Tensor>(params.begin() + 3, params.end()), std::make_unique<Options>(options));
  return groups;
}

enum class Way { plain, scaled, clipped, accumulated };
constexpr Way kWays[] = {Way::plain, Way::scaled, Way::clipped, Way::accumulated};

inline amp::GradScaler make_scaler() {
  return amp::GradScaler(amp::GradScalerOptions().init_scale(1024).growth_interval(3));
}

/// The loss of a step: its gradients are numbers that depend on the step only.
inline Tensor loss_of(const std::vector<Tensor>& params, int64_t step) {
  Tensor loss = zeros({});
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor factor = numbers(params[i].sizes(), 100 * step + static_cast<int64_t>(i), params[i].dtype());
    loss = loss + (params[i] * factor).to(kFloat).sum();
  }
  return loss;
}

/// Runs the steps in [first, last). Scaled ones overflow in every fourth.
inline void train(optim::Optimizer& optimizer, const std::vector<Tensor>& params, int first, int last, Way way,
                  amp::GradScaler& scaler) {
  for (int step = first; step < last; ++step) {
    optimizer.zero_grad();
    if (way == Way::plain) {
      loss_of(params, step).backward();
      optimizer.step();
      continue;
    }
    if (way == Way::accumulated) scaler.scale(loss_of(params, step + 1000)).backward();
    const Tensor loss = loss_of(params, step);
    scaler.scale(step % 4 == 2 ? loss * INFINITY : loss).backward();
    if (way == Way::clipped) {
      scaler.unscale_(optimizer);
      nn::utils::clip_grad_norm_(params, 0.5);
    }
    EXPECT_EQ(scaler.step(optimizer).skipped(), step % 4 == 2);
    scaler.update();
  }
}

inline void train(optim::Optimizer& optimizer, const std::vector<Tensor>& params, int first, int last,
                  Way way = Way::plain) {
  amp::GradScaler scaler = make_scaler();
  train(optimizer, params, first, last, way, scaler);
}

/// Expects the same bits.
inline void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_EQ(difference(actual[i], expected[i]), "") << "tensor " << i;
}

}  // namespace tandem::testing
