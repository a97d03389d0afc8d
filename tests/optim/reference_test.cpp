// SGD, Adam and AdamW over 10 steps with two groups, against plain f64 transcriptions of PyTorch's documentation.
#include <gtest/gtest.h>

#include <cmath>

#include "support/counter.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

constexpr int kSteps = 10;
constexpr int64_t kCount = 37;

/// One parameter in the reference implementation.
struct Reference {
  std::vector<double> p = std::vector<double>(kCount), buffer = p, m = p, v = p, v_max = p;
  int steps = 0;
};

double gradient(int parameter, int step, int64_t i) {
  return testing::counter_normal(static_cast<uint64_t>(100 * parameter + step), static_cast<uint64_t>(i));
}

void reference_step(Reference& r, const optim::SGDOptions& o, int parameter, int step) {
  for (int64_t i = 0; i < kCount; ++i) {
    const auto at = static_cast<size_t>(i);
    double g = gradient(parameter, step, i);
    if (o.maximize()) g = -g;
    if (o.weight_decay() != 0) g += o.weight_decay() * r.p[at];
    if (o.momentum() != 0) {
      r.buffer[at] = r.steps == 0 ? g : o.momentum() * r.buffer[at] + (1 - o.dampening()) * g;
      g = o.nesterov() ? g + o.momentum() * r.buffer[at] : r.buffer[at];
    }
    r.p[at] -= o.lr() * g;
  }
  ++r.steps;
}

template <class Options>
void reference_step(Reference& r, const Options& o, int parameter, int step) {
  const auto [beta1, beta2] = o.betas();
  const double t = ++r.steps;
  for (int64_t i = 0; i < kCount; ++i) {
    const auto at = static_cast<size_t>(i);
    double g = gradient(parameter, step, i);
    if (o.maximize()) g = -g;
    if (std::is_same_v<Options, optim::AdamWOptions>) {
      r.p[at] *= 1 - o.lr() * o.weight_decay();
    } else {
      g += o.weight_decay() * r.p[at];
    }
    r.m[at] = beta1 * r.m[at] + (1 - beta1) * g;
    r.v[at] = beta2 * r.v[at] + (1 - beta2) * g * g;
    r.v_max[at] = std::max(r.v_max[at], r.v[at]);
    const double m_hat = r.m[at] / (1 - std::pow(beta1, t));
    const double v_hat = (o.amsgrad() ? r.v_max[at] : r.v[at]) / (1 - std::pow(beta2, t));
    r.p[at] -= o.lr() * m_hat / (std::sqrt(v_hat) + o.eps());
  }
}

/// Compares three parameters in two groups; the last one has gradients, and so steps, only from the fourth step on.
template <class Optimizer, class Options>
void compare(const Options& first, const Options& second, DType dtype, double tolerance) {
  std::vector<Tensor> params;
  std::vector<Reference> references(3);
  for (uint64_t k = 0; k < 3; ++k) {
    std::vector<double> start(kCount);
    for (size_t i = 0; i < start.size(); ++i) start[i] = testing::counter_normal(7 + k, i);
    references[k].p = start;
    params.push_back(tensor(start, dtype).requires_grad_());
  }
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{params[0]});
  groups.emplace_back(std::vector<Tensor>{params[1], params[2]}, std::make_unique<Options>(second));
  Optimizer optimizer(groups, first);
  for (int step = 0; step < kSteps; ++step) {
    for (int k = 0; k < 3; ++k) {
      if (k == 2 && step < 3) continue;
      std::vector<double> g(kCount);
      for (int64_t i = 0; i < kCount; ++i) g[static_cast<size_t>(i)] = gradient(k, step, i);
      params[static_cast<size_t>(k)].mutable_grad() = tensor(g, dtype);
      reference_step(references[static_cast<size_t>(k)], k == 0 ? first : second, k, step);
    }
    optimizer.step();
  }
  for (size_t k = 0; k < 3; ++k) {
    const Tensor p = params[k].detach().to(kDouble);
    for (int64_t i = 0; i < kCount; ++i) {
      const double expected = references[k].p[static_cast<size_t>(i)];
      ASSERT_NEAR(p[i].item<double>(), expected, tolerance * std::max(1.0, std::abs(expected)))
          << "parameter " << k << ", element " << i << ", " << name(dtype);
    }
  }
}

template <class Optimizer, class Options>
void compare(const Options& first, const Options& second) {
  compare<Optimizer>(first, second, kDouble, 1e-13);
  // 10 steps with a few f32 roundings each; at first Adam divides by small second moments.
  compare<Optimizer>(first, second, kFloat, 2e-5);
}

TEST(SGD, MatchesTheFormulas) {
  using optim::SGDOptions;
  compare<optim::SGD>(SGDOptions(0.1), SGDOptions(0.02).weight_decay(0.1));
  compare<optim::SGD>(SGDOptions(0.1).momentum(0.9), SGDOptions(0.02).momentum(0.8).dampening(0.3).weight_decay(0.1));
  compare<optim::SGD>(SGDOptions(0.1).momentum(0.9).nesterov(true), SGDOptions(0.02).momentum(0.5).maximize(true));
}

TEST(Adam, MatchesTheFormulas) {
  using optim::AdamOptions;
  compare<optim::Adam>(AdamOptions(), AdamOptions(0.01).betas({0.5, 0.9}).weight_decay(0.1));
  compare<optim::Adam>(AdamOptions(0.1).eps(1e-3).amsgrad(true), AdamOptions(0.01).maximize(true));
}

TEST(AdamW, MatchesTheFormulas) {
  using optim::AdamWOptions;
  compare<optim::AdamW>(AdamWOptions(), AdamWOptions(0.01).betas({0.5, 0.9}).weight_decay(0.1));
  compare<optim::AdamW>(AdamWOptions(0.1).eps(1e-3).amsgrad(true), AdamWOptions(0.01).maximize(true));
}

TEST(Adam, KeepsItsStateByParameter) {
  const Tensor p = ones({3}).requires_grad_();
  optim::Adam adam({p}, optim::AdamOptions(0.1).amsgrad(true));
  EXPECT_TRUE(adam.state().empty());
  p.mutable_grad() = full({3}, 2.0);
  adam.step();
  adam.step();
  const auto& state = static_cast<const optim::AdamParamState&>(*adam.state().at(&p.impl()));
  EXPECT_EQ(state.step().item<float>(), 2);
  EXPECT_FLOAT_EQ(state.exp_avg()[0].item<float>(), static_cast<float>(2 * (1 - 0.9 * 0.9)));
  EXPECT_FLOAT_EQ(state.exp_avg_sq()[0].item<float>(), static_cast<float>(4 * (1 - 0.999 * 0.999)));
  EXPECT_EQ(state.max_exp_avg_sq()[0].item<float>(), state.exp_avg_sq()[0].item<float>());
  optim::AdamW adamw({p});
  adamw.step();
  const auto& other = static_cast<const optim::AdamWParamState&>(*adamw.state().at(&p.impl()));
  EXPECT_FALSE(other.max_exp_avg_sq().defined());
  // If amsgrad is enabled later, its maximum starts then.
  static_cast<optim::AdamWOptions&>(adamw.param_groups()[0].options()).amsgrad(true);
  adamw.step();
  EXPECT_EQ(other.max_exp_avg_sq()[0].item<float>(), other.exp_avg_sq()[0].item<float>());
}

}  // namespace
}  // namespace tandem
