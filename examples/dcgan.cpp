// Trains a DCGAN on Fashion-MNIST: two networks and two optimizers, but one GradScaler.
#include "models/dcgan.h"

#include <fmt/format.h>

#include "networks/experiment.h"
#include "networks/images.h"
#include "networks/picture.h"

namespace {

namespace F = torch::nn::functional;

class Gan : public networks::Experiment {
 public:
  explicit Gan(const networks::Setting& setting)
      : Experiment(setting),
        real(networks::Images::load(setting, true, setting.small ? 4000 : 60000)),
        test(networks::Images::load(setting, false, 2000)),
        noise(setting.small ? 16 : 64),
        generator(noise, setting.small ? 16 : 64),
        discriminator(setting.small ? 8 : 32),
        generator_adam((prepare(*generator), generator->parameters()), options()),
        discriminator_adam((prepare(*discriminator), discriminator->parameters()), options()) {
    // From Fashion-MNIST's mean and deviation to [-1, 1], the range of the generator.
    for (torch::Tensor* images : {&real.images, &test.images}) *images = (*images * 0.3530 + 0.2860) * 2 - 1;
  }

  torch::Tensor step() override {
    generator->train();
    const auto images = real.sample(kBatch).images;
    torch::Tensor fakes, judged, made;

    discriminator_adam.zero_grad();
    {
      const auto region = autocast();
      fakes = generate(kBatch);
      judged = loss(discriminator(images), 1) + loss(discriminator(fakes.detach()), 0);
    }
    scaler.scale(judged).backward();
    scaler.step(discriminator_adam);

    generator_adam.zero_grad();
    {
      const auto region = autocast();
      made = loss(discriminator(fakes), 1);
    }
    scaler.scale(made).backward();
    scaler.step(generator_adam);

    scaler.update();  // once, after both steps
    ++steps;
    return judged.detach() + made.detach();
  }

  /// The mean distance of 2,000 pictures from as many test images, along random directions (sliced Wasserstein
  /// distance).
  double metric() override { return distance(samples(test.images.size(0))); }
  double baseline() override { return distance(real.images.mean(0, true).expand_as(test.images)); }
  std::string remark() override {
    const auto probability = [&](const torch::Tensor& images) {
      torch::NoGradGuard no_grad;
      return torch::sigmoid(discriminator(images)).mean().item<double>();
    };
    discriminator->eval();
    const double of_real = probability(test.images), of_made = probability(samples(2000));
    discriminator->train();
    return fmt::format("the discriminator's mean probability of being real: {:.2f} of real images, {:.2f} of made ones",
                       of_real, of_made);
  }
  void draw() override {
    networks::write_grid(setting.pictures + "/dcgan_" + setting.precision + ".png",
                         (samples(64).view({4, 16, 28, 28}) + 1) / 2);
  }
  int64_t skipped_steps() override {
    const auto taken = [](auto& adam) {
      const auto& state = static_cast<const torch::optim::AdamParamState&>(*adam.state().begin()->second);
      return static_cast<int64_t>(state.step().template item<float>());
    };
    return 2 * steps - taken(generator_adam) - taken(discriminator_adam);
  }
  int64_t steps_per_epoch() const override { return real.images.size(0) / kBatch; }
  std::vector<torch::Tensor> data() const override { return {real.images, test.images}; }

 private:
  static constexpr int64_t kBatch = 64;
  static torch::optim::AdamOptions options() { return torch::optim::AdamOptions(2e-4).betas({0.5, 0.999}); }

  void prepare(torch::nn::Module& network) const {
    models::initialize(network);
    network.to(setting.device);
    network.to(torch::MemoryFormat::ChannelsLast);
  }
  torch::Tensor generate(int64_t count) {
    return generator(torch::randn({count, noise}, torch::TensorOptions(setting.device)));
  }
  static torch::Tensor loss(const torch::Tensor& scores, double truth) {
    return F::binary_cross_entropy_with_logits(scores, torch::full_like(scores, truth));
  }
  torch::Tensor samples(int64_t count) {
    torch::manual_seed(1);
    torch::NoGradGuard no_grad;
    const auto region = autocast();
    generator->eval();
    return generate(count).to(torch::kFloat);
  }
  double distance(const torch::Tensor& images) const {
    const auto directions = torch::randn({28 * 28, 256}, torch::Generator(7)).to(setting.device) / 28;
    const auto along = [&](const torch::Tensor& x) { return std::get<0>(x.flatten(1).matmul(directions).sort(0)); };
    return (along(images) - along(test.images)).abs().mean().item<double>();
  }

  networks::Images real, test;
  int64_t noise, steps = 0;
  models::Generator generator;
  models::Discriminator discriminator;
  torch::optim::Adam generator_adam, discriminator_adam;
};

}  // namespace

int main(int argc, char** argv) {
  const auto make = [](const networks::Setting& setting) { return std::make_unique<Gan>(setting); };
  return networks::main_of({.name = "dcgan",
                            .metric = "distance of the pictures (sliced Wasserstein)",
                            .lower_is_better = true,
                            .steps = 1874,
                            .small_steps = 250,
                            .make = make},
                           argc, argv);
}
