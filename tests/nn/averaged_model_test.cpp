// AveragedModel against averages in plain f64 loops, and update_bn against the statistics of all batches.
#include "tandem/nn/averaged_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/bad_input.h"
#include "support/state.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using nn::AveragedModel;
using nn::AveragedModelOptions;

struct NetImpl : nn::Module {
  NetImpl() : fc(register_module("fc", nn::Linear(3, 4))), norm(register_module("norm", nn::BatchNorm1d(4))) {}
  Tensor forward(const Tensor& x) { return norm(fc(x)); }
  nn::Linear fc;
  nn::BatchNorm1d norm;
};
TANDEM_MODULE(Net);

/// The values of a tensor in f64.
std::vector<double> values(const Tensor& x) {
  const Tensor flat = x.detach().to(kDouble).to(kCPU).reshape({-1});
  std::vector<double> v;
  for (int64_t i = 0; i < flat.numel(); ++i) v.push_back(flat[i].item<double>());
  return v;
}

/// Sets all parameters and floating buffers of the net to new random values.
void change(const Net& net) {
  NoGradGuard no_grad;
  for (const Tensor& p : net->parameters()) p.copy_(randn(p.sizes()));
  net->norm->running_mean.copy_(randn({4}));
  net->norm->num_batches_tracked.fill_(net->norm->num_batches_tracked.item<int64_t>() + 1);
}

/// Updates averages a few times, and compares them with `next(average, value, updates before)`.
void compare(const AveragedModelOptions& options, const std::function<double(double, double, int)>& next, DType dtype,
             double tolerance) {
  Net net, averaged;
  net->to(dtype);
  if (dtype == kDouble) averaged->to(dtype);
  change(net);
  AveragedModel model(*net, averaged.ptr(), options);
  EXPECT_EQ(difference(averaged->fc->weight, net->fc->weight.to(averaged->fc->weight.dtype())), "");
  std::vector<std::vector<double>> expected;
  for (int update = 0; update < 5; ++update) {
    change(net);
    model.update_parameters(*net);
    std::vector<Tensor> tensors = net->parameters();
    tensors.push_back(net->norm->running_mean);
    std::vector<Tensor> own = averaged->parameters();
    own.push_back(averaged->norm->running_mean);
    for (size_t k = 0; k < tensors.size(); ++k) {
      const std::vector<double> value = values(tensors[k]);
      if (update == 0) expected.push_back(value);
      const bool copied = k + 1 == tensors.size() && !options.use_buffers();
      for (size_t i = 0; i < value.size(); ++i) {
        double& e = expected[k][i];
        e = update == 0 || copied ? value[i] : next(e, value[i], update);
        ASSERT_NEAR(values(own[k])[i], e, tolerance) << k << ' ' << i << ' ' << update;
      }
    }
    EXPECT_EQ(averaged->norm->num_batches_tracked.item<int64_t>(), net->norm->num_batches_tracked.item<int64_t>());
  }
  EXPECT_EQ(model.n_averaged(), 5);
  for (const Tensor& p : averaged->parameters()) EXPECT_FALSE(p.requires_grad());
}

TEST(AveragedModel, KeepsAverages) {
  const auto ema = [](double a, double v, int) { return 0.9 * a + 0.1 * v; };
  const auto swa = [](double a, double v, int n) { return a + (v - a) / (n + 1); };
  const auto own = [](double a, double v, int n) { return (a + n * v) / 8; };
  const auto avg_fn = [](const Tensor& a, const Tensor& v, int64_t n) { return (a + v * static_cast<double>(n)) / 8; };
  for (const bool buffers : {false, true}) {
    for (const auto& [dtype, tolerance] : {std::pair{kFloat, 2e-6}, {kDouble, 1e-14}, {kBFloat16, 2e-6}}) {
      compare(AveragedModelOptions().ema_decay(0.9).use_buffers(buffers), ema, dtype, tolerance);
      compare(AveragedModelOptions().use_buffers(buffers), swa, dtype, tolerance);
      compare(AveragedModelOptions().avg_fn(avg_fn).use_buffers(buffers), own, dtype, tolerance);
    }
  }
}

TEST(AveragedModel, StateRoundTrip) {
  Net net, first, second;
  AveragedModel one(*net, first.ptr(), AveragedModelOptions().ema_decay(0.5));
  for (int i = 0; i < 3; ++i) {
    change(net);
    one.update_parameters(*net);
  }
  const StateDict state = clone(one.state_dict());
  EXPECT_EQ(state["n_averaged"].item<int64_t>(), 3);
  EXPECT_TRUE(state.contains("module.fc.weight") && state.contains("module.norm.running_mean"));
  AveragedModel other(*net, second.ptr(), AveragedModelOptions().ema_decay(0.5));
  other.load_state_dict(state);
  change(net);
  one.update_parameters(*net);
  other.update_parameters(*net);
  EXPECT_EQ(difference(one.state_dict(), other.state_dict()), "");
}

TEST(AveragedModel, UpdateRaisesVersions) {
  Net net, averaged;
  AveragedModel model(*net, averaged.ptr(), AveragedModelOptions().ema_decay(0.5));
  model.update_parameters(*net);
  const auto before = averaged->fc->weight._version();
  model.update_parameters(*net);
  EXPECT_GT(averaged->fc->weight._version(), before);
}

TEST(AveragedModelErrors, BadInput) {
  const auto net = std::make_shared<Net>(), averaged = std::make_shared<Net>();
  const auto wide = std::make_shared<nn::Linear>(3, 5), narrow = std::make_shared<nn::Linear>(3, 4);
  const auto model = std::make_shared<AveragedModel>(**net, averaged->ptr());
  const auto broken = std::make_shared<AveragedModel>(
      **net, averaged->ptr(),
      AveragedModelOptions().avg_fn([](const Tensor&, const Tensor&, int64_t) { return Tensor(); }));
  broken->update_parameters(**net);
  const auto make = [=](const std::shared_ptr<nn::Module>& second, const AveragedModelOptions& options = {}) {
    AveragedModel(**net, second, options);
  };
  const auto decay = [](double value) { return AveragedModelOptions().ema_decay(value); };
  const auto both = decay(0.5).avg_fn([](const Tensor& a, const Tensor&, int64_t) { return a; });
  expect_refused({
      BAD_INPUT("AveragedModel", make(nullptr), StateError, "null", "second instance"),
      BAD_INPUT("AveragedModel", make(net->ptr()), StateError, "the model itself", "second instance"),
      BAD_INPUT("AveragedModel", make(narrow->ptr()), StateError, "2 parameters, the model 4", "same class"),
      BAD_INPUT("AveragedModel", AveragedModel(**narrow, wide->ptr()), StateError, "'weight' is [4, 3]", "[5, 3]"),
      BAD_INPUT("AveragedModel", make(averaged->ptr(), decay(1.5)), StateError, "ema_decay = 1.5", "[0, 1]"),
      BAD_INPUT("AveragedModel", make(averaged->ptr(), decay(NAN)), StateError, "ema_decay = nan"),
      BAD_INPUT("AveragedModel", make(averaged->ptr(), both), StateError, "one of them"),
      BAD_INPUT("update_parameters", model->update_parameters(**narrow), StateError, "4 parameters, the model 2"),
      BAD_INPUT("update_parameters", broken->update_parameters(**net), StateError, "undefined tensor", "average"),
      BAD_INPUT("load_state_dict", model->load_state_dict({}), StateError, "missing keys: 'n_averaged'"),
      BAD_INPUT("load_state_dict", model->load_state_dict({{"n_averaged", tensor(1)}}), StateError, "fc.weight"),
      BAD_INPUT("update_bn", nn::update_bn(**net, nullptr), StateError, "empty"),
  });
  EXPECT_EQ(model->n_averaged(), 0);
}

TEST(UpdateBn, AveragesTheStatisticsOfAllBatches) {
  Net net;
  net->norm->options.momentum(0.3);
  net->eval();
  std::vector<Tensor> batches;
  for (int i = 0; i < 4; ++i) batches.push_back(randn({6, 3}) * static_cast<double>(i + 1));
  net->norm->running_mean.fill_(100);
  nn::update_bn(*net, [&] {
    for (const Tensor& x : batches) {
      EXPECT_TRUE(net->norm->is_training());
      EXPECT_FALSE(net->forward(x).requires_grad());
    }
  });
  NoGradGuard no_grad;
  Tensor mean = zeros({4}), variance = zeros({4});
  for (const Tensor& x : batches) {
    const Tensor y = net->fc(x);
    mean += y.mean(0) / 4;
    variance += y.var(0) / 4;
  }
  EXPECT_LT((net->norm->running_mean - mean).abs().max().item<float>(), 1e-5F);
  EXPECT_LT((net->norm->running_var / variance - 1).abs().max().item<float>(), 1e-5F);
  EXPECT_EQ(net->norm->num_batches_tracked.item<int64_t>(), 4);
  EXPECT_EQ(net->norm->options.momentum(), 0.3);
  EXPECT_FALSE(net->is_training() || net->norm->is_training());
}

}  // namespace
}  // namespace tandem::testing
