#pragma once
// Fashion-MNIST in memory, and experiments that classify it.
#include <torch/torch.h>

#include "networks/experiment.h"

namespace networks {

/// Images, normalised, f32 [n, 1, 28, 28], and classes, i64 [n].
struct Images {
  torch::Tensor images, classes;

  /// The first `count` images of the training or the test set, on a device.
  static Images load(const Setting& setting, bool train, int64_t count);
  /// `count` images at random.
  Images sample(int64_t count) const;
  Images narrow(int64_t start, int64_t count) const;
};

/// Trains a model, which maps images to scores of 10 classes. The metric is the accuracy in percent.
template <class Model>
class ClassifyImages : public Supervised {
 public:
  /// `tested`: images of the test set on which the metric is measured, a multiple of 250.
  ClassifyImages(const Setting& setting, int64_t images, int64_t batch, double lr, Model model, int64_t tested = 10000)
      : Supervised(setting),
        batch_(batch),
        train_(Images::load(setting, true, images)),
        test_(Images::load(setting, false, setting.small ? 1000 : tested)),
        model_(std::move(model)) {
    model_->to(torch::MemoryFormat::ChannelsLast);
    train(model_.ptr(), lr, /*weight_decay=*/0.01);
  }

  double metric() override {
    constexpr int64_t kBatch = 250;
    return 100 * evaluate(test_.images.size(0) / kBatch, [&](int64_t i) {
             const Images batch = test_.narrow(i * kBatch, kBatch);
             return model_->forward(batch.images).argmax(1).eq(batch.classes).to(torch::kFloat).mean();
           });
  }
  double baseline() override { return 10; }  // ten classes of equal size
  std::vector<torch::Tensor> data() const override { return {train_.images, test_.images}; }
  int64_t steps_per_epoch() const override { return train_.images.size(0) / batch_; }

 protected:
  torch::Tensor loss() override {
    const Images batch = train_.sample(batch_);
    return torch::nn::functional::cross_entropy(model_->forward(batch.images), batch.classes);
  }

 private:
  int64_t batch_;
  Images train_, test_;
  Model model_;
};

}  // namespace networks
