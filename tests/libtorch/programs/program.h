#pragma once
// What the programs share. They are written for libtorch, and give the same numbers with either library: weights, data
// and noise come from a formula, not from the library's random numbers.
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/counter.h"

namespace program {

/// About normally distributed.
inline torch::Tensor numbers(at::IntArrayRef sizes, uint64_t seed) {
  torch::Tensor x = torch::empty(sizes);
  float* p = x.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    p[i] = static_cast<float>(tandem::testing::counter_normal(seed, static_cast<uint64_t>(i)));
  }
  return x;
}

/// In [low, high).
inline torch::Tensor integers(at::IntArrayRef sizes, int64_t low, int64_t high, uint64_t seed) {
  torch::Tensor x = torch::empty(sizes, torch::kLong);
  int64_t* p = x.data_ptr<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    p[i] = tandem::testing::counter_integer(seed, static_cast<uint64_t>(i), low, high);
  }
  return x;
}

/// Replaces the initial weights: about normal, scaled by the number of inputs. Biases become 0, factors of norms 1.
inline void set_weights(torch::nn::Module& module, uint64_t seed) {
  torch::NoGradGuard no_grad;
  for (const auto& item : module.named_parameters()) {
    torch::Tensor p = item.value();
    if (p.dim() > 1) {
      const double fan_in = static_cast<double>(p.numel()) / static_cast<double>(p.size(0));
      p.copy_(numbers(p.sizes(), seed) / std::sqrt(fan_in));
    } else {
      p.fill_(item.key().find("weight") != std::string::npos ? 1 : 0);
    }
    ++seed;
  }
}

inline void report(const std::string& name, double value) { std::printf("%s %.9g\n", name.c_str(), value); }
inline void report(const std::string& name, const torch::Tensor& x) { report(name, x.item<double>()); }
inline void report_step(int64_t step, const torch::Tensor& loss) { report("step " + std::to_string(step), loss); }

}  // namespace program
