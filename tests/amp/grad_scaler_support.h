#pragma once
// Shared by the tests of GradScaler: a parameter with its optimizer, and an optimizer of the user.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

/// A user-defined optimizer without support for scaling: p -= g.
class PlainDescent : public optim::Optimizer {
 public:
  explicit PlainDescent(std::vector<Tensor> params)
      : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(1.0)) {}
  using Optimizer::step;
  Tensor step(LossClosure closure = nullptr) override {
    ++steps;
    NoGradGuard no_grad;
    for (const Tensor& p : parameters()) p.sub_(p.grad());
    return evaluate(closure);
  }
  int steps = 0;
};

struct GradScalerTest : ::testing::Test {
  Tensor p = full({2}, 4.0).requires_grad_();
  optim::SGD sgd{std::vector<Tensor>{p}, optim::SGDOptions(1.0)};

  void backward(amp::GradScaler& scaler, double slope = 1) {
    sgd.zero_grad();
    scaler.scale((p * slope).sum()).backward();
  }
  void iterate(amp::GradScaler& scaler, double slope = 1) {
    backward(scaler, slope);
    scaler.step(sgd);
    scaler.update();
  }
};

}  // namespace tandem::testing
