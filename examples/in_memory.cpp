// Trains an MLP whose weights are simulated phase-change devices to read handwritten digits, beside the same network in
// software. Products run in the devices, with their noise and coarse steps; gradients are gathered in f32 and written
// to the devices when they exceed a device's step. AMP and the devices mix as in the study that introduced this method
// (models/phase_change.h), which reports 97.7 %, 0.6 points below software.
#include <fmt/format.h>

#include <algorithm>

#include "models/phase_change.h"
#include "networks/experiment.h"

namespace {

/// 64-250-10 with ReLU.
struct MlpImpl : torch::nn::Module {
  MlpImpl() : fc1(64, 250), fc2(250, 10) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(const torch::Tensor& digits) { return fc2(torch::relu(fc1(digits))); }
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(Mlp);

/// A weight in devices, and the updates that they have not received yet.
struct StoredWeight {
  torch::Tensor weight;  ///< what the network computes with: the last reading
  models::PhaseChangeArray devices;
  torch::Tensor pending, read;

  StoredWeight(const torch::Tensor& w, const models::PhaseChangeOptions& options)
      : weight(w), devices(w.detach(), options), pending(torch::zeros_like(w.detach())) {}

  void read_devices() {
    torch::NoGradGuard no_grad;
    read = devices.read();
    weight.copy_(read);
  }
  /// Takes what the optimizer changed, and sends whole steps of it to the devices.
  void write_devices(double step) {
    torch::NoGradGuard no_grad;
    pending += weight - read;
    const auto pulses = (pending / step).trunc();
    pending -= pulses * step;
    devices.program(pulses);
    devices.wait(1);
  }
};

class InMemory : public networks::Experiment {
 public:
  explicit InMemory(const networks::Setting& setting)
      : Experiment(setting),
        sgd((model->to(setting.device), model->parameters()), options()),
        software_sgd((software->to(setting.device), software->parameters()), options()) {
    const auto table = tandem::data::read_csv(setting.data + "/digits.csv").values;
    const auto order = torch::randperm(table.size(0), torch::Generator(1));
    digits = (table.narrow(1, 0, 64) / 16).index_select(0, order).to(setting.device);
    classes = table.select(1, 64).to(torch::kLong).index_select(0, order).to(setting.device);
    for (const auto& w : {model->fc1->weight, model->fc2->weight}) weights.emplace_back(w, devices);
  }

  torch::Tensor step() override {
    const double rate = 1 - static_cast<double>(steps) / static_cast<double>(setting.steps);
    for (auto* optimizer : {&sgd, &software_sgd}) optimizer->param_groups()[0].options().set_lr(kRate * rate);
    const auto rows = torch::randint(0, trained(), {kBatch}, classes.options());
    for (StoredWeight& w : weights) w.read_devices();
    sgd.zero_grad();
    software_sgd.zero_grad();
    torch::Tensor loss, software_loss;
    {
      const auto region = autocast();
      loss = loss_of(model, rows);
      software_loss = loss_of(software, rows);
    }
    scaler.scale(loss + software_loss).backward();
    results.push_back(scaler.step(sgd));
    scaler.step(software_sgd);
    scaler.update();
    for (StoredWeight& w : weights) w.write_devices(devices.step);
    if (++steps % 50 == 0) {
      for (StoredWeight& w : weights) w.devices.refresh();
    }
    return loss;
  }

  double metric() override {
    for (StoredWeight& w : weights) w.read_devices();
    return accuracy(model);
  }
  double baseline() override {
    const auto test = classes.narrow(0, trained(), classes.size(0) - trained());
    return 100 * test.bincount().max().item<double>() / static_cast<double>(test.numel());
  }
  std::string remark() override {
    for (StoredWeight& w : weights) w.devices.wait(1e6);
    const double later = metric();
    for (StoredWeight& w : weights) w.devices.wait(-1e6);
    return fmt::format("in software {:.3f}; after a million steps of drift {:.3f}", accuracy(software), later);
  }
  int64_t skipped_steps() override {
    return std::count_if(results.begin(), results.end(), [](const auto& result) { return result.skipped(); });
  }
  int64_t steps_per_epoch() const override { return trained() / kBatch; }
  std::vector<torch::Tensor> data() const override { return {digits, classes}; }

 private:
  static constexpr int64_t kBatch = 32;
  static constexpr double kRate = 0.2;
  static torch::optim::SGDOptions options() { return torch::optim::SGDOptions(kRate); }

  int64_t trained() const { return digits.size(0) * 4 / 5; }
  torch::Tensor loss_of(Mlp& network, const torch::Tensor& rows) {
    return torch::nn::functional::cross_entropy(network->forward(digits.index_select(0, rows)),
                                                classes.index_select(0, rows));
  }
  double accuracy(Mlp& network) {
    torch::NoGradGuard no_grad;
    const auto region = autocast();
    const int64_t count = digits.size(0) - trained();
    const auto found = network->forward(digits.narrow(0, trained(), count)).argmax(1);
    return 100 * found.eq(classes.narrow(0, trained(), count)).to(torch::kDouble).mean().item<double>();
  }

  models::PhaseChangeOptions devices;
  Mlp model, software;
  torch::optim::SGD sgd, software_sgd;
  torch::Tensor digits, classes;
  std::vector<StoredWeight> weights;
  std::vector<torch::amp::StepResult> results;
  int64_t steps = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto make = [](const networks::Setting& setting) { return std::make_unique<InMemory>(setting); };
  return networks::main_of({.name = "in_memory",
                            .metric = "accuracy in percent",
                            .lower_is_better = false,
                            .steps = 60 * 44,
                            .small_steps = 10 * 44,
                            .make = make},
                           argc, argv);
}
