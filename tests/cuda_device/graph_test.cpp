// Training steps repeated by a CUDA graph equal the same steps run one by one: every bit of losses, parameters,
// gradients and running statistics.
#include "tandem/cuda/graph.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "cuda_device/graph_program.h"
#include "support/compare.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/cuda/stream.h"
#include "tandem/tandem.h"
#include "tandem/tensor/capture.h"

namespace tandem::cuda::testing {
namespace {

constexpr int kSteps = 9;

/// Engines whose sums depend on the order of threads would give other bits in each run.
class Graph : public ::testing::Test {
 protected:
  Graph() { set_deterministic(true); }
  ~Graph() override { set_deterministic(false); }
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

TEST_F(Graph, ReplaysOfAnMlpEqualSteps) {
  for (const Rule rule : {Rule::sgd, Rule::adam, Rule::adamw, Rule::rmsprop, Rule::nadam, Rule::lion, Rule::lamb}) {
    expect_replays_equal_steps<Mlp>(rule);
  }
}

TEST_F(Graph, ReplaysOfACnnEqualSteps) {
  for (const Rule rule : {Rule::sgd, Rule::adamw}) expect_replays_equal_steps<Cnn>(rule);
}

TEST_F(Graph, ReplaysOfACheckpointWithDropoutEqualSteps) {
  for (const Rule rule : {Rule::sgd, Rule::adamw}) expect_replays_equal_steps<CheckpointedMlp>(rule);
}

TEST_F(Graph, ReplaysWithACheckpointEqualStepsWithoutIt) {
  struct Wrapped : Mlp {
    Tensor forward(const Tensor& x) override {
      return autograd::checkpoint([this](const Tensor& in) { return Mlp::forward(in); }, x);
    }
  };
  expect_replays_equal_steps<Wrapped, Mlp>(Rule::sgd);
}

/// bf16 parameters with masters of both kinds; the program writes a parameter between replays.
TEST_F(Graph, ReplaysOnMasterWeightsEqualSteps) {
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

TEST_F(Graph, ReplayRaisesVersionsOfWrittenTensors) {
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

TEST_F(Graph, ReplaysDoNotOverwriteTheSlots) {
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

TEST_F(Graph, GraphsOfOnePoolKeepTheirSlots) {
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
TEST_F(Graph, StepMayRunOutsideTheGraph) {
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

/// The graph adds to gradients of the scale that a step, an update or another pass has left them with.
TEST_F(Graph, ReplaysAddToGradientsOfOtherScales) {
  const auto train = [](bool graphed) {
    Tensor w = ones({4}, kCUDA).requires_grad_();
    const Tensor x = full({4}, 3, kCUDA);
    optim::SGD sgd({w}, 0x1p-10);
    amp::GradScaler scaler(amp::GradScalerOptions().init_scale(4));
    const auto backward = [&] { scaler.scale((w * x).sum()).backward(); };
    std::vector<Tensor> trace;
    const auto keep = [&] { trace.push_back(w.detach().cpu().clone()); };
    CUDAGraph graph;
    const auto pass = [&] { graphed ? graph.replay() : backward(); };
    backward();
    if (graphed) graph.capture(backward);
    pass();  // to a gradient of an eager pass
    pass();
    scaler.step(sgd);
    scaler.update(1024.0);
    keep();
    pass();  // to one that the step has unscaled
    scaler.update(2.0);
    pass();  // over an update
    pass();
    backward();
    pass();
    scaler.step(sgd);
    scaler.update();
    keep();
    sgd.zero_grad(false);
    pass();
    scaler.step(sgd);
    scaler.update();
    keep();
    return trace;
  };
  expect_equal(train(true), train(false));
}

/// The environment switch's scaling, which the program does not see: whole steps in the graph, only the backward pass,
/// or two steps of two optimizers.
TEST_F(Graph, AutoMixedPrecision) {
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
}  // namespace tandem::cuda::testing
