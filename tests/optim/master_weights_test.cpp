// f16 and bf16 parameters with f32 masters follow the same trajectory as f32 parameters, bit for bit.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>

#include "optim/tested_optimizers.h"
#include "support/bad_input.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using optim::MasterWeights;

struct MasterWeightsTest : ::testing::TestWithParam<size_t> {
  static const TestedOptimizer& kind() { return tested_optimizers()[GetParam()]; }
  static std::unique_ptr<optim::Optimizer> make(std::vector<Tensor> params) {
    return kind().make(std::move(params), kind().rate);
  }
};
INSTANTIATE_TEST_SUITE_P(Optimizers, MasterWeightsTest, all_tested_optimizers(), tested_optimizer_name);

bool same_bytes(const Tensor& a, const Tensor& b) {
  const Tensor x = a.cpu(), y = b.cpu();
  return x.dtype() == y.dtype() && x.sizes() == y.sizes() && std::memcmp(x.raw_bytes(), y.raw_bytes(), x.nbytes()) == 0;
}

/// Returns a leaf of this dtype with the f32 `values`, rounded.
Tensor leaf(const Tensor& values, DType dtype) { return values.clone().to(dtype).requires_grad_(); }

TEST_P(MasterWeightsTest, EqualF32BitForBit) {
  for (DType low : {kHalf, kBFloat16}) {
    for (DType grad : {kFloat, low}) {
      const Tensor start = randn({33, 7}).to(low).to(kFloat), frozen_start = randn({5});
      const Tensor p32 = leaf(start, kFloat), also32 = leaf(frozen_start, kFloat);
      const Tensor p = leaf(start, low), also = leaf(frozen_start, kFloat);
      auto reference = make({p32, also32}), masters = make({p, also});
      masters->keep_master_weights();
      for (int i = 0; i < 20; ++i) {
        const Tensor g = randn({33, 7}).to(grad), h = randn({5});
        p32.mutable_grad() = g;
        p.mutable_grad() = g;
        also32.mutable_grad() = h;
        also.mutable_grad() = h;
        reference->step();
        masters->step();
        ASSERT_TRUE(same_bytes(masters->master(p), p32.detach())) << i;
        ASSERT_TRUE(same_bytes(p.detach(), p32.detach().to(low))) << i;
        ASSERT_TRUE(same_bytes(also.detach(), also32.detach())) << i;
      }
      EXPECT_TRUE(masters->master(also).is_same(also));
    }
  }
}

/// Both kinds of masters, saved after three steps and loaded together with the rounded parameters, continue exactly.
TEST_P(MasterWeightsTest, AreInTheStateDictionary) {
  for (MasterWeights kind : {MasterWeights::f32, MasterWeights::remainder}) {
    const Tensor start = randn({33, 7}), also_start = randn({5});
    const Tensor p = leaf(start, kBFloat16), also = leaf(also_start, kFloat);
    auto optimizer = make({p, also});
    optimizer->keep_master_weights(kind);
    const auto step = [](optim::Optimizer& o, std::initializer_list<Tensor> params) {
      for (const Tensor& x : params) x.mutable_grad() = randn(x.sizes()).to(x.dtype());
      o.step();
    };
    for (int i = 0; i < 3; ++i) step(*optimizer, {p, also});

    const StateDict state = optimizer->state_dict();
    ASSERT_TRUE(state.contains("master_weights.0"));
    EXPECT_EQ(state["master_weights.0"].dtype(), kFloat);
    EXPECT_FALSE(state.contains("master_weights.1")) << "an f32 parameter has none";
    StateDict saved;
    for (const auto& item : state) saved.insert(item.key(), item.value().clone());
    const Tensor saved_p = p.detach().clone();  // not always saved["master_weights.0"].to(kBFloat16): ties round up
    const Tensor q = leaf(p.detach().to(kFloat), kBFloat16), also_q = leaf(also.detach(), kFloat);
    auto resumed = make({q, also_q});
    resumed->keep_master_weights(kind);
    resumed->load_state_dict(saved);
    const Generator generator = default_generator();
    for (int i = 0; i < 3; ++i) {
      const PhiloxState position = generator.get_state();
      step(*optimizer, {p, also});
      default_generator().set_state(position);
      step(*resumed, {q, also_q});
      ASSERT_TRUE(same_bytes(resumed->master(q), optimizer->master(p))) << i;
      ASSERT_TRUE(same_bytes(q.detach(), p.detach())) << i;
      ASSERT_TRUE(same_bytes(also_q.detach(), also.detach())) << i;
    }
    // The model's weights may be loaded after the optimizer's state.
    const Tensor late = leaf(randn({33, 7}), kBFloat16), also_late = leaf(also_start, kFloat);
    auto first = make({late, also_late});
    first->keep_master_weights(kind);
    first->load_state_dict(saved);
    {
      NoGradGuard no_grad;
      late.copy_(saved_p);
      EXPECT_TRUE(same_bytes(first->master(late), saved["master_weights.0"]));
      late[3].fill_(2);
      const Tensor written = first->master(late);
      EXPECT_TRUE(same_bytes(written[3].clone(), full({7}, 2.0)));
      EXPECT_TRUE(same_bytes(written[4].clone(), saved["master_weights.0"][4].clone()));
    }
    const Tensor r = leaf(start, kBFloat16), also_r = leaf(also_start, kFloat);
    auto without = make({r, also_r});
    EXPECT_NO_THROW(without->load_state_dict(saved)) << "an optimizer without masters ignores them";
  }
}

TEST_P(MasterWeightsTest, BFloat16WithRemainderIsItsMaster) {
  const Tensor start = randn({33, 7});
  const Tensor p32 = leaf(start, kFloat), p = leaf(start, kBFloat16);
  auto reference = make({p32}), split = make({p});
  split->keep_master_weights(MasterWeights::remainder);
  split->set_master(p, start);
  EXPECT_TRUE(same_bytes(split->master(p), start));
  for (int i = 0; i < 20; ++i) {
    p32.mutable_grad() = p.mutable_grad() = randn({33, 7}).to(kBFloat16);
    reference->step();
    split->step();
    ASSERT_TRUE(same_bytes(split->master(p), p32.detach())) << i;
  }
  // Changing the kind keeps the masters exactly.
  split->keep_master_weights(MasterWeights::f32);
  EXPECT_TRUE(same_bytes(split->master(p), p32.detach()));
  split->keep_master_weights(MasterWeights::remainder);
  EXPECT_TRUE(same_bytes(split->master(p), p32.detach()));
}

TEST_P(MasterWeightsTest, SmallUpdatesAddUp) {
  const Tensor lost = leaf(full({4}, 1.0), kBFloat16), kept = leaf(full({4}, 1.0), kBFloat16);
  auto without = make({lost}), with = make({kept});
  with->keep_master_weights();
  for (int i = 0; i < 100; ++i) {  // each update is far below bf16's spacing of 2^-8 at 1
    lost.mutable_grad() = kept.mutable_grad() = full({4}, 0.01);
    without->step();
    with->step();
  }
  EXPECT_LT(with->master(kept)[0].item<float>(), 0.995F);
  EXPECT_LT(kept[0].item<float>(), 1.0F);
  if (kind().name.starts_with("SGD")) {
    EXPECT_EQ(lost[0].item<float>(), 1.0F);
  }
}

TEST_P(MasterWeightsTest, OverflowDoesNotChangeThem) {
  const Tensor p = leaf(randn({50}), kHalf);
  auto optimizer = make({p});
  optimizer->keep_master_weights();
  for (int i = 0; i < 3; ++i) {
    const Tensor before = p.detach().clone(), master = optimizer->master(p).clone();
    p.mutable_grad() = randn({50});
    optimizer->step(FusedUnscale{full({}, 0.5), ones({})});
    EXPECT_TRUE(same_bytes(p.detach(), before));
    EXPECT_TRUE(same_bytes(optimizer->master(p), master));
    optimizer->step();
    EXPECT_FALSE(same_bytes(optimizer->master(p), master));
  }
}

// Apex would overwrite weights that are loaded after initialize() with its masters.
TEST_P(MasterWeightsTest, FollowWritesToTheParameter) {
  const Tensor p = leaf(randn({6}), kBFloat16);
  auto optimizer = make({p});
  optimizer->keep_master_weights();
  p.mutable_grad() = randn({6});
  optimizer->step();
  const Tensor master = optimizer->master(p).clone();
  {
    NoGradGuard no_grad;
    p[2].fill_(0.5);
  }
  const Tensor now = optimizer->master(p);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(now[i].item<float>(), i == 2 ? 0.5F : master[i].item<float>()) << i;
}

// The remainder does not show which elements were written, so it is dropped and the parameter becomes the master.
TEST_P(MasterWeightsTest, WritingTheParameterDropsItsRemainder) {
  const Tensor p = leaf(randn({6}), kBFloat16), also = leaf(randn({6}), kFloat);
  auto optimizer = make({p, also});
  optimizer->keep_master_weights(MasterWeights::remainder);
  const auto step = [&] {
    p.mutable_grad() = randn({6}).to(kBFloat16);
    also.mutable_grad() = randn({6});
    optimizer->step();
  };
  for (int i = 0; i < 3; ++i) step();
  const Tensor before = optimizer->master(p).clone();
  ASSERT_FALSE(same_bytes(before, p.detach().to(kFloat))) << "there is a remainder";
  ASSERT_TRUE(same_bytes(optimizer->master(p), before)) << "a step's own write does not count as the program's";
  optimizer->step(FusedUnscale{full({}, 1.0), ones({})});
  ASSERT_TRUE(same_bytes(optimizer->master(p), before)) << "neither is the write of a skipped step";
  {
    NoGradGuard no_grad;
    p.fill_(100);
  }
  EXPECT_TRUE(same_bytes(optimizer->master(p), full({6}, 100.0)));
  step();
  if (kind().name != "SGD") return;  // the other optimizers' steps depend on earlier ones
  const Tensor loaded = randn({6}).to(kBFloat16), fresh = leaf(loaded.to(kFloat), kFloat);
  auto reference = make({fresh});
  {
    NoGradGuard no_grad;
    p.copy_(loaded);
  }
  p.mutable_grad() = fresh.mutable_grad() = randn({6}).to(kBFloat16);
  optimizer->step();
  reference->step();
  EXPECT_TRUE(same_bytes(optimizer->master(p), fresh.detach())) << "a step right after a write";
}

TEST_P(MasterWeightsTest, StepUnderAGradScalerWithF16Parameters) {
  const Tensor start = randn({20, 3}).to(kHalf).to(kFloat), x = randn({20, 3}).to(kHalf);
  const Tensor p = leaf(start, kHalf), reference = leaf(start, kFloat);
  auto scaled = make({p}), plain = make({reference});
  scaled->keep_master_weights();
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024));
  for (int i = 0; i < 3; ++i) {
    scaled->zero_grad();
    scaler.scale((p * x).sum()).backward();
    EXPECT_EQ(p.grad().dtype(), kFloat);
    if (i == 1) p.mutable_grad() = p.grad().to(kHalf);
    scaler.step(*scaled);
    scaler.update();
    reference.mutable_grad() = x.to(kFloat);
    plain->step();
    ASSERT_TRUE(same_bytes(scaled->master(p), reference.detach())) << i;
  }
}

TEST(MasterWeights, UseTheDocumentedMemory) {
  const int64_t n = 1 << 16;
  const Tensor p = leaf(randn({n}), kBFloat16);
  for (const auto& [kind, dtype] : {std::pair{MasterWeights::f32, kFloat}, {MasterWeights::remainder, kHalf}}) {
    const int64_t without = cpu::memory_allocated();
    const Tensor as_large = empty({n}, dtype);  // 4 or 2 bytes per element, and sanitizer padding
    const int64_t cost = cpu::memory_allocated() - without;
    optim::SGD sgd({p}, optim::SGDOptions(0.1));
    p.mutable_grad() = ones_like(p);
    const int64_t before = cpu::memory_allocated();
    sgd.keep_master_weights(kind);
    sgd.step();
    EXPECT_EQ(cpu::memory_allocated() - before, cost);
    sgd.zero_grad();
  }
}

TEST(MasterWeights, CanBeAddedAndRemoved) {
  const Tensor p = leaf(randn({1000}), kBFloat16);
  optim::SGD sgd({p}, optim::SGDOptions(0.1));
  EXPECT_EQ(sgd.master_weights(), MasterWeights::none);
  EXPECT_TRUE(sgd.master(p).is_same(p));
  sgd.keep_master_weights();
  EXPECT_EQ(sgd.master_params().size(), 1U);
  EXPECT_EQ(sgd.master_params()[0].dtype(), kFloat);
  sgd.keep_master_weights(MasterWeights::none);
  EXPECT_TRUE(sgd.master(p).is_same(p));
}

struct Nothing : optim::StepScaler {
  void step(optim::Optimizer&) override {}
};
class PlainOptimizer : public optim::Optimizer {
 public:
  explicit PlainOptimizer(std::vector<Tensor> params)
      : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(0.1)) {}
  Tensor step(LossClosure) override { return {}; }
};

TEST(MasterWeights, Errors) {
  const Tensor p = leaf(randn({3}), kHalf), f32 = leaf(randn({3}), kFloat);
  const auto sgd = std::make_shared<optim::SGD>(std::vector<Tensor>{p, f32}, optim::SGDOptions(0.1));
  const auto kept = std::make_shared<optim::SGD>(std::vector<Tensor>{p, f32}, optim::SGDOptions(0.1));
  kept->keep_master_weights();
  const auto plain = std::make_shared<PlainOptimizer>(std::vector<Tensor>{p});
  const Tensor undefined, whole = ones({3}, kLong);
  expect_refused({
      BAD_INPUT("keep_master_weights", plain->keep_master_weights(), NotImplementedError, "except LBFGS"),
      BAD_INPUT("set_step_scaler", plain->set_step_scaler(std::make_shared<Nothing>()), NotImplementedError,
                "plain_step()"),
      UNDEFINED("master", kept->master(undefined)),
      UNDEFINED("set_master", kept->set_master(undefined, p)),
      UNDEFINED("set_master", kept->set_master(p, undefined)),
      BAD_INPUT("set_master", sgd->set_master(p, ones({3})), StateError, "[3] f16", "keep_master_weights()"),
      BAD_INPUT("set_master", kept->set_master(f32, ones({3})), StateError, "[3] f32", "no master"),
      BAD_INPUT("set_master", kept->set_master(p, ones({4})), ShapeError, "[4]", "[3] f16"),
      BAD_INPUT("set_master", kept->set_master(p, whole), DTypeError, "i64"),
  });
}

}  // namespace
}  // namespace tandem::testing
