#pragma once
// Compares modules with PyTorch's: golden/modules.json, made by modules.py, which has the same cases as the tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/counter.h"
#include "support/device.h"
#include "support/traces.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/module.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

using Tensors = std::vector<Tensor>;

inline const nlohmann::json& golden_modules() {
  static const nlohmann::json all = read_traces("modules").at("cases");
  return all;
}

inline Tensor counted(uint64_t seed, IntArrayRef sizes, DType dtype, double scale = 1, double shift = 0) {
  const Tensor host = empty(sizes, TensorOptions(kDouble).device(kCPU));
  double* const values = host.data_ptr<double>();
  for (int64_t i = 0; i < host.numel(); ++i) {
    values[i] = counter_normal(seed, static_cast<uint64_t>(i)) * scale + shift;
  }
  return host.to(get_default_device(), dtype);
}

inline Tensor numbers(const char* name, IntArrayRef sizes, DType dtype) { return counted(fnv1a(name), sizes, dtype); }

inline Tensor leaf(const char* name, IntArrayRef sizes, DType dtype) {
  return numbers(name, sizes, dtype).requires_grad_();
}

/// The counterparts of the functions of modules.py.
inline void prepare(nn::Module& module, DType dtype) {
  module.to(get_default_device(), dtype);
  NoGradGuard no_grad;
  for (const auto& item : module.named_parameters()) {
    const std::string& name = item.key();
    const bool is_norm_weight = name.find("norm") != std::string::npos && name.ends_with("weight");
    item.value().copy_(counted(fnv1a(name), item.value().sizes(), dtype, 0.25, is_norm_weight ? 1 : 0));
  }
}

inline double largest_difference(const Tensor& x, const nlohmann::json& values) {
  const Tensor host = x.detach().to(kCPU, kDouble).contiguous();
  EXPECT_EQ(static_cast<size_t>(host.numel()), values.size());
  double most = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double y = host.const_data_ptr<double>()[i], expected = values[i].get<double>();
    most = std::max(most, std::abs(y - expected) / (1 + std::abs(expected)));
  }
  return most;
}

/// Compares `outputs` and the gradients of the inputs and of the module's parameters with PyTorch's.
inline void compare(const char* name, nn::Module& module, const Tensors& inputs, const Tensors& outputs, DType dtype) {
  SCOPED_TRACE(std::string(name) + " " + (dtype == kDouble ? "f64" : "f32"));
  const nlohmann::json& expected = golden_modules().at(name);
  const double tolerance = dtype == kDouble ? 1e-8 : 2e-5;
  ASSERT_EQ(outputs.size(), expected.at("outputs").size());
  Tensor loss = zeros({}, dtype);
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].sizes(), IntArrayRef(expected.at("sizes")[i].get<std::vector<int64_t>>()));
    EXPECT_EQ(outputs[i].dtype(), dtype);
    EXPECT_LT(largest_difference(outputs[i], expected.at("outputs")[i]), tolerance) << "output " << i;
    loss = loss + (outputs[i] * counted(1000 + i, outputs[i].sizes(), dtype)).sum();
  }
  loss.backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_LT(largest_difference(inputs[i].grad(), expected.at("inputs")[i]), tolerance) << "input " << i;
  }
  EXPECT_EQ(module.named_parameters().size(), expected.at("parameters").size());
  for (const auto& item : module.named_parameters()) {
    const Tensor g = item.value().grad();
    ASSERT_TRUE(g.defined()) << item.key();
    const Tensor sums = stack({(g * counted(7, g.sizes(), dtype)).sum(), g.abs().sum()});
    EXPECT_LT(largest_difference(sums, expected.at("parameters").at(item.key())), 4 * tolerance) << item.key();
  }
}

}  // namespace tandem::testing
