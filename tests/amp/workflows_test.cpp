// PyTorch's AMP workflows, trained for 100 steps, against the same training in f32 and against PyTorch's own losses,
// scales and skipped steps (tests/golden/workflows.py). In f16 some iterations are made to overflow.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "amp/training_support.h"
#include "support/compare.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/custom_function.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/engine.h"
#include "tandem/nn/utils.h"

namespace tandem::testing {
namespace {

using autograd::AutogradContext;
using autograd::variable_list;

const nlohmann::json& golden() {
  static const nlohmann::json g = read_traces("workflows");
  return g;
}

// ---- the counterparts of the functions and models in workflows.py

struct MyMM : amp::CustomFunction<MyMM> {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    ctx->save_for_backward({a, b});
    return a.mm(b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {grads[0].mm(saved[1].t()), saved[0].t().mm(grads[0])};
  }
};

struct Swish : amp::CustomFunction<Swish, kFloat> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    EXPECT_EQ(x.dtype(), kFloat);
    ctx->save_for_backward({x});
    return x * x.sigmoid();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0], s = x.sigmoid();
    return {grads[0] * (s + x * s * (1 - s))};
  }
};

struct CustomMlp : Mlp {
  Tensor forward(const Tensor& x) {
    const Tensor h = Swish::apply(fc1(x));
    return fc3(relu(MyMM::apply(h, fc2->weight.t()) + fc2->bias));
  }
};

struct IslandMlp : Mlp {
  Tensor forward(const Tensor& x) {
    Tensor h = relu(fc1(x));
    {
      amp::AutocastGuard off(x.device().type(), {}, false);
      h = relu(fc2(h.to(kFloat)));
    }
    return fc3(h);
  }
};

/// The counterpart of Run in workflows.py.
template <class Model>
struct TrainingRun {
  explicit TrainingRun(DType dtype) : dtype(dtype) { set_weights(model, golden().at("seed").get<uint64_t>()); }

  Batch batch(int step) const { return make_batch({20}, 32, golden().at("seed").get<uint64_t>() + 1000 + step); }
  bool overflows(int step) const {
    const auto steps = golden().at("overflows").get<std::vector<int>>();
    return std::find(steps.begin(), steps.end(), step) != steps.end();
  }
  Tensor forward(const Batch& b) { return cross_entropy(model.forward(b.inputs), b.targets); }
  /// Runs forward() in the autocast region.
  Tensor loss_of(const Batch& b) {
    const auto region = autocast();
    return forward(b);
  }
  amp::AutocastGuard autocast() const {
    return amp::AutocastGuard(device_type(), dtype == kFloat ? kBFloat16 : dtype, dtype != kFloat);
  }
  Tensor overflowing(int step, const Tensor& loss) {
    return overflows(step) && scaler.is_enabled() ? loss * INFINITY : loss;
  }
  void step_if_due(int step, optim::Optimizer& o) {
    if (!scaler.is_enabled() && overflows(step)) return;
    skipped = scaler.step(o).skipped() || skipped;
  }
  void finish(const Tensor& loss) {
    scaler.update();
    trace.losses.push_back(loss.item<double>());
    trace.scales.push_back(scaler.get_scale());
    trace.skipped.push_back(skipped);
    skipped = false;
  }

  DType dtype;
  Model model;
  amp::GradScaler scaler{amp::GradScalerOptions()
                             .init_scale(golden().at("init_scale").get<double>())
                             .growth_interval(golden().at("growth_interval").get<int64_t>())
                             .enabled(dtype == kHalf)};
  Trace trace;
  bool skipped = false;
};

int steps() { return golden().at("steps").get<int>(); }

// ---- the workflows

/// The plain loop; calls `look` with the parameters between unscale_() and step().
template <class Model = Mlp>
Trace train(DType dtype, const std::function<void(const std::vector<Tensor>&)>& look = {}) {
  TrainingRun<Model> run(dtype);
  optim::SGD sgd = run.model.optimizer();
  for (int step = 0; step < steps(); ++step) {
    sgd.zero_grad();
    const Tensor loss = run.loss_of(run.batch(step));
    run.scaler.scale(run.overflowing(step, loss)).backward();
    if (look) {
      run.scaler.unscale_(sgd);
      look(run.model.parameters());
    }
    run.step_if_due(step, sgd);
    run.finish(loss);
  }
  return run.trace;
}

Trace clip_norm(DType dtype) {
  return train(dtype, [](const auto& p) { nn::utils::clip_grad_norm_(p, golden().at("max_norm").get<double>()); });
}
Trace clip_value(DType dtype) {
  return train(dtype, [](const auto& p) { nn::utils::clip_grad_value_(p, golden().at("max_value").get<double>()); });
}
template <class Model>
Trace plain(DType dtype) {
  return train<Model>(dtype);
}

Trace accumulation(DType dtype) {
  TrainingRun<Mlp> run(dtype);
  optim::SGD sgd = run.model.optimizer();
  const int64_t parts = golden().at("parts").get<int64_t>();
  for (int step = 0; step < steps(); ++step) {
    sgd.zero_grad();
    const Batch whole = run.batch(step);
    Tensor total = zeros({});
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t rows = 32 / parts;
      const Tensor loss =
          run.loss_of({whole.inputs.narrow(0, part * rows, rows), whole.targets.narrow(0, part * rows, rows)}) /
          static_cast<double>(parts);
      run.scaler.scale(part == 1 ? run.overflowing(step, loss) : loss).backward();
      total = total + loss.detach();
    }
    run.step_if_due(step, sgd);
    run.finish(total);
  }
  return run.trace;
}

Trace penalty(DType dtype) {
  TrainingRun<Mlp> run(dtype);
  optim::SGD sgd = run.model.optimizer();
  for (int step = 0; step < steps(); ++step) {
    sgd.zero_grad();
    Tensor loss = run.loss_of(run.batch(step));
    const auto scaled = autograd::grad({run.scaler.scale(loss)}, run.model.parameters(), {}, {}, true);
    const auto grads = run.scaler.unscale(scaled);
    {
      const auto autocast = run.autocast();
      Tensor norm = zeros({});
      for (const Tensor& g : grads) norm = norm + g.pow(2).sum();
      loss = loss + norm.sqrt();
    }
    run.scaler.scale(run.overflowing(step, loss)).backward();
    run.step_if_due(step, sgd);
    run.finish(loss);
  }
  return run.trace;
}

Trace multiple(DType dtype) {
  TrainingRun<Mlp> run(dtype);
  Mlp other;
  set_weights(other, golden().at("second_seed").get<uint64_t>());
  optim::SGD sgd(run.model.parameters(), optim::SGDOptions(0.002));
  optim::AdamW adamw(other.parameters(), optim::AdamWOptions(0.001));
  for (int step = 0; step < steps(); ++step) {
    sgd.zero_grad();
    adamw.zero_grad();
    const Batch batch = run.batch(step);
    Tensor loss0, loss1;
    {
      const auto autocast = run.autocast();
      const Tensor first = run.model.forward(batch.inputs), second = other.forward(batch.inputs);
      loss0 = cross_entropy(2 * first + 3 * second, batch.targets);
      loss1 = cross_entropy(3 * first - 5 * second, batch.targets);
    }
    run.scaler.scale(loss0).backward({}, /*retain_graph=*/true);
    run.scaler.scale(loss1).backward();
    if (run.overflows(step) && run.scaler.is_enabled()) other.fc1->weight.grad().fill_(INFINITY);
    run.scaler.unscale_(sgd);
    EXPECT_FALSE(run.scaler.step(sgd).skipped()) << "each optimizer decides for itself";
    run.step_if_due(step, adamw);
    run.finish(loss0 + loss1);
  }
  return run.trace;
}

double mean_of_last(const std::vector<double>& losses) {
  double sum = 0;
  for (size_t i = losses.size() - 20; i < losses.size(); ++i) sum += losses[i];
  return sum / 20;
}

struct Workflow {
  const char* name;
  Trace (*train)(DType);
};
void PrintTo(const Workflow& w, std::ostream* out) { *out << w.name; }

struct Workflows : ::testing::TestWithParam<Workflow> {};

TEST_P(Workflows, AgreeWithPyTorchAndWithF32) {
  const Workflow& workflow = GetParam();
  const AsPyTorch as_pytorch;
  double f32_loss = 0;
  for (const DType dtype : {kFloat, kBFloat16, kHalf}) {
    const nlohmann::json& expected = golden().at(workflow.name).at(std::string(name(dtype)));
    const Trace trace = workflow.train(dtype);
    const double worst = largest_difference(trace.losses, expected.at("losses").get<std::vector<double>>());
    // PyTorch's losses change by `spread` when weights change by a thousandth; in f32 only the order of sums differs.
    const double spread = expected.at("spread").get<double>();
    EXPECT_LE(worst, dtype == kFloat ? std::max(1e-4, spread / 20) : 2 * spread) << name(dtype);
    const double loss = mean_of_last(trace.losses);
    if (dtype == kFloat) f32_loss = loss;
    EXPECT_NEAR(loss, f32_loss, 0.02 * f32_loss) << name(dtype) << " learns as much as f32";
    EXPECT_LT(loss, trace.losses[0] / 1.5);
    if (dtype != kHalf) continue;
    EXPECT_EQ(trace.scales, expected.at("scales").get<std::vector<double>>());
    EXPECT_EQ(trace.skipped, expected.at("skipped").get<std::vector<int>>());
  }
}

/// With tandem's own rules, without PyTorch's rounding of gradients and its CPU lists.
TEST_P(Workflows, AgreeWithF32UnderTandemsRules) {
  const double f32_loss = mean_of_last(GetParam().train(kFloat).losses);
  for (const DType dtype : {kBFloat16, kHalf}) {
    EXPECT_NEAR(mean_of_last(GetParam().train(dtype).losses), f32_loss, 0.02 * f32_loss) << name(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Workflows,
                         ::testing::Values(Workflow{"clip_norm", clip_norm}, Workflow{"clip_value", clip_value},
                                           Workflow{"accumulation", accumulation}, Workflow{"penalty", penalty},
                                           Workflow{"multiple", multiple},
                                           Workflow{"custom_function", plain<CustomMlp>},
                                           Workflow{"island", plain<IslandMlp>}),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- without training, and without AMP

TEST(WorkflowInference, LogitsMatchPyTorch) {
  const AsPyTorch as_pytorch;
  TrainingRun<Mlp> run(kFloat);
  optim::SGD sgd = run.model.optimizer();
  for (int step = 0; step < steps(); ++step) {
    sgd.zero_grad();
    run.forward(run.batch(step)).backward();
    nn::utils::clip_grad_norm_(run.model.parameters(), golden().at("max_norm").get<double>());
    run.step_if_due(step, sgd);
  }
  run.model.eval();
  const Batch unseen = run.batch(steps());
  for (const DType dtype : {kFloat, kBFloat16, kHalf}) {
    const NoGradGuard no_grad;
    const Device device = unseen.inputs.device();
    amp::AutocastGuard autocast(device.type(), dtype == kFloat ? kBFloat16 : dtype, dtype != kFloat);
    const Tensor logits = run.model.forward(unseen.inputs);
    EXPECT_EQ(logits.dtype(), dtype);
    const auto expected = golden().at("inference").at(std::string(name(dtype))).get<std::vector<double>>();
    EXPECT_TRUE(near(logits, expected, tolerance(dtype, 1000, 4, scale_of(expected)))) << name(dtype);
  }
}

TEST(WorkflowSwitches, AllDisabledEqualsPlainF32BitForBit) {
  const auto train = [](bool with_amp_calls) {
    TrainingRun<Mlp> run(kFloat);
    optim::SGD sgd = run.model.optimizer();
    amp::GradScaler scaler(amp::GradScalerOptions().enabled(false));
    for (int step = 0; step < 10; ++step) {
      sgd.zero_grad();
      const Batch batch = run.batch(step);
      if (with_amp_calls) {
        Tensor loss;
        {
          amp::AutocastGuard autocast(device_type(), kHalf, /*enabled=*/false);
          loss = run.forward(batch);
        }
        scaler.scale(loss).backward();
        scaler.unscale_(sgd);
        scaler.step(sgd);
        scaler.update();
      } else {
        run.forward(batch).backward();
        sgd.step();
      }
    }
    return nn::utils::parameters_to_vector(run.model.parameters());
  };
  EXPECT_TRUE(same_bits(train(true), train(false)));
}

TEST(WorkflowSwitches, AutocastAndScalerWorkSeparately) {
  for (const bool autocast_on : {true, false}) {
    TrainingRun<Mlp> run(kBFloat16);
    optim::SGD sgd = run.model.optimizer();
    amp::GradScaler scaler(amp::GradScalerOptions().enabled(!autocast_on));
    double first = 0, last = 0;
    for (int step = 0; step < 60; ++step) {
      sgd.zero_grad();
      Tensor loss;
      {
        amp::AutocastGuard autocast(device_type(), {}, autocast_on);
        loss = run.forward(run.batch(step));
      }
      scaler.scale(loss).backward();
      scaler.step(sgd);
      scaler.update();
      (step == 0 ? first : last) = loss.item<double>();
    }
    EXPECT_LT(last, 0.6 * first);
  }
}

TEST(WorkflowIslands, DisabledRegionRunsInF32) {
  const Tensor x = ones({2, 8}), w = ones({8, 8}).requires_grad_();
  amp::AutocastGuard autocast(device_type(), kBFloat16);
  const Tensor h = linear(x, w);
  EXPECT_EQ(h.dtype(), kBFloat16);
  {
    amp::AutocastGuard off(device_type(), {}, false);
    EXPECT_EQ(linear(h.to(kFloat), w).dtype(), kFloat);
    // Without the conversion the ordinary rules apply: bf16 times f32 is an error.
    EXPECT_THROW(linear(h, w), DTypeError);
  }
  EXPECT_EQ(linear(h, w).dtype(), kBFloat16);
}

}  // namespace
}  // namespace tandem::testing
