// checkpoint: bitwise the same gradients as without it, and less memory.
#include "tandem/autograd/checkpoint.h"

#include <gtest/gtest.h>

#include "autograd/support.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/amp/custom_function.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using autograd::checkpoint;
using autograd::CheckpointOptions;

struct Checkpoint : ::testing::Test {
  void SetUp() override { manual_seed(1); }
  Tensor w1 = randn({8, 8}).requires_grad_(), w2 = randn({8, 8}).requires_grad_();
  Tensor x = randn({4, 8}).requires_grad_();
  int runs = 0;

  Tensor block(const Tensor& h) {
    ++runs;
    return (h.mm(w1).tanh() * h).mm(w2).sigmoid();
  }
  auto block_function() {
    return [this](const Tensor& h) { return block(h); };
  }
  std::vector<Tensor> gradients(const Tensor& loss) { return autograd::grad({loss}, {x, w1, w2}); }
};

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << i;
}

TEST_F(Checkpoint, GradientsAreTheSame) {
  const auto plain = gradients(block(block(x)).sum());
  runs = 0;
  const Tensor y = checkpoint(block_function(), checkpoint(block_function(), x));
  EXPECT_EQ(runs, 2);
  expect_same(gradients(y.sum()), plain);
  EXPECT_EQ(runs, 4) << "each is recomputed once";
}

TEST_F(Checkpoint, FillsGradOfLeaves) {
  checkpoint(block_function(), x).sum().backward();
  EXPECT_TRUE(x.grad().defined() && w1.grad().defined() && w2.grad().defined());
}

TEST_F(Checkpoint, InputsNeedNotRequireGrad) {
  const Tensor data = randn({4, 8});
  const Tensor y = checkpoint(block_function(), data);
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  EXPECT_TRUE(w1.grad().defined());
}

TEST_F(Checkpoint, RunsOnceWithoutRecording) {
  const NoGradGuard no_grad;
  EXPECT_FALSE(checkpoint(block_function(), x).requires_grad());
  EXPECT_EQ(runs, 1);
}

TEST_F(Checkpoint, ArgumentsAndOutputsOfAnyKind) {
  const auto f = [this](const std::vector<Tensor>& in, double factor, const std::optional<Tensor>& bias) {
    return std::make_pair(in[0].mm(w1).exp() * factor, in[1] * in[1] + *bias * w2);
  };
  const auto in = [this] { return std::vector<Tensor>{x, x.mm(w1).t().mm(x)}; };
  const auto loss = [](const auto& y) { return y.first.sum() + (y.second * y.second).sum(); };
  const Tensor bias = randn({8, 1});
  const auto plain = gradients(loss(f(in(), 0.5, bias)));
  expect_same(gradients(loss(checkpoint(f, in(), 0.5, std::optional<Tensor>(bias)))), plain);
}

TEST_F(Checkpoint, Nested) {
  const auto plain = gradients(block(block(block(x))).sum());
  runs = 0;
  const auto inner = [this](const Tensor& h) { return checkpoint(block_function(), block(h)); };
  const Tensor y = checkpoint([&](const Tensor& h) { return checkpoint(inner, block(h)); }, x);
  expect_same(gradients(y.sum()), plain);
  EXPECT_GT(runs, 6);
}

TEST_F(Checkpoint, RetainedGraphsRecomputeEachTime) {
  const Tensor loss = checkpoint(block_function(), x).sum();
  const auto first = autograd::grad({loss}, {x, w1, w2}, {}, true);
  const auto second = autograd::grad({loss}, {x, w1, w2}, {}, true);
  expect_same(first, second);
  EXPECT_EQ(runs, 3);
  gradients(loss);
  EXPECT_THROWS(gradients(loss), AutogradError, "retain_graph");
}

TEST_F(Checkpoint, SupportsGradientPenaltyInside) {
  // A gradient penalty inside the checkpoint: the function itself runs backward.
  const auto f = [this](const Tensor& h) {
    const Tensor y = block(h);
    const Tensor g = autograd::grad({y.sum()}, {w1}, {}, {}, true)[0];
    return y.sum() + (g * g).sum();
  };
  const auto plain = gradients(f(x));
  expect_same(gradients(checkpoint(f, x)), plain);
}

TEST_F(Checkpoint, DoubleBackward) {
  const auto twice = [this](const Tensor& loss) {
    const Tensor g = autograd::grad({loss}, {x}, {}, {}, true)[0];
    return gradients((g * g).sum());
  };
  const auto plain = twice(block(x).sum());
  expect_same(twice(checkpoint(block_function(), x).sum()), plain);
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{
        checkpoint([](const Tensor& a, const Tensor& b) { return (a.mm(b).tanh() * a).exp(); }, in[0], in[1])};
  };
  const std::vector<Tensor> inputs = {randn({2, 2}, kDouble).requires_grad_(), randn({2, 2}, kDouble).requires_grad_()};
  EXPECT_TRUE(autograd::gradcheck(f, inputs));
  EXPECT_TRUE(autograd::gradgradcheck(f, inputs));
}

// ---- modes and random numbers

TEST_F(Checkpoint, RecomputesUnderTheOriginalAutocast) {
  for (const DType dtype : {kBFloat16, kHalf}) {
    std::vector<DType> dtypes;
    std::vector<bool> caches;
    const auto f = [&](const Tensor& h) {
      const Tensor y = block(h);
      dtypes.push_back(h.mm(w1).dtype());
      dtypes.push_back(softmax(y, 1).dtype());
      caches.push_back(amp::is_autocast_cache_enabled());
      return y;
    };
    const auto run = [&](bool checkpointed) {
      amp::AutocastGuard region(device_type(), dtype, true, false);
      amp::PolicyGuard policies({{"softmax", amp::Cast::lower}});
      return (checkpointed ? checkpoint(f, x) : f(x)).to(kFloat).sum();
    };
    const auto plain = gradients(run(false));
    dtypes.clear();
    caches.clear();
    expect_same(gradients(run(true)), plain);
    EXPECT_EQ(dtypes, (std::vector<DType>(4, dtype)));
    EXPECT_EQ(caches, (std::vector<bool>{false, false}));
    EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
    EXPECT_EQ(amp::autocast_cache_stats().entries, 0);
  }
}

TEST_F(Checkpoint, RecomputesInF32EvenInARegion) {
  const Tensor y = checkpoint(block_function(), x);
  const auto plain = gradients(block(x).sum());
  amp::AutocastGuard region(device_type());
  expect_same(gradients(y.sum()), plain);
}

TEST_F(Checkpoint, DropoutRepeatsItsMask) {
  const auto f = [this](const Tensor& h) { return dropout(block(h), 0.5, true) * h; };
  manual_seed(5);
  const auto plain = gradients(f(x).sum());
  const Tensor next = randn({4});
  manual_seed(5);
  const Tensor y = checkpoint(f, x);
  const PhiloxState before = default_generator().get_state();
  expect_same(gradients(y.sum()), plain);
  EXPECT_EQ(default_generator().get_state().offset, before.offset)
      << "backward draws nothing from the program's stream";
  EXPECT_TRUE(same_bits(randn({4}), next));
}

TEST_F(Checkpoint, MaskDiffersWithoutPreservedRandomState) {
  const auto f = [](const Tensor& h) { return dropout(h.exp(), 0.5, true); };
  const Tensor big = randn({4096}).requires_grad_();
  const auto gradient = [&](bool preserve) {
    manual_seed(5);
    return autograd::grad({checkpoint(CheckpointOptions().preserve_rng_state(preserve), f, big).sum()}, {big})[0];
  };
  EXPECT_FALSE(near(gradient(true), gradient(false), kExact));
}

// ---- errors

TEST_F(Checkpoint, DetectsTensorsOverwrittenInside) {
  const auto f = [](const Tensor& h) {
    const Tensor y = h.exp();
    y.mul_(2);
    return y;
  };
  EXPECT_THROWS(checkpoint(f, x).sum().backward(), AutogradError, "changed in place");
}

TEST_F(Checkpoint, DetectsWeightsChangedBeforeBackward) {
  const Tensor bias = randn({8}).requires_grad_();
  const auto f = [&](const Tensor& h) { return linear(h, w1, bias).relu().mm(w2).relu(); };
  const auto nested = [&](const Tensor& h) { return checkpoint(f, h); };
  for (const bool autocast : {false, true}) {
    for (const Tensor& changed : {w1, bias, w2}) {
      for (const bool is_nested : {false, true}) {
        const auto loss = [&] {
          amp::AutocastGuard region(device_type(), kBFloat16, autocast);
          return (is_nested ? checkpoint(nested, x) : checkpoint(f, x)).to(kFloat).sum();
        };
        const Tensor y = loss();
        {
          NoGradGuard no_grad;
          changed.mul_(2);
        }
        EXPECT_THROWS(y.backward(), AutogradError, "changed");
        const Tensor z = loss();
        changed.set_data(changed.detach().clone());
        EXPECT_THROWS(z.backward(), AutogradError, "changed");
        EXPECT_NO_THROW(loss().backward());
      }
    }
  }
}

TEST_F(Checkpoint, WeightsMayChangeAfterBackward) {
  for (int i = 0; i < 2; ++i) {
    amp::AutocastGuard region(device_type(), kBFloat16);
    checkpoint(block_function(), x).to(kFloat).sum().backward();
    NoGradGuard no_grad;
    w1.sub_(w1.grad());
  }
}

TEST_F(Checkpoint, ExceptionsRestoreTheState) {
  EXPECT_THROWS(checkpoint([](const Tensor& h) { return h.view({3}); }, x), ShapeError, "view");
  const Tensor y = x.exp();  // would not be saved if the checkpoint were still active
  y.sum().backward();
  EXPECT_TRUE(same_bits(x.grad(), x.detach().exp()));
}

// ---- memory

TEST_F(Checkpoint, UsesLessMemory) {
  TANDEM_TEST_ON_HOST();
  const Tensor input = randn({256, 256}).requires_grad_();
  const int64_t one = 256 * 256 * 4;
  const auto deep = [](const Tensor& h) {
    Tensor y = h;
    for (int i = 0; i < 16; ++i) y = y.tanh();
    return y;
  };
  const auto held_after_forward = [&](bool checkpointed) {
    const int64_t before = cpu::memory_allocated();
    Tensor y = input;
    for (int segment = 0; segment < 4; ++segment) y = checkpointed ? checkpoint(deep, y) : deep(y);
    const int64_t held = cpu::memory_allocated() - before;
    cpu::reset_peak_memory_stats();
    y.sum().backward();
    const int64_t peak = cpu::max_memory_allocated() - before;
    return std::make_pair(held, peak);
  };
  const auto [plain_held, plain_peak] = held_after_forward(false);
  input.mutable_grad() = Tensor();
  const auto [held, peak] = held_after_forward(true);
  EXPECT_GE(plain_held, 63 * one);
  EXPECT_LE(held, 5 * one) << "the segments' outputs, and little more";
  EXPECT_GE(plain_peak, 63 * one);
  EXPECT_LE(peak, 26 * one) << "one segment at a time";
}

TEST_F(Checkpoint, NestedCheckpointsFreeTheirInputs) {
  const Tensor input = randn({256, 256}).requires_grad_();
  const int64_t one = 256 * 256 * 4;
  const auto leaf_block = [](const Tensor& h) { return h.tanh().tanh(); };
  const auto outer = [&](const Tensor& h) {
    Tensor y = h;
    for (int i = 0; i < 8; ++i) y = checkpoint(leaf_block, y);
    return y;
  };
  const int64_t before = cpu::memory_allocated();
  const Tensor y = checkpoint(outer, input);
  EXPECT_LE(cpu::memory_allocated() - before, 2 * one);
  y.sum().backward();
  const Tensor again = input.detach().requires_grad_();
  Tensor z = again;
  for (int i = 0; i < 16; ++i) z = z.tanh();
  z.sum().backward();
  EXPECT_TRUE(same_bits(input.grad(), again.grad()));
}

// ---- custom functions

struct Square : autograd::Function<Square> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    return {grads[0] * ctx->get_saved_variables()[0] * 2};
  }
};

TEST_F(Checkpoint, FreesSavedTensorsOfCustomFunctions) {
  const auto f = [this](const Tensor& h) { return Square::apply(block(h)); };
  const auto plain = gradients(f(x).sum());
  expect_same(gradients(checkpoint(f, x).sum()), plain);

  const int64_t without = cpu::memory_allocated();
  const Tensor input = randn({256, 256}).requires_grad_();
  const int64_t one = cpu::memory_allocated() - without;  // including sanitizer padding
  const auto square = [](const Tensor& h) { return Square::apply(h * 2); };
  const int64_t before = cpu::memory_allocated();
  const Tensor kept = square(input);
  const int64_t with_saved = cpu::memory_allocated();
  const Tensor dropped = checkpoint(square, input);
  EXPECT_EQ(with_saved - before, 2 * one) << "the result and what Square saves";
  EXPECT_EQ(cpu::memory_allocated() - with_saved, one) << "the result";
}

TEST_F(Checkpoint, InPlaceOpsOnViewsInside) {
  const auto f = [this](const Tensor& h) {
    const Tensor y = block(h) * 1;
    y.narrow(1, 0, 4).mul_(h.narrow(1, 4, 4));
    return y;
  };
  const auto plain = gradients(f(x).sum());
  expect_same(gradients(checkpoint(f, x).sum()), plain);
}

}  // namespace
}  // namespace tandem::testing
