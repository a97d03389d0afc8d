// The modes throw for contradictory options, unsupported models or optimizers, and calls in the wrong order.
#include <cstdlib>

#include "amp/modes/opt_level_support.h"
#include "support/bad_input.h"
#include "tandem/amp/modes/auto_mixed_precision.h"
#include "tandem/amp/modes/booster.h"
#include "tandem/amp/modes/dtype_policy.h"
#include "tandem/amp/modes/loss_scale_optimizer.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using amp::InitializeOptions;
using amp::OptLevel;

/// A model with its optimizer; each row uses a new one.
struct Parts {
  nn::Linear net{2, 2};
  optim::SGD sgd{net->parameters(), optim::SGDOptions(0.1)};
};

class Plain : public optim::Optimizer {
 public:
  explicit Plain(std::vector<Tensor> params) : Optimizer(std::move(params), std::make_unique<optim::SGDOptions>(0.1)) {}
  Tensor step(LossClosure) override { return {}; }
};

void initialize(OptLevel level, const InitializeOptions& options) {
  Parts parts;
  amp::initialize(parts.net, parts.sgd, level, options);
}

TEST(ModesErrors, ContradictoryOptions) {
  const auto O0 = OptLevel::O0, O1 = OptLevel::O1, O2 = OptLevel::O2;
  expect_refused({
      BAD_INPUT("initialize", initialize(O1, silent().cast_model_type(kHalf)), StateError,
                "cast_model_type is f16 at O1", "choose O2"),
      BAD_INPUT("initialize", initialize(O2, silent().patch_torch_functions(true)), StateError,
                "patch_torch_functions at O2", "choose O1"),
      BAD_INPUT("initialize", initialize(O1, silent().keep_batchnorm_fp32(true)), StateError,
                "keep_batchnorm_fp32 at O1"),
      BAD_INPUT("initialize", initialize(O1, silent().master_weights(true)), StateError, "master_weights at O1"),
      BAD_INPUT("initialize", initialize(O0, silent().master_weights(true)), StateError, "master_weights at O0",
                "in f32"),
      BAD_INPUT("initialize", initialize(O2, silent().cast_model_type(kLong)), StateError, "cast_model_type is i64"),
      BAD_INPUT("initialize", initialize(O2, silent().cast_model_outputs(kDouble)), StateError,
                "cast_model_outputs is f64"),
      BAD_INPUT("initialize", initialize(O2, silent().num_losses(0)), StateError, "num_losses is 0"),
      BAD_INPUT("initialize", initialize(O2, silent().verbosity(-1)), StateError, "verbosity is -1"),
      BAD_INPUT("initialize", initialize(O2, silent().min_loss_scale(8).max_loss_scale(4)), StateError, "min_scale 8",
                "max_scale 4"),
      BAD_INPUT("initialize", initialize(static_cast<OptLevel>(7), silent()), StateError,
                "7 is not an optimization level"),
      BAD_INPUT("LossScale", amp::LossScale(0.0), StateError, "0", "positive"),
      BAD_INPUT("LossScale", amp::LossScale("static"), StateError, "\"static\"", "\"dynamic\""),
      BAD_INPUT("opt_level", amp::opt_level("01"), StateError, "\"01\"", "letter O"),
      BAD_INPUT("register_half_function", amp::register_half_function("nope"), StateError, "'nope'", "policy.h"),
  });
}

TEST(ModesErrors, UnsupportedModelsAndOptimizers) {
  const OptLevel O2 = OptLevel::O2;
  using Models = std::vector<nn::Module*>;
  using Optimizers = std::vector<optim::Optimizer*>;
  const auto twice = [=] {
    Parts p;
    amp::initialize(Models{&*p.net}, Optimizers{&p.sgd, &p.sgd}, O2, silent());
  };
  const auto again = [=] {
    Parts p;
    amp::initialize(p.net, p.sgd, O2, silent());
    p.net->to(kFloat);
    amp::initialize(p.net, p.sgd, O2, silent());
  };
  const auto half = [=] {
    Parts p;
    p.net->to(kHalf);
    amp::initialize(p.net, p.sgd, O2, silent());
  };
  const auto foreign = [=] {
    Parts p;
    Plain plain(p.net->parameters());
    amp::initialize(p.net, plain, O2, silent());
  };
  const auto boosted = [] {
    Parts p;
    amp::Booster booster("fp16");
    booster.boost(p.net, p.sgd);
    booster.boost(p.net, p.sgd);
  };
  const auto wrapped = [] {
    Parts p;
    amp::Booster("fp16").boost(p.net, p.sgd);
    amp::LossScaleOptimizer optimizer(p.sgd);
  };
  expect_refused({
      BAD_INPUT("initialize", amp::initialize(Models{}, Optimizers{}), StateError, "no models"),
      BAD_INPUT("initialize", amp::initialize(Models{nullptr}, Optimizers{}), StateError, "model is null"),
      BAD_INPUT("initialize", twice(), StateError, "given twice"),
      BAD_INPUT("initialize", again(), StateError, "already has a mode"),
      BAD_INPUT("initialize", half(), DTypeError, "'weight'", "[2, 2] f16", "in f32"),
      BAD_INPUT("initialize", foreign(), NotImplementedError, "plain_step()"),
      BAD_INPUT("Booster", boosted(), StateError, "already has a mode"),
      BAD_INPUT("Booster", amp::Booster(std::shared_ptr<amp::MixedPrecision>()), StateError, "null"),
      BAD_INPUT("Booster", amp::Booster("fp17"), StateError, "\"fp17\"", "\"fp16_naive\""),
      BAD_INPUT("LossScaleOptimizer", wrapped(), StateError, "already has a mode"),
      BAD_INPUT("DTypePolicy", amp::DTypePolicy("mixed_float8"), StateError, "\"mixed_float8\"", "\"mixed_float16\""),
      BAD_INPUT("set_global_dtype_policy", amp::set_global_dtype_policy("float16"), StateError, "variables in f16"),
  });
}

TEST(ModesErrors, CallsOutOfOrder) {
  const auto p = std::make_shared<Parts>(), fresh = std::make_shared<Parts>(), apart = std::make_shared<Parts>();
  amp::initialize(p->net, p->sgd, OptLevel::O2, silent().num_losses(2));
  amp::initialize(apart->net, apart->sgd, OptLevel::O2, silent());
  const Tensor loss = p->net->weight.sum();
  using Optimizers = std::vector<optim::Optimizer*>;
  const amp::ScaleLossOptions beyond = amp::ScaleLossOptions().loss_id(2);
  const amp::Booster booster("fp16");
  const auto backward = [=] { amp::Booster("fp16").backward(loss, fresh->sgd); };
  const amp::LossScalersState odd = {{"loss_scaler0x", {}}}, broken = {{"loss_scaler1", {{"scale", 1.0}}}};
  OrderedDict<std::string, Tensor> none, wrong, more;
  wrong.insert("weight", ones({3}));
  wrong.insert("bias", ones({2}, kLong));
  more.insert("weight", ones({2, 2}));
  more.insert("bias", ones({2}));
  more.insert("scale", ones({2}));
  expect_refused({
      BAD_INPUT("scale_loss", amp::scale_loss(loss, fresh->sgd).finish(), StateError, "amp::initialize()"),
      BAD_INPUT("scale_loss", amp::scale_loss(loss, Optimizers{}).finish(), StateError, "no optimizers"),
      BAD_INPUT("scale_loss", amp::scale_loss(loss, Optimizers{nullptr}).finish(), StateError, "null"),
      BAD_INPUT("scale_loss", amp::scale_loss(loss, Optimizers{&p->sgd, &apart->sgd}).finish(), StateError,
                "separately"),
      BAD_INPUT("scale_loss", amp::scale_loss(loss, p->sgd, beyond).finish(), StateError, "loss_id is 2",
                "num_losses is 2"),
      BAD_INPUT("state_dict", amp::state_dict(fresh->sgd), StateError, "amp::initialize()"),
      BAD_INPUT("load_state_dict", amp::load_state_dict(p->sgd, odd), StateError, "'loss_scaler0x'"),
      BAD_INPUT("load_state_dict", amp::load_state_dict(p->sgd, broken), StateError, "missing"),
      BAD_INPUT("load_model_state", amp::load_model_state(*p->net, none), StateError, "missing keys: 'weight', 'bias'"),
      BAD_INPUT("load_model_state", amp::load_model_state(*p->net, wrong), StateError, "'weight' is [3] f32",
                "[2, 2] f16 here", "'bias' is [2] i64"),
      BAD_INPUT("load_model_state", amp::load_model_state(*p->net, more), StateError, "unexpected keys: 'scale'"),
      BAD_INPUT("Booster", backward(), StateError, "boost()"),
      BAD_INPUT("Booster", booster.scale(fresh->sgd), StateError, "boost()"),
  });
}

TEST(ModesErrors, FlagsAndPlainTensorsOfAScaler) {
  const auto scaler = std::make_shared<amp::GradScaler>();
  const auto used = std::make_shared<amp::GradScaler>();
  used->scale(ones({}));
  const Tensor undefined, whole = ones({2}, kLong);
  expect_refused({
      BAD_INPUT("unscale_", scaler->unscale_(std::vector<Tensor>{ones({2})}), StateError, "scale(loss)"),
      BAD_INPUT("unscale_", used->unscale_(std::vector<Tensor>{undefined}), StateError, "0"),
      BAD_INPUT("unscale_", used->unscale_(std::vector<Tensor>{whole}), DTypeError, "i64"),
      BAD_INPUT("unscale_", used->unscale_(std::vector<Tensor>{on_another_device({2})}), DeviceError, "cuda"),
      UNDEFINED("record_found_inf", used->record_found_inf(undefined)),
      BAD_INPUT("record_found_inf", used->record_found_inf(ones({2})), StateError, "[2] f32"),
  });
}

BadInput variable(const std::string& name, const std::string& value, const std::string& text) {
  return bad_input<StateError>("from_environment", name + "=" + value,
                               [=] {
                                 struct Variable {
                                   Variable(const std::string& n, const std::string& v) : name(n) {
                                     setenv(n.c_str(), v.c_str(), 1);
                                   }
                                   ~Variable() { unsetenv(name.c_str()); }
                                   std::string name;
                                 } const set(name, value);
                                 static_cast<void>(amp::AutoMixedPrecisionOptions::from_environment());
                               },
                               {name, text});
}

TEST(ModesErrors, EnvironmentVariables) {
  const std::string prefix = "TANDEM_AUTO_MIXED_PRECISION_";
  const auto f32 = amp::AutoMixedPrecisionOptions().dtype(kFloat);
  const auto unknown = amp::AutoMixedPrecisionOptions().policies({{"sofmax", amp::Cast::lower}});
  const auto unfit = amp::AutoMixedPrecisionOptions().policies({{"relu", amp::Cast::f32_dtype}});
  expect_refused({
      variable(prefix + "DTYPE", "f8", "\"f8\""),
      variable(prefix + "LOSS_SCALE", "big", "\"big\""),
      variable(prefix + "LOSS_SCALE", "-1", "\"-1\""),
      variable(prefix + "ALLOWLIST_ADD", "softmax,linera", "'linera'"),
      variable(prefix + "ALLOWLIST_REMOVE", "softmax", "'softmax', which is not on that list"),
      variable(prefix + "DENYLIST_REMOVE", "linear", "'linear', which is not on that list"),
      BAD_INPUT("enable_auto_mixed_precision", amp::enable_auto_mixed_precision(f32), DTypeError, "f32"),
      BAD_INPUT("enable_auto_mixed_precision", amp::enable_auto_mixed_precision(unknown), StateError, "'sofmax'"),
      BAD_INPUT("enable_auto_mixed_precision", amp::enable_auto_mixed_precision(unfit), StateError, "'relu'"),
  });
  EXPECT_FALSE(amp::is_auto_mixed_precision_enabled());
}

}  // namespace
}  // namespace tandem::testing
