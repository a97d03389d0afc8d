// Memory runs out: an allocation with operator new fails, or the address space is limited. The program gets an
// exception wherever that happens, and afterwards the same objects work as if it had not happened.
#include <sys/resource.h>

#include <memory>
#include <new>
#include <random>

#include "soak/failing_new.h"
#include "soak/soak.h"
#include "support/memory_limit.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/engine.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/allocator.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"
#include "tandem/tensor/print.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

struct Net : nn::Module {
  Net() {
    register_module("conv", conv);
    register_module("norm", norm);
    register_module("fc", fc);
  }
  Tensor forward(const Tensor& x) {
    const Tensor hidden = max_pool2d(relu(norm(conv(x))), {2});
    return fc(dropout(hidden.flatten(1), 0.25, is_training()));
  }
  nn::Conv2d conv{nn::Conv2dOptions(1, 4, 3)};
  nn::BatchNorm2d norm{4};
  nn::Linear fc{36, 3};
};

/// A training run; `run` holds all of its state.
template <class Optimizer, class Options>
struct Training {
  explicit Training(Options options) : optimizer(net.parameters(), options) {
    run.add("net", net).add("optimizer", optimizer).add("scaler", scaler);
  }
  Net net;
  Optimizer optimizer;
  amp::GradScaler scaler;
  io::Checkpoint run;

  void step(bool low) {
    manual_seed(3);
    optimizer.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard region(kCPU, kBFloat16, low);
      loss = cross_entropy(net.forward(ones({2, 1, 8, 8})), tensor({0, 2}));
    }
    scaler.scale(loss).backward();
    scaler.unscale_(optimizer);
    nn::utils::clip_grad_norm_(net.parameters(), 1);
    scaler.step(optimizer);
    scaler.update();
  }
};
using SgdTraining = Training<optim::SGD, optim::SGDOptions>;
using AdamTraining = Training<optim::Adam, optim::AdamOptions>;

/// The results of a program, for comparison.
using MakeState = std::function<StateDict()>;
struct NamedProgram {
  const char* name;
  MakeState run;
};

Tensor leaf(std::vector<int64_t> sizes) { return randn(sizes).requires_grad_(); }

template <class T, class Options>
StateDict trained(Options options, bool low) {
  manual_seed(1);
  T training(options);
  training.step(low);
  return clone(training.run.state_dict());
}

StateDict graph() {
  manual_seed(1);
  const Tensor x = leaf({3, 4}), w = leaf({4, 5});
  Tensor y = mm(x, w).tanh() * 2;
  y.narrow(0, 0, 1).mul_(x.narrow(0, 0, 1).sum());
  y.register_hook([](const Tensor& g) { return g * 2; });
  y = autograd::checkpoint([&](const Tensor& a) { return softmax(cat(std::vector<Tensor>{a, a * 2}), 1).exp(); }, y);
  const Tensor g = autograd::grad({(y * y).sum()}, {x}, {}, std::nullopt, true)[0];
  (g.index({0, indexing::Slice(1)}) * 3).sum().backward();
  return {{"x", x.grad().clone()}, {"w", w.grad().clone()}};
}

StateDict conversions() {
  manual_seed(1);
  const Tensor x = randn({4, 6});
  std::ostringstream text;
  text << x;
  const Tensor low = x.t().to(kHalf).contiguous(), i = argmax(x, 1);
  return {{"low", low.clone()},
          {"index", i},
          {"where", where(x > 0, x, -x)},
          {"part", x.index({indexing::Slice(1, 3)}).clone()},
          {"length", tensor({static_cast<int64_t>(text.str().size())})}};
}

StateDict file() {
  manual_seed(1);
  Net net;
  static const TemporaryFolder folder;  // created before anything fails; its destructor allocates
  save(net, folder.path("net"));
  manual_seed(2);
  Net other;
  load(other, folder.path("net"));
  return io::deserialize(io::serialize(clone(other.state_dict()), {{"made", "here"}})).tensors;
}

const std::vector<NamedProgram>& programs() {
  static const std::vector<NamedProgram> all{
      {"graph", graph},
      {"SGD", [] { return trained<SgdTraining>(optim::SGDOptions(0.1).momentum(0.9), false); }},
      {"SGD in bf16", [] { return trained<SgdTraining>(optim::SGDOptions(0.1).momentum(0.9), true); }},
      {"Adam in bf16", [] { return trained<AdamTraining>(optim::AdamOptions(0.1).amsgrad(true), true); }},
      {"conversions", conversions},
      {"file", file},
  };
  return all;
}

/// Runs the program once without faults, so that the library creates its one-time state, and keeps the result.
StateDict& expected(size_t program) {
  static std::map<size_t, StateDict> results;
  const auto [it, is_new] = results.try_emplace(program);
  if (is_new) {
    static_cast<void>(programs()[program].run());
    it->second = programs()[program].run();
  }
  return it->second;
}

/// Runs `program` with a fault, then without. Returns a description of what is wrong, or "".
template <class Fault>
std::string with_fault(size_t program, const Fault& fault) {
  std::string ending;
  try {
    fault();
  } catch (const std::bad_alloc&) {
  } catch (const OutOfMemoryError&) {
  } catch (const std::exception& e) {
    ending = std::string("exception ") + typeid(e).name() + ": " + e.what();
  }
  const std::string after = difference(programs()[program].run(), expected(program));
  return after.empty() ? ending : ending + "; afterwards: " + after;
}

// The seed selects the program and the allocation that fails in it.
std::string failing_new(uint64_t seed, const std::function<void(const std::string&)>& report) {
  const size_t program = seed % programs().size();
  static_cast<void>(expected(program));
  static std::map<size_t, uint64_t> allocations;
  if (!allocations.contains(program)) {
    const FailingNew counting;
    static_cast<void>(programs()[program].run());
    allocations[program] = counting.count();
  }
  // Reaches every allocation once, in an order that visits all parts of the program early.
  const uint64_t n = allocations[program], turn = seed / programs().size();
  const uint64_t fails = (turn * 0x9e3779b97f4a7c15u >> 20) % n;
  const bool and_all_after = turn % 4 == 3;
  report(std::string(programs()[program].name) + ", allocation " + std::to_string(fails) + " of " + std::to_string(n) +
         (and_all_after ? " and all after it fail" : " fails"));
  return with_fault(program, [&] {
    const FailingNew failing(fails, and_all_after);
    static_cast<void>(programs()[program].run());
  });
}

/// The same programs with tensors so large that each needs memory from the system.
std::string limited_address_space(uint64_t seed, const std::function<void(const std::string&)>& report) {
  const size_t program = seed % programs().size();
  static_cast<void>(expected(program));
  std::mt19937_64 random(seed);
  const uint64_t kib = random() % 40000;
  report(std::string(programs()[program].name) + " with " + std::to_string(kib) + " KiB");
  return with_fault(program, [&] {
    cpu::empty_cache();
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    const rlimit before = limit;
    limit.rlim_cur = address_space() + (kib << 10);
    struct Restore {
      rlimit limit;
      ~Restore() { setrlimit(RLIMIT_AS, &limit); }
    } const restore{before};
    setrlimit(RLIMIT_AS, &limit);
    std::vector<Tensor> kept;
    for (int i = 0; i < 8; ++i) {
      static_cast<void>(programs()[program].run());
      const Tensor a = ones({256, 1024}).requires_grad_(), image = ones({4, 3, 64, 64}).requires_grad_();
      kept.push_back(softmax(mm(a, a.t()), 1));
      kept.push_back(conv2d(image, ones({16, 3, 3, 3})));
      (kept[kept.size() - 2].sum() + kept.back().sum()).backward();
    }
  });
}

/// An iteration of a scaler and an optimizer with several groups, up to its step.
struct Iteration {
  explicit Iteration(
      const std::function<std::unique_ptr<optim::Optimizer>(std::vector<optim::OptimizerParamGroup>)>& make) {
    const Tensor a = ones({3, 2}).requires_grad_(), b = ones({2}, kDouble).requires_grad_(),
                 c = ones({40}, kBFloat16).requires_grad_();
    params = {a, b, c};
    optimizer = make({optim::OptimizerParamGroup({a}), optim::OptimizerParamGroup({b, c})});
    optimizer->keep_master_weights();
    backward();
    scaler.step(*optimizer);
    scaler.update();
    backward();
  }
  void backward() {
    optimizer->zero_grad();
    Tensor loss = zeros({});
    for (const Tensor& p : params) loss = loss + (p * p).sum().to(kFloat);
    scaler.scale(loss).backward();
  }
  StateDict state() {
    StateDict all = clone(optimizer->state_dict());
    for (size_t i = 0; i < params.size(); ++i) all.insert(std::to_string(i), params[i].detach().clone());
    for (const auto& [key, value] : scaler.state_dict()) all.insert("scaler." + key, full({}, value, kDouble));
    return all;
  }
  std::vector<Tensor> params, aliases;
  std::unique_ptr<optim::Optimizer> optimizer;
  amp::GradScaler scaler{amp::GradScalerOptions().growth_interval(1)};
};

/// Lets each allocation of `call` fail in turn. It must then have changed nothing, and a second call must do all.
template <class Make, class Call>
void expect_all_or_nothing(const std::string& what, const Make& make, const Call& call) {
  const auto whole = make();
  call(*whole);
  const StateDict expected = whole->state();
  for (uint64_t fails = 0;; ++fails) {
    const auto it = make();
    const StateDict before = it->state();
    bool failed = false;
    {
      const FailingNew failing(fails);
      try {
        call(*it);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }
    const std::string where = what + ", allocation " + std::to_string(fails);
    if (failed) {
      ASSERT_EQ(difference(it->state(), before), "") << where;
      call(*it);
    }
    ASSERT_EQ(difference(it->state(), expected), "") << where;
    if (!failed) return;
  }
}

const ChildTaskRegistration new_registration("FailingNew", failing_new);
const ChildTaskRegistration limit_registration("LimitedAddressSpace", limited_address_space);

TEST(OutOfMemory, FailingNewOnlyThrows) { expect_good_outcomes("FailingNew", kSlowRun ? 200 : 1000, {}); }

template <class Optimizer, class Options>
void expect_steps_are_all_or_nothing(const char* name, const Options& options) {
  const auto make = [&] {
    return std::make_unique<Iteration>([&](std::vector<optim::OptimizerParamGroup> groups) {
      return std::make_unique<Optimizer>(std::move(groups), options);
    });
  };
  expect_all_or_nothing(std::string("step of ") + name, make, [](Iteration& it) { it.scaler.step(*it.optimizer); });
  const auto with_aliases = [&] {  // such gradients cannot be unscaled later
    auto it = make();
    for (const Tensor& p : it->params) it->aliases.push_back(p.grad().detach());
    return it;
  };
  expect_all_or_nothing(std::string("step of gradients with aliases of ") + name, with_aliases,
                        [](Iteration& it) { it.scaler.step(*it.optimizer); });
  const auto unscaled = [&] {
    auto it = make();
    it->scaler.unscale_(*it->optimizer);
    return it;
  };
  expect_all_or_nothing(std::string("step after unscale_ of ") + name, unscaled,
                        [](Iteration& it) { it.scaler.step(*it.optimizer); });
  const auto stepped = [&] {
    auto it = make();
    it->scaler.step(*it->optimizer);
    return it;
  };
  expect_all_or_nothing(std::string("update after ") + name, stepped, [](Iteration& it) { it.scaler.update(); });
}

TEST(OutOfMemory, StepsAndUpdatesAreAllOrNothing) {
  expect_steps_are_all_or_nothing<optim::SGD>("SGD", optim::SGDOptions(0.1).momentum(0.9));
  expect_steps_are_all_or_nothing<optim::AdamW>("AdamW", optim::AdamWOptions(0.1));
  expect_steps_are_all_or_nothing<optim::LAMB>("LAMB", optim::LAMBOptions(0.1));
  expect_steps_are_all_or_nothing<optim::RMSprop>("RMSprop", optim::RMSpropOptions(0.1));
}

TEST(OutOfMemory, LimitedAddressSpaceOnlyThrows) {
  if (!MemoryLimit::is_possible()) GTEST_SKIP() << "memory cannot be limited";
  expect_good_outcomes("LimitedAddressSpace", 100, {});
}

}  // namespace
}  // namespace tandem::testing
