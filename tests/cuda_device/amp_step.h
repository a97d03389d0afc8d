#pragma once
// An AMP step of one layer.
#include "tandem/tandem.h"

namespace tandem::cuda::testing {

struct Step {
  Step() { linear->to(kCUDA); }
  void operator()() {
    sgd.zero_grad();
    Tensor loss;
    {
      const amp::AutocastGuard autocast(kCUDA);
      loss = linear(x).sum();
    }
    scaler.scale(loss).backward();
    scaler.step(sgd);
    scaler.update();
  }
  nn::Linear linear{4, 2};
  optim::SGD sgd{linear->parameters(), optim::SGDOptions(0.1).momentum(0.9)};
  amp::GradScaler scaler{amp::GradScalerOptions().init_scale(16)};
  Tensor x = ones({3, 4}, kCUDA);
};

}  // namespace tandem::cuda::testing
