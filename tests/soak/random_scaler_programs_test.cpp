// Random programs of calls to gradient scalers, legal and illegal: scaled and plain backward passes, accumulation,
// unscaling, clipping, steps, updates and loaded states in any order. Each call throws StateError or does what an
// oracle in f64, which knows the true gradients, says. Calls that throw change nothing. Programs that PyTorch runs
// without an error, and whose steps are right there, throw nothing.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "soak/scaler_oracle.h"
#include "soak/soak.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/warn.h"
#include "tandem/nn/utils.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

/// SGD whose step() is overridden, so that a scaler unscales the gradients before it calls step().
struct OverriddenSgd : optim::SGD {
  using SGD::SGD;
  using SGD::step;
  Tensor step(LossClosure closure = nullptr) override { return SGD::step(closure); }
};

/// A user-defined optimizer without support for scaling.
struct OwnDescent : optim::Optimizer {
  OwnDescent(std::vector<Tensor> params, optim::SGDOptions options)
      : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(options)) {}
  using Optimizer::step;
  Tensor step(LossClosure closure = nullptr) override {
    const NoGradGuard no_grad;
    for (const Tensor& p : parameters()) {
      if (p.grad().defined()) p.sub_((p.grad() * defaults().get_lr()).to(p.dtype()));
    }
    return evaluate(closure);
  }
};

/// A program's tensors, optimizers and scalers.
class ScalerTraining {
 public:
  explicit ScalerTraining(const ScalerProgram& program) : program_(program) {
    for (const DType dtype : program.params) params_.push_back(ones({1}, dtype).requires_grad_());
    for (const ScalerProgram::Optimizer& o : program.optimizers) {
      std::vector<Tensor> params;
      for (const size_t p : o.params) params.push_back(params_[p]);
      const optim::SGDOptions options(o.lr);
      switch (o.kind) {
        case ScalerProgram::Kind::fused:
          optimizers_.push_back(std::make_unique<optim::SGD>(params, options));
          break;
        case ScalerProgram::Kind::overridden:
          optimizers_.push_back(std::make_unique<OverriddenSgd>(params, options));
          break;
        case ScalerProgram::Kind::own:
          optimizers_.push_back(std::make_unique<OwnDescent>(params, options));
          break;
      }
      optimizers_.back()->keep_master_weights(o.masters);
    }
    for (const ScalerProgram::Scaler& s : program.scalers) {
      scalers_.emplace_back(amp::GradScalerOptions()
                                .init_scale(s.scale)
                                .growth_factor(s.growth)
                                .backoff_factor(s.backoff)
                                .growth_interval(s.interval));
    }
  }

  /// Makes the call. Returns whether a scaler skipped a step.
  bool make(const ScalerInstruction& call, const ScalerOracle& oracle) {
    amp::GradScaler& scaler = scalers_[call.scaler];
    optim::Optimizer& optimizer = *optimizers_[call.optimizer];
    const Tensor& p = params_[call.param];
    switch (call.call) {
      case ScalerCall::scaled_backward:
        if (call.flag) {
          const Tensor l = loss(call.slopes);
          const std::vector<Tensor> scaled = scaler.scale(std::vector<Tensor>{l, l});
          (scaled[0] / 4 + scaled[1] * 0.75).backward();
        } else {
          scaler.scale(loss(call.slopes)).backward();
        }
        break;
      case ScalerCall::scale:
        kept_.push_back(scaler.scale(loss(call.slopes)));
        break;
      case ScalerCall::backward:
        kept_[oracle.kept_index(call.kept)].backward({}, call.flag);
        break;
      case ScalerCall::plain_backward:
        loss(call.slopes).backward();
        break;
      case ScalerCall::half_scaled_backward: {
        const Tensor l = loss(call.slopes), m = call.flag ? l : loss(call.slopes), first = scaler.scale(l);
        (first + (call.number != 0 ? scalers_[oracle.next_scaler(call.scaler)].scale(m) : m)).backward();
        break;
      }
      case ScalerCall::seeded_backward:
        if (call.flag) {
          loss(call.slopes).reshape({1}).backward(p.grad());
        } else {
          loss(call.slopes).backward(full({}, scaler.get_scale()));
        }
        break;
      case ScalerCall::grad: {
        const Tensor l = loss(call.slopes);
        std::vector<Tensor> leaves;
        for (size_t i = 0; i < params_.size(); ++i) {
          if (call.slopes[i] != 0 && !program_.has_master(i)) leaves.push_back(params_[i]);
        }
        const std::vector<Tensor> grads = autograd::grad({call.number != 0 ? scaler.scale(l) : l}, leaves);
        for (size_t i = 0; i < leaves.size(); ++i) {
          leaves[i].mutable_grad() = call.flag ? grads[i] * (1.0 / scaler.get_scale()) : grads[i];
        }
        break;
      }
      case ScalerCall::unscale:
        scaler.unscale_(optimizer);
        break;
      case ScalerCall::unscale_tensor:
        scaler.unscale_({p.grad()});
        break;
      case ScalerCall::clip_norm:
        nn::utils::clip_grad_norm_(optimizer.parameters(), call.number);
        break;
      case ScalerCall::clip_value:
        nn::utils::clip_grad_value_(optimizer.parameters(), call.number);
        break;
      case ScalerCall::change:
      case ScalerCall::undo_scale: {
        const double factor = call.call == ScalerCall::change ? call.number : 1.0 / scaler.get_scale();
        if (call.flag) {
          p.grad().set_data(p.grad() * factor);
        } else {
          p.grad().mul_(factor);
        }
        break;
      }
      case ScalerCall::move:
        p.mutable_grad() = params_[call.other].grad();
        if (!call.flag) params_[call.other].mutable_grad() = Tensor();
        break;
      case ScalerCall::replace:
        p.mutable_grad() = full({1}, call.number, program_.grad_dtype(call.param));
        break;
      case ScalerCall::drop:
        p.mutable_grad() = Tensor();
        break;
      case ScalerCall::zero_grad:
        optimizer.zero_grad(!call.flag);
        break;
      case ScalerCall::step:
        return scaler.step(optimizer).skipped();
      case ScalerCall::plain_step:
        optimizer.step();
        break;
      case ScalerCall::update:
        scaler.update();
        break;
      case ScalerCall::set_scale:
        if (call.flag) {
          scaler.update(full({1}, call.number));
        } else {
          scaler.update(call.number);
        }
        break;
      case ScalerCall::load_state: {
        amp::ScalerState state = scaler.state_dict();
        if (!call.flag) state["scale"] = call.number;
        scaler.load_state_dict(state);
        break;
      }
      case ScalerCall::set_interval:
        scaler.set_growth_interval(static_cast<int64_t>(call.number));
        break;
      case ScalerCall::set_factors:
        scaler.set_growth_factor(call.flag ? 4 : 2);
        scaler.set_backoff_factor(call.flag ? 0.25 : 0.5);
    }
    return false;
  }

  /// The value that steps update: the master of a parameter that has one.
  double value(size_t param) const {
    for (size_t o = 0; o < optimizers_.size(); ++o) {
      const std::vector<size_t>& own = program_.optimizers[o].params;
      if (std::find(own.begin(), own.end(), param) == own.end()) continue;
      return optimizers_[o]->master(params_[param]).item<double>();
    }
    return NAN;
  }
  double param(size_t p) const { return params_[p].item<double>(); }
  const Tensor& grad(size_t p) const { return params_[p].grad(); }
  const amp::GradScaler& scaler(size_t s) const { return scalers_[s]; }

 private:
  Tensor loss(const std::array<double, 3>& slopes) const {
    Tensor sum = zeros({});
    for (size_t p = 0; p < params_.size(); ++p) {
      if (slopes[p] != 0) sum = sum + (params_[p].to(kFloat) * slopes[p]).sum();
    }
    return sum;
  }

  const ScalerProgram& program_;
  std::vector<Tensor> params_;
  std::vector<std::unique_ptr<optim::Optimizer>> optimizers_;
  std::vector<amp::GradScaler> scalers_;
  std::vector<Tensor> kept_;
};

/// How often the rules decided, and how many programs were legal.
struct ScalerCounts {
  std::map<ScalerRule, int> threw, stepped;
  int programs = 0, legal = 0, not_stated = 0;
};

double step_roundoff(DType dtype) { return dtype == kFloat ? 0x1p-22 : dtype == kHalf ? 0x1p-10 : 0x1p-7; }

/// Describes the first difference of a number from what is expected, or "".
std::string difference(const char* what, size_t number, double actual, double expected, double tolerance) {
  const bool same =
      actual == expected || (std::isnan(actual) && std::isnan(expected)) || std::abs(actual - expected) <= tolerance;
  if (same) return "";
  return std::string(what) + ' ' + std::to_string(number) + " is " + std::to_string(actual) + ", expected " +
         std::to_string(expected) + " with an error of at most " + std::to_string(tolerance);
}

/// Describes the difference of the state after a call from the oracle's, or "".
std::string difference(const ScalerTraining& training, const ScalerProgram& program, const ScalerOracle& oracle,
                       bool reads) {
  std::string text;
  for (size_t s = 0; s < program.scalers.size() && text.empty(); ++s) {
    text = difference("the scale of scaler", s, training.scaler(s).get_scale(), oracle.scale(s), 0);
    if (!text.empty()) return text;
    text = difference("the growth tracker of scaler", s, static_cast<double>(training.scaler(s).get_growth_tracker()),
                      static_cast<double>(oracle.growth_tracker(s)), 0);
  }
  for (size_t p = 0; p < program.params.size() && text.empty(); ++p) {
    const ScalerGradient& expected = oracle.gradient(p);
    const Tensor& actual = training.grad(p);
    if (actual.defined() != (expected.kind != ScalerGradient::none)) {
      return "the gradient of parameter " + std::to_string(p) + (actual.defined() ? " is defined" : " is undefined");
    }
    if (!reads || !actual.defined() || expected.kind == ScalerGradient::mixed) continue;
    text = difference("the gradient of parameter", p, actual.item<double>(), expected.value * expected.unit,
                      expected.error * expected.unit);
  }
  return text;
}

/// Runs a program on the library and on the oracle. Returns what is wrong, or "".
std::string run_scaler_program(const ScalerProgram& program, ScalerCounts& counts) {
  ScalerTraining training(program);
  ScalerOracle oracle(program);
  std::vector<double> values(program.params.size(), 1);
  for (const ScalerInstruction& call : program.calls) {
    const auto wrong = [&](const std::string& what) { return to_string(call) + "  // " + what; };
    const bool was_legal = oracle.legal();
    const ScalerVerdict verdict = oracle.make(call);
    if (oracle.unsure()) return "";
    if (oracle.refused_legal()) return wrong("the rules refuse a step that is right in PyTorch");
    if (verdict.outcome == ScalerVerdict::not_stated) {
      ++counts.not_stated;
      continue;
    }
    ScalerVerdict::Outcome outcome = ScalerVerdict::done;
    std::string message = "threw nothing";
    bool skipped = false;
    try {
      skipped = training.make(call, oracle);
    } catch (const StateError& e) {
      outcome = ScalerVerdict::state_error;
      message = std::string("threw StateError: ") + e.what();
    } catch (const DTypeError& e) {
      outcome = ScalerVerdict::dtype_error;
      message = std::string("threw DTypeError: ") + e.what();
    } catch (const Error& e) {
      return wrong(std::string("threw: ") + e.what());
    }
    if (outcome != verdict.outcome) {
      return wrong(message + (was_legal && verdict.outcome == ScalerVerdict::done ? ", in a legal program" : ""));
    }
    if (skipped != verdict.skipped) return wrong(skipped ? "skipped a step" : "skipped no step");
    for (size_t p = 0; p < values.size(); ++p) {
      const ScalerStep step = outcome == ScalerVerdict::done ? verdict.steps[p] : ScalerStep();
      const double expected = values[p] + step.change, actual = training.value(p);
      if (std::abs(expected) > (program.params[p] == kHalf ? 6e4 : 0x1p127)) return "";  // a parameter overflows
      const double size = std::abs(values[p]) + std::abs(expected);
      const double error =
          step.change != 0 || step.error > 0 ? step.error + step_roundoff(program.grad_dtype(p)) * size : 0;
      std::string text = difference("parameter", p, actual, expected, error);
      if (text.empty() && program.has_master(p)) {
        text = difference("the rounded parameter", p, training.param(p), actual,
                          step_roundoff(program.params[p]) * size + 0x1p-24);
      }
      if (!text.empty()) return wrong(text);
      values[p] = actual;
    }
    const std::string text = difference(training, program, oracle, call.reads);
    if (!text.empty()) return wrong(text);
    for (const ScalerRuleText& row : scaler_rules()) {
      if (verdict.rules.has(row.rule)) ++(outcome == ScalerVerdict::done ? counts.stepped : counts.threw)[row.rule];
    }
  }
  ++counts.programs;
  counts.legal += oracle.legal();
  return "";
}

/// Leaves out calls as long as the program fails.
ScalerProgram shortened_scaler_program(ScalerProgram program) {
  for (size_t i = program.calls.size(); i-- > 0;) {
    ScalerProgram shorter = program;
    shorter.calls.erase(shorter.calls.begin() + static_cast<std::ptrdiff_t>(i));
    ScalerCounts ignored;
    if (!run_scaler_program(shorter, ignored).empty()) program = std::move(shorter);
  }
  return program;
}

TEST(RandomScalerPrograms, ThrowOrStepRight) {
  const auto previous = set_warning_handler({});
  ScalerCounts counts;
  for (Inputs inputs(kSlowRun ? 300 : 1500); inputs.next();) {
    SCOPED_TRACE(inputs.reproduction());
    const ScalerProgram program = random_scaler_program(inputs.seed());
    const std::string wrong = run_scaler_program(program, counts);
    if (wrong.empty()) continue;
    const ScalerProgram shorter = shortened_scaler_program(program);
    ScalerCounts ignored;
    ADD_FAILURE() << wrong << "\n\nThe program, shortened:\n"
                  << to_string(shorter) << '\n'
                  << run_scaler_program(shorter, ignored);
  }
  set_warning_handler(previous);
  std::printf("%d programs, %d of them legal; %d calls of which the rules say nothing\n", counts.programs, counts.legal,
              counts.not_stated);
  std::printf("%8s %8s\n", "threw", "right");
  for (const ScalerRuleText& row : scaler_rules()) {
    const int threw = counts.threw[row.rule], stepped = counts.stepped[row.rule];
    std::printf("%8d %8d  %s\n", threw, stepped, row.text);
    if (counts.programs < 1000) continue;  // a finder that does not meet a rule is useless
    EXPECT_EQ(threw > 0, row.throws) << row.text;
    EXPECT_EQ(stepped > 0, row.steps) << row.text;
  }
  if (counts.programs > 100) {
    EXPECT_GE(2 * counts.legal, counts.programs);
  }
}

}  // namespace
}  // namespace tandem::testing
