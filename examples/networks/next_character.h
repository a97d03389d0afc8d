#pragma once
// Experiments with language models: predict the next character of the King James Bible.
#include <numbers>

#include "networks/experiment.h"
#include "networks/text.h"

namespace networks {

/// Trains a model, which maps [batch, length] to scores [batch, length, vocabulary]. The metric is in bits per
/// character.
template <class Model>
class NextCharacter : public Supervised {
 public:
  /// `make` makes the model for a vocabulary.
  template <class Make>
  NextCharacter(const Setting& setting, int64_t batch, int64_t length, double lr, Make&& make)
      : Supervised(setting), batch_(batch), length_(length), text_(characters(setting.data)) {
    text_.train = text_.train.to(setting.device);
    text_.test = text_.test.to(setting.device);
    model_ = make(static_cast<int64_t>(text_.tokens.size()));
    train(model_.ptr(), lr, /*weight_decay=*/0.1, /*max_norm=*/1);
  }

  double metric() override {
    const int64_t batches = setting.small ? 8 : 32;
    return evaluate(batches, [&](int64_t i) { return loss_of(pieces(text_.test, i, batch_, length_ + 1)); }) /
           std::numbers::ln2;
  }
  double baseline() override {  // the entropy of the test text's characters
    const auto share = text_.test.cpu().bincount().to(torch::kDouble) / static_cast<double>(text_.test.numel());
    return -torch::xlogy(share, share).sum().item<double>() / std::numbers::ln2;
  }
  std::vector<torch::Tensor> data() const override { return {text_.train, text_.test}; }
  int64_t steps_per_epoch() const override { return text_.train.numel() / (batch_ * length_); }

 protected:
  torch::Tensor loss() override { return loss_of(random_pieces(text_.train, batch_, length_ + 1)); }

 private:
  torch::Tensor loss_of(const torch::Tensor& text) {
    const auto scores = model_->forward(text.narrow(1, 0, length_));
    return torch::nn::functional::cross_entropy(scores.flatten(0, 1), text.narrow(1, 1, length_).flatten());
  }

  int64_t batch_, length_;
  Corpus text_;
  Model model_{nullptr};
};

}  // namespace networks
