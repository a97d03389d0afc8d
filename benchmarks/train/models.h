#pragma once
// The MLPs, the small CNN, and initial weights and data, for both libraries: the including file selects one by
// `namespace lib = tandem;` or `= torch;`. The other networks are those of the examples.
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/counter.h"

namespace bench {

/// Three square layers with ReLU, and a mean squared error.
struct Mlp : lib::nn::Module {
  explicit Mlp(int64_t width) : fc1(width, width), fc2(width, width), fc3(width, width) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  lib::Tensor loss(const lib::Tensor& x, const lib::Tensor& y) {
    return lib::nn::functional::mse_loss(fc3(lib::relu(fc2(lib::relu(fc1(x))))), y);
  }
  lib::nn::Linear fc1, fc2, fc3;
};

/// The MNIST CNN of the tutorials.
struct SimpleCnn : lib::nn::Module {
  SimpleCnn()
      : conv1(lib::nn::Conv2dOptions(1, 32, 5)),
        conv2(lib::nn::Conv2dOptions(32, 64, 5)),
        fc1(1024, 128),
        fc2(128, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  lib::Tensor loss(const lib::Tensor& x, const lib::Tensor& y) {
    lib::Tensor h = lib::relu(lib::max_pool2d(conv1(x), {2, 2}));
    h = lib::relu(lib::max_pool2d(conv2(h), {2, 2}));
    h = lib::relu(fc1(h.reshape({-1, 1024})));
    return lib::nn::functional::nll_loss(lib::log_softmax(fc2(h).to(lib::kFloat), 1), y);
  }
  lib::nn::Conv2d conv1, conv2;
  lib::nn::Linear fc1, fc2;
};

// ---- numbers from the counter-based formula, the same in both programs

/// The initial values of a parameter, uniform: weights in +-1/sqrt(fan in), biases in +-0.02, the weights of
/// normalisations in 1 +- 0.02.
class InitialValues {
 public:
  InitialValues(const std::string& name, const lib::Tensor& parameter) : seed_(tandem::testing::fnv1a(name)) {
    if (parameter.dim() == 1) {
      bound_ = 0.02;
      if (name.ends_with("weight")) center_ = 1;
    } else {
      bound_ = 1 / std::sqrt(static_cast<double>(parameter.numel()) / static_cast<double>(parameter.size(0)));
    }
  }
  float operator[](int64_t i) const {
    return static_cast<float>(center_ +
                              bound_ * (2 * tandem::testing::counter_unit(seed_, static_cast<uint64_t>(i)) - 1));
  }

 private:
  uint64_t seed_;
  double center_ = 0, bound_;
};

inline void set_initial_values(lib::nn::Module& model) {
  lib::NoGradGuard no_grad;
  for (const auto& entry : model.named_parameters()) {
    const InitialValues initial(entry.key(), entry.value());
    lib::Tensor values = lib::empty(entry.value().sizes());
    auto* v = values.data_ptr<float>();
    for (int64_t i = 0; i < values.numel(); ++i) v[i] = initial[i];
    entry.value().copy_(values);
  }
}

inline lib::Tensor normal_tensor(const char* name, int number, lib::IntArrayRef sizes) {
  const uint64_t seed = tandem::testing::fnv1a(name + std::to_string(number));
  lib::Tensor x = lib::empty(sizes);
  auto* v = x.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i)
    v[i] = static_cast<float>(tandem::testing::counter_normal(seed, static_cast<uint64_t>(i)));
  return x;
}

/// Returns a copy of images in a memory format. tandem's Tensor::to would return images of one channel as they are,
/// since their memory is the same in both formats; but convolutions choose the format of their results by the strides.
inline lib::Tensor in_format(const lib::Tensor& x, lib::MemoryFormat format) {
  return lib::empty(x.sizes(), x.options().memory_format(format)).copy_(x);
}

inline lib::Tensor class_tensor(const char* name, int number, const std::vector<int64_t>& sizes, int64_t classes) {
  const uint64_t seed = tandem::testing::fnv1a(name + std::to_string(number));
  lib::Tensor y = lib::empty(sizes, lib::kLong);
  auto* v = y.data_ptr<int64_t>();
  for (int64_t i = 0; i < y.numel(); ++i)
    v[i] = tandem::testing::counter_integer(seed, static_cast<uint64_t>(i), 0, classes);
  return y;
}

}  // namespace bench
