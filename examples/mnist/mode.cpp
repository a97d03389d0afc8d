#include "mnist/mode.h"

namespace mnist {

using namespace tandem;

namespace {

using Network = std::function<Tensor(const Tensor&)>;

/// Ordinary training: f32, and the base of env.
class Plain : public Mode {
 public:
  Plain(Network network, optim::Optimizer& optimizer) : network_(std::move(network)), optimizer_(optimizer) {}
  Tensor forward(const Tensor& images) override { return network_(images); }
  Tensor step(const Tensor& images, const Tensor& labels, amp::TrainLog* log) override {
    optimizer_.zero_grad();
    const Tensor loss = cross_entropy(forward(images), labels);
    loss.backward();
    optimizer_.step();
    if (log) log->step({.loss = loss, .samples = labels.numel()});
    return loss;
  }

 protected:
  Network network_;
  optim::Optimizer& optimizer_;
};

class Environment final : public Plain {
 public:
  Environment(Network network, optim::Optimizer& optimizer, Device device)
      : Plain(std::move(network), optimizer), device_(device) {
    amp::enable_auto_mixed_precision(amp::AutoMixedPrecisionOptions().dtype(kHalf));
  }
  ~Environment() override { amp::disable_auto_mixed_precision(); }
  double scale() const override { return amp::auto_mixed_precision_scale(device_.type()); }

 private:
  Device device_;
};

/// Opens an autocast region, which lasts as long as the result.
using Region = std::function<std::shared_ptr<void>()>;

/// PyTorch's AMP, and TransformerEngine's.
class Torch final : public Mode {
 public:
  Torch(Network network, optim::Optimizer& optimizer, Region region, bool scales)
      : network_(std::move(network)),
        optimizer_(optimizer),
        region_(std::move(region)),
        scaler_(amp::GradScalerOptions().enabled(scales)) {}
  Tensor forward(const Tensor& images) override {
    const auto autocast = region_();
    return network_(images);
  }
  Tensor step(const Tensor& images, const Tensor& labels, amp::TrainLog* log) override {
    optimizer_.zero_grad();
    Tensor loss;
    {
      const auto autocast = region_();
      loss = cross_entropy(network_(images), labels);
    }
    scaler_.scale(loss).backward();
    const amp::StepResult result = scaler_.step(optimizer_);
    if (log) log->step({.loss = loss, .scaler = &scaler_, .result = result, .samples = labels.numel()});
    scaler_.update();
    return loss;
  }
  double scale() const override { return scaler_.get_scale(); }

 private:
  Network network_;
  optim::Optimizer& optimizer_;
  Region region_;
  amp::GradScaler scaler_;
};

/// Apex's levels.
class Level final : public Mode {
 public:
  Level(const std::string& name, nn::Module& module, Network network, optim::Optimizer& optimizer, Device device)
      : network_(std::move(network)), optimizer_(optimizer), device_(device) {
    amp::initialize(module, optimizer, amp::opt_level(name), amp::InitializeOptions().verbosity(0));
  }
  ~Level() override { amp::set_autocast_enabled(device_.type(), false); }
  Tensor forward(const Tensor& images) override { return network_(images); }
  Tensor step(const Tensor& images, const Tensor& labels, amp::TrainLog* log) override {
    optimizer_.zero_grad();
    const Tensor loss = cross_entropy(network_(images), labels);
    amp::scale_loss(loss, optimizer_).backward();
    optimizer_.step();
    if (log) log->step({.loss = loss, .samples = labels.numel()});
    return loss;
  }
  double scale() const override {
    const auto state = amp::state_dict(optimizer_).at("loss_scaler0");
    return state.empty() ? 1 : state.at("scale").to_double();
  }

 private:
  Network network_;
  optim::Optimizer& optimizer_;
  Device device_;
};

/// Colossal-AI's naive mode.
class Naive final : public Mode {
 public:
  Naive(nn::Module& module, Network network, optim::Optimizer& optimizer)
      : network_(std::move(network)), optimizer_(optimizer), booster_("fp16_naive") {
    booster_.boost(module, optimizer);
  }
  Tensor forward(const Tensor& images) override { return network_(images); }
  Tensor step(const Tensor& images, const Tensor& labels, amp::TrainLog* log) override {
    optimizer_.zero_grad();
    const Tensor loss = cross_entropy(network_(images), labels);
    booster_.backward(loss, optimizer_);
    optimizer_.step();
    if (log) log->step({.loss = loss, .samples = labels.numel()});
    return loss;
  }
  double scale() const override { return booster_.scale(optimizer_); }

 private:
  Network network_;
  optim::Optimizer& optimizer_;
  amp::Booster booster_;
};

}  // namespace

const std::vector<std::string>& mode_names() {
  static const std::vector<std::string> names = {
      "f32",         "bf16",           "f16",           "O0",       "O1", "O2", "O3", "naive", "env",
      "fp8_delayed", "fp8_tensorwise", "fp8_blockwise", "fp8_mxfp8"};
  return names;
}

std::unique_ptr<Mode> make_mode(const std::string& name, std::shared_ptr<nn::Module> module, Network network,
                                optim::Optimizer& optimizer, Device device) {
  if (name == "f32") return std::make_unique<Plain>(std::move(network), optimizer);
  const DeviceType type = device.type();
  if (name == "bf16" || name == "f16") {
    const DType low = name == "f16" ? kHalf : kBFloat16;
    const Region region = [=] { return std::make_shared<amp::AutocastGuard>(type, low); };
    return std::make_unique<Torch>(std::move(network), optimizer, region, low == kHalf);
  }
  if (name.starts_with("fp8_")) {
    const amp::Fp8Recipe recipe = amp::fp8_recipe(name.substr(4));
    const Region region = [=] { return std::make_shared<amp::Fp8AutocastGuard>(type, recipe); };
    return std::make_unique<Torch>(std::move(network), optimizer, region, false);
  }
  if (name == "naive") return std::make_unique<Naive>(*module, std::move(network), optimizer);
  if (name == "env") return std::make_unique<Environment>(std::move(network), optimizer, device);
  return std::make_unique<Level>(name, *module, std::move(network), optimizer, device);
}

}  // namespace mnist
