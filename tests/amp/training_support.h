#pragma once
// Shared by the training runs that are compared with PyTorch's traces: the MLP of tests/golden/training.py, its weights
// and batches.
#include <cmath>
#include <string>
#include <vector>

#include "support/counter.h"
#include "support/traces.h"
#include "tandem/amp/gradient_dtype.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

inline constexpr int64_t kClasses = 4;

struct Mlp : nn::Module {
  static std::vector<int64_t> inputs() { return {20}; }
  Mlp() {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  Tensor forward(const Tensor& x) { return fc3(relu(fc2(relu(fc1(x))))); }
  optim::SGD optimizer() { return optim::SGD(parameters(), optim::SGDOptions(0.01).momentum(0.9).weight_decay(1e-3)); }
  nn::Linear fc1{20, 32}, fc2{32, 32}, fc3{32, kClasses};
};

/// The counterpart of set_weights in training.py.
inline void set_weights(nn::Module& model, uint64_t seed) {
  NoGradGuard no_grad;
  for (const auto& item : model.named_parameters()) {
    const Tensor& p = item.value();
    double scale = 0x1p-4;
    if (p.dim() > 1)
      scale = std::exp2(
          std::round(std::log2(std::sqrt(2.0 * static_cast<double>(p.size(0)) / static_cast<double>(p.numel())))));
    const double shift = item.key() == "norm.weight" ? 1 : 0;
    const Tensor host = empty(p.sizes(), kCPU);
    float* values = host.data_ptr<float>();
    for (int64_t i = 0; i < p.numel(); ++i) {
      values[i] = static_cast<float>(shift + counter_normal(seed, static_cast<uint64_t>(i)) * scale);
    }
    p.copy_(host);
    ++seed;
  }
}

struct Batch {
  Tensor inputs, targets;
};

/// The counterpart of batch in training.py.
inline Batch make_batch(std::vector<int64_t> sizes, int64_t count, uint64_t seed) {
  sizes.insert(sizes.begin(), count);
  Batch b{tandem::empty(sizes, kCPU), tandem::empty({count}, TensorOptions(kLong).device(kCPU))};
  float* x = b.inputs.data_ptr<float>();
  for (int64_t i = 0; i < b.inputs.numel(); ++i) {
    x[i] = static_cast<float>(counter_normal(seed, static_cast<uint64_t>(i)));
  }
  for (int64_t n = 0; n < count; ++n) {
    double first = 0, second = 0;
    if (sizes.size() == 2) {
      first = x[n * sizes[1]];
      second = x[n * sizes[1] + 1];
    } else {
      for (int64_t i = 0; i < 64; ++i) {
        if (i / 8 < 4) first += x[n * 64 + i];
        if (i % 8 < 4) second += x[n * 64 + i];
      }
    }
    b.targets.data_ptr<int64_t>()[n] = 2 * (first > 0) + (second > 0);
  }
  return {b.inputs.to(get_default_device()), b.targets.to(get_default_device())};
}

struct Trace {
  std::vector<double> losses, scales;
  std::vector<int> skipped;
};

/// Applies PyTorch's CPU policies and its rounding of weight gradients until the end of the scope.
struct AsPyTorch {
  AsPyTorch() { amp::set_gradient_dtype(amp::GradientDType::Lower); }
  ~AsPyTorch() { amp::set_gradient_dtype(amp::GradientDType::Full); }
  amp::PolicyGuard policies{amp::torch_cpu_policy()};
};

/// Returns the largest difference between two loss curves.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

}  // namespace tandem::testing
