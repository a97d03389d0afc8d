// Trains a U-Net to find the garments of Fashion-MNIST on textured backgrounds, which this program makes.
#include "models/unet.h"

#include <cmath>
#include <numbers>

#include "networks/experiment.h"
#include "networks/images.h"
#include "networks/picture.h"

namespace {

constexpr int64_t kSize = 32;

struct Scenes {
  torch::Tensor images, masks;  ///< [n, 1, kSize, kSize]; masks are 1 where a garment is
};

/// Sums of three waves of random direction, length and phase, with noise, in [0, 1].
torch::Tensor textures(int64_t count, const torch::Device& device) {
  const torch::TensorOptions options(device);
  const auto x = torch::arange(kSize, options), y = x.view({kSize, 1});
  auto sum = torch::zeros({count, 1, kSize, kSize}, options);
  for (int i = 0; i < 3; ++i) {
    const auto u = torch::randn({count, 1, 1, 1}, options), v = torch::randn({count, 1, 1, 1}, options);
    sum += torch::sin(u * x + v * y + torch::rand({count, 1, 1, 1}, options) * (2 * std::numbers::pi));
  }
  return (sum / 6 + 0.5 + 0.1 * torch::randn(sum.sizes(), options)).clamp(0, 1);
}

class Segmentation : public networks::Supervised {
 public:
  explicit Segmentation(const networks::Setting& setting)
      : Supervised(setting),
        train_set(networks::Images::load(setting, true, setting.small ? 2000 : 20000)),
        test_set(networks::Images::load(setting, false, setting.small ? 500 : 2000)),
        model(setting.small ? models::UNet(4, 2) : models::UNet(16, 3)) {
    model->to(torch::MemoryFormat::ChannelsLast);
    train(model.ptr(), 2e-3, /*weight_decay=*/0.01);
  }

  double metric() override {
    torch::manual_seed(1);  // the same scenes in every run
    return evaluate(test_set.images.size(0) / kBatch, [&](int64_t i) {
      const Scenes scenes = on_textures(test_set.narrow(i * kBatch, kBatch).images);
      return overlap(model->forward(scenes.images).gt(0), scenes.masks.gt(0));
    });
  }
  double baseline() override {  // every pixel is garment
    return evaluate(test_set.images.size(0) / kBatch, [&](int64_t i) {
      const Scenes scenes = on_textures(test_set.narrow(i * kBatch, kBatch).images);
      return overlap(torch::ones_like(scenes.masks).gt(0), scenes.masks.gt(0));
    });
  }
  int64_t steps_per_epoch() const override { return train_set.images.size(0) / kBatch; }
  std::vector<torch::Tensor> data() const override { return {train_set.images, test_set.images}; }

  /// Eight scenes in the first row, what the network found below, and the truth in the last row.
  void draw() override {
    torch::manual_seed(1);
    const Scenes scenes = on_textures(test_set.narrow(0, 8).images);
    torch::Tensor found;
    evaluate(1, [&](int64_t) { return found = torch::sigmoid(model->forward(scenes.images)), found.mean(); });
    networks::write_grid(setting.pictures + "/unet_" + setting.precision + ".png",
                         torch::cat({scenes.images, found.to(torch::kFloat), scenes.masks}).view({3, 8, kSize, kSize}));
  }

 protected:
  torch::Tensor loss() override {
    const Scenes scenes = on_textures(train_set.sample(kBatch).images);
    return torch::nn::functional::binary_cross_entropy_with_logits(model->forward(scenes.images), scenes.masks);
  }

 private:
  static constexpr int64_t kBatch = 50;

  /// Puts each garment somewhere on a texture of its own.
  static Scenes on_textures(const torch::Tensor& normalised) {
    namespace F = torch::nn::functional;
    const int64_t room = kSize - normalised.size(2);
    const int64_t left = torch::randint(0, room + 1, {1}).item<int64_t>();
    const int64_t top = torch::randint(0, room + 1, {1}).item<int64_t>();
    const auto garments = F::pad(normalised * 0.3530 + 0.2860, F::PadFuncOptions({left, room - left, top, room - top}));
    const auto masks = garments.gt(0.05);
    return {torch::where(masks, garments, textures(normalised.size(0), normalised.device())), masks.to(torch::kFloat)};
  }

  /// Intersection over union of two masks.
  static torch::Tensor overlap(const torch::Tensor& a, const torch::Tensor& b) {
    return a.logical_and(b).sum().to(torch::kDouble) / a.logical_or(b).sum();
  }

  networks::Images train_set, test_set;
  models::UNet model;
};

}  // namespace

int main(int argc, char** argv) {
  const auto make = [](const networks::Setting& setting) { return std::make_unique<Segmentation>(setting); };
  return networks::main_of({.name = "unet",
                            .metric = "intersection over union",
                            .lower_is_better = false,
                            .steps = 800,
                            .small_steps = 120,
                            .make = make},
                           argc, argv);
}
