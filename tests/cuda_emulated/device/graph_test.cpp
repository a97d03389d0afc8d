// Training steps repeated by a CUDA graph equal the same steps run one by one: every bit of losses, parameters,
// gradients and running statistics, on the emulated device.
#include "tandem/cuda/graph.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "cuda_emulated/device/device.h"
#include "support/compare.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/cuda/stream.h"
#include "tandem/optim/optim.h"
#include "tandem/tandem.h"
#include "tandem/tensor/capture.h"

namespace tandem::cuda {
namespace {

constexpr int64_t kBatch = 4, kClasses = 3;
constexpr int kWarmUp = 3, kSteps = 9;

struct Net : nn::Module {
  virtual Tensor forward(const Tensor& x) = 0;
  virtual std::vector<int64_t> input_sizes() const = 0;
};

struct Mlp : Net {
  Mlp() : fc1(6, 10), fc2(10, kClasses) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) override { return fc2(dropout(relu(fc1(x)), 0.25, is_training())); }
  std::vector<int64_t> input_sizes() const override { return {kBatch, 6}; }
  nn::Linear fc1, fc2;
};

/// The same, but recomputes its hidden layer in backward.
struct CheckpointedMlp : Mlp {
  Tensor forward(const Tensor& x) override {
    const auto hidden = [this](const Tensor& in) { return dropout(relu(fc1(in)), 0.25, is_training()); };
    return fc2(dropout(autograd::checkpoint(hidden, x), 0.1, is_training()));
  }
};

struct Cnn : Net {
  Cnn() : conv1(nn::Conv2dOptions(1, 3, 3)), norm(3), conv2(nn::Conv2dOptions(3, 4, 2)), fc(16, kClasses) {
    register_module("conv1", conv1);
    register_module("norm", norm);
    register_module("conv2", conv2);
    register_module("fc", fc);
  }
  Tensor forward(const Tensor& x) override {
    Tensor h = max_pool2d(relu(norm(conv1(x))), {2, 2});
    h = dropout(relu(conv2(h)), 0.1, is_training());
    return fc(h.flatten(1));
  }
  std::vector<int64_t> input_sizes() const override { return {kBatch, 1, 8, 8}; }
  nn::Conv2d conv1;
  nn::BatchNorm2d norm;
  nn::Conv2d conv2;
  nn::Linear fc;
};

enum class Rule { sgd, adam, adamw, rmsprop, nadam, lion, lamb };

std::unique_ptr<optim::Optimizer> make_optimizer(Rule rule, const std::vector<Tensor>& parameters) {
  switch (rule) {
    case Rule::sgd:
      return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-3));
    case Rule::adam:
      return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(0.01).amsgrad(true));
    case Rule::rmsprop:
      return std::make_unique<optim::RMSprop>(parameters, optim::RMSpropOptions(0.01).centered(true).momentum(0.5));
    case Rule::nadam:
      return std::make_unique<optim::NAdam>(parameters, optim::NAdamOptions(0.01));
    case Rule::lion:
      return std::make_unique<optim::Lion>(parameters, optim::LionOptions(0.01).weight_decay(0.1));
    case Rule::lamb:
      return std::make_unique<optim::LAMB>(parameters, optim::LAMBOptions(0.01));
    default:
      return std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions(0.01));
  }
}

/// A training program around the steps, the same for both runs.
struct Program {
  Program(std::shared_ptr<Net> net, Rule rule)
      : model(std::move(net)), scaler(amp::GradScalerOptions().init_scale(1024).growth_interval(3)) {
    manual_seed(5);
    {
      const NoGradGuard no_grad;  // weights from this seed, independent of earlier draws
      for (const Tensor& p : model->parameters()) p.uniform_(-0.5, 0.5);
    }
    model->to(kCUDA);
    optimizer = make_optimizer(rule, model->parameters());
    x = tandem::zeros(model->input_sizes(), kCUDA);
    y = zeros({kBatch}, TensorOptions(kLong).device(kCUDA));
  }

  void step() {
    optimizer->zero_grad();
    {
      const amp::AutocastGuard autocast(kCUDA);
      loss = nn::functional::cross_entropy(model->forward(x), y);
    }
    scaler.scale(loss).backward();
    scaler.step(*optimizer);
    scaler.update();
  }

  void load(int i) {
    Generator inputs(static_cast<uint64_t>(100 + i));
    Tensor batch = tandem::empty(model->input_sizes());
    batch.uniform_(-1, 1, inputs);
    if (i == 5) batch.view({-1})[0] = std::numeric_limits<float>::infinity();  // an overflow
    x.copy_(batch);
    Tensor labels = tandem::empty({kBatch}, kLong);
    labels.random_(0, kClasses, inputs);
    y.copy_(labels);
  }

  void keep(const Tensor& t) { trace.push_back(t.detach().to(kCPU).clone()); }

  /// Runs step i; `run` is step() or a replay of it.
  void iterate(int i, const std::function<void()>& run) {
    load(i);
    for (auto& group : optimizer->param_groups()) group.options().set_lr(0.02 / (1 + i));
    if (i == 6) scaler.set_growth_interval(1);
    if (i == 7) scaler.set_growth_factor(4);
    run();
    keep(loss);
    if (i == 4) {  // read only after some steps: others leave their gradients pending
      for (const Tensor& p : model->parameters()) keep(p.grad());
      keep(model->parameters()[0].grad());
    }
    if (i == 5) scaler.update(256.0);
    if (i == 6) {  // a separate forward pass, which uses the casts that the step left
      const NoGradGuard no_grad;
      const amp::AutocastGuard autocast(kCUDA);
      keep(model->forward(x));
    }
    if (i == 7) {  // weights changed by the program, which the casts must follow
      const NoGradGuard no_grad;
      for (const Tensor& p : model->parameters()) p.mul_(0.5);
    }
    if (i == 8) {  // a separate step between replays, with its own gradients and loss
      const Tensor shown = loss;
      step();
      keep(loss);
      loss = shown;
    }
    for (const Tensor& p : model->parameters()) keep(p);
    for (const Tensor& b : model->buffers()) keep(b);
    keep(tensor(scaler.get_scale()));
    keep(tensor(static_cast<double>(default_generator().get_state().offset)));
  }

  std::shared_ptr<Net> model;
  amp::GradScaler scaler;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor x, y, loss;
  std::vector<Tensor> trace;
};

void expect_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].sizes(), b[i].sizes());
    EXPECT_EQ(std::memcmp(a[i].contiguous().data_ptr(), b[i].contiguous().data_ptr(), a[i].nbytes()), 0)
        << "entry " << i << ":\n"
        << a[i] << "\nagainst\n"
        << b[i];
    if (::testing::Test::HasFailure()) return;
  }
}

template <class Model, class Reference = Model>
void expect_replays_equal_steps(Rule rule) {
  Program plain(std::make_shared<Reference>(), rule);
  for (int i = 0; i < kWarmUp + kSteps; ++i) plain.iterate(i, [&] { plain.step(); });

  Program graphed(std::make_shared<Model>(), rule);
  for (int i = 0; i < kWarmUp; ++i) graphed.iterate(i, [&] { graphed.step(); });
  CUDAGraph graph;
  graph.capture([&] { graphed.step(); });
  EXPECT_EQ(amp::autocast_cache_stats().entries, 0) << "no cast of the capture is left";
  for (int i = kWarmUp; i < kWarmUp + kSteps; ++i) graphed.iterate(i, [&] { graph.replay(); });
  expect_equal(graphed.trace, plain.trace);
}

TEST(Graph, ReplaysOfAnMlpEqualSteps) {
  for (const Rule rule : {Rule::sgd, Rule::adam, Rule::adamw, Rule::rmsprop, Rule::nadam, Rule::lion, Rule::lamb}) {
    expect_replays_equal_steps<Mlp>(rule);
  }
}

TEST(Graph, ReplaysOfACnnEqualSteps) {
  for (const Rule rule : {Rule::sgd, Rule::adamw}) expect_replays_equal_steps<Cnn>(rule);
}

TEST(Graph, ReplaysOfACheckpointWithDropoutEqualSteps) {
  for (const Rule rule : {Rule::sgd, Rule::adamw}) expect_replays_equal_steps<CheckpointedMlp>(rule);
}

TEST(Graph, ReplaysWithACheckpointEqualStepsWithoutIt) {
  struct Wrapped : Mlp {
    Tensor forward(const Tensor& x) override {
      return autograd::checkpoint([this](const Tensor& in) { return Mlp::forward(in); }, x);
    }
  };
  expect_replays_equal_steps<Wrapped, Mlp>(Rule::sgd);
}

/// bf16 parameters with masters of both kinds; the program writes a parameter between replays.
TEST(Graph, ReplaysOnMasterWeightsEqualSteps) {
  for (const auto kind : {optim::MasterWeights::f32, optim::MasterWeights::remainder}) {
    const auto train = [kind](bool graphed) {
      manual_seed(3);
      const Tensor start = randn({6, 4}).to(kBFloat16);
      const Tensor p = start.to(kCUDA).requires_grad_(), x = zeros({6, 4}, kCUDA);
      optim::Adam adam({p}, optim::AdamOptions(1e-3));
      adam.keep_master_weights(kind);
      const auto step = [&] {
        adam.zero_grad();
        const Tensor d = p.to(kFloat) - x;
        (d * d).sum().backward();
        adam.step();
      };
      std::vector<Tensor> masters;
      CUDAGraph graph;
      for (int i = 0; i < 9; ++i) {
        x.copy_(randn({6, 4}));
        if (graphed && i == 3) graph.capture(step);
        if (graphed && i >= 3 && i != 6) {
          graph.replay();
        } else {
          step();  // runs the seventh step separately, between replays
        }
        if (i % 2 == 0) masters.push_back(adam.master(p).to(kCPU).clone());
        const NoGradGuard no_grad;
        if (i == 4) p.fill_(100);
      }
      return masters;
    };
    const std::vector<Tensor> replayed = train(true), stepped = train(false);
    expect_equal(replayed, stepped);
    EXPECT_FALSE(tandem::testing::same_bits(stepped.back(), stepped.back().to(kBFloat16).to(kFloat)));
  }
}

TEST(Graph, ReplayTakesOneOrTwoLaunches) {
  Program program(std::make_shared<Mlp>(), Rule::sgd);
  program.load(0);
  for (int i = 0; i < kWarmUp; ++i) program.step();
  CUDAGraph graph;
  graph.capture([&] { program.step(); });
  graph.replay();
  emulated::counts() = {};
  for (int i = 0; i < 4; ++i) graph.replay();
  EXPECT_EQ(emulated::counts().graph_launches, 4);
  EXPECT_EQ(emulated::counts().launches, 4) << "dropout's position";
  EXPECT_EQ(emulated::counts().waits, 0);
  EXPECT_EQ(emulated::counts().allocations, 0);
  EXPECT_EQ(emulated::counts().copies, 0);

  program.model->eval();
  program.step();
  graph.reset();
  graph.capture([&] { program.step(); });
  graph.replay();
  emulated::counts() = {};
  for (int i = 0; i < 4; ++i) graph.replay();
  EXPECT_EQ(emulated::counts().launches, 0) << "nothing has changed";
}

TEST(Graph, ReplayRaisesVersionsOfWrittenTensors) {
  Program program(std::make_shared<Mlp>(), Rule::adam);
  program.load(0);
  for (int i = 0; i < kWarmUp; ++i) program.step();
  CUDAGraph graph;
  graph.capture([&] { program.step(); });
  const Tensor weight = program.model->parameters()[0], norm = (weight * weight).sum();
  graph.replay();
  EXPECT_THROW(norm.backward(), AutogradError) << "the saved weight has changed";
  EXPECT_NO_THROW((weight * weight).sum().backward());
}

/// Random numbers with seed 3. The graph reads their position in the sequence from its slots. Before the slots are
/// allocated, memory of the same size is freed.
struct Drawing {
  void run() {
    { const Tensor freed = full({static_cast<int64_t>(GraphCapture::kSlots)}, 7, TensorOptions(kLong).device(kCUDA)); }
    y.uniform_();
  }
  Tensor y = zeros({40}, kCUDA);
};

TEST(Graph, ReplaysDoNotOverwriteTheSlots) {
  Drawing eager, graphed;
  manual_seed(3);
  eager.run();
  CUDAGraph graph;
  graph.capture([&] { graphed.run(); });
  for (int i = 0; i < 3; ++i) {
    manual_seed(3);
    graph.replay();
    expect_equal({graphed.y.cpu()}, {eager.y.cpu()});
  }
}

TEST(Graph, GraphsOfOnePoolKeepTheirSlots) {
  Drawing eager, first, second;
  manual_seed(3);
  eager.run();
  CUDAGraph a, b;
  a.capture([&] { first.run(); });
  b.capture([&] { second.y.uniform_(); }, a.pool());
  for (int i = 0; i < 3; ++i) {
    for (CUDAGraph* graph : {&b, &a}) {
      manual_seed(3);
      graph->replay();
    }
    expect_equal({first.y.cpu(), second.y.cpu()}, {eager.y.cpu(), eager.y.cpu()});
  }
}

/// Forward and backward in the graph, the step outside: each replay writes the gradients in the graph's memory again.
TEST(Graph, StepMayRunOutsideTheGraph) {
  const auto train = [](bool graphed) {
    Program p(std::make_shared<Mlp>(), Rule::sgd);
    const auto backward = [&] {
      p.optimizer->zero_grad();
      {
        const amp::AutocastGuard autocast(kCUDA);
        p.loss = nn::functional::cross_entropy(p.model->forward(p.x), p.y);
      }
      p.scaler.scale(p.loss).backward();
    };
    const auto step = [&] {
      p.scaler.step(*p.optimizer);
      p.scaler.update();
    };
    CUDAGraph graph;
    for (int i = 0; i < 7; ++i) {
      p.load(i);
      if (graphed && i == 3) graph.capture(backward);
      if (graphed && i >= 3) {
        graph.replay();
      } else {
        backward();
      }
      step();
      p.keep(p.loss);
      for (const Tensor& w : p.model->parameters()) p.keep(w);
      if (i % 2 == 0) p.keep(p.model->parameters()[0].grad());
    }
    return p.trace;
  };
  expect_equal(train(true), train(false));
}

/// The environment switch's scaling, which the program does not see: whole steps in the graph, only the backward pass,
/// or two steps of two optimizers.
TEST(Graph, AutoMixedPrecision) {
  enum class Way { eager, whole, backward_only, two_iterations };
  const auto train = [](Way way, bool looks) {
    amp::enable_auto_mixed_precision();
    Program p(std::make_shared<Mlp>(), Rule::sgd);
    const std::vector<Tensor> all = p.model->parameters();
    optim::SGD first({all[0], all[1]}, optim::SGDOptions(0.05)), second({all[2], all[3]}, optim::SGDOptions(0.1));
    const auto backward = [&] {
      p.model->zero_grad();
      p.loss = nn::functional::cross_entropy(p.model->forward(p.x), p.y);
      p.loss.backward();
    };
    const auto step = [&] {
      first.step();
      second.step();
    };
    const auto iteration = [&] {
      backward();
      step();
    };
    const auto two = [&] {
      iteration();
      iteration();
    };
    CUDAGraph graph;
    for (int i = 0; i < 9; ++i) {
      p.load(i);
      if (i == 3 && way == Way::whole) graph.capture(iteration);
      if (i == 3 && way == Way::backward_only) graph.capture(backward);
      if (i == 3 && way == Way::two_iterations) graph.capture(two);
      if (i < 3 || way == Way::eager) {
        two();
      } else if (way == Way::whole) {
        graph.replay();
        graph.replay();
      } else if (way == Way::backward_only) {
        for (int k = 0; k < 2; ++k) {
          graph.replay();
          step();
        }
      } else {
        graph.replay();
      }
      p.keep(p.loss);
      for (const Tensor& w : all) p.keep(w);
      if (looks || i == 8) p.keep(tensor(amp::auto_mixed_precision_scale(kCUDA)));
    }
    amp::disable_auto_mixed_precision();
    return p.trace;
  };
  for (const bool looks : {false, true}) {
    const std::vector<Tensor> eager = train(Way::eager, looks);
    EXPECT_EQ(eager.back().item<double>(), 8192) << "two overflows";
    for (const Way way : {Way::whole, Way::backward_only, Way::two_iterations}) {
      SCOPED_TRACE(::testing::Message() << "way " << static_cast<int>(way) << ", looks " << looks);
      expect_equal(train(way, looks), eager);
    }
  }
}

}  // namespace
}  // namespace tandem::cuda
