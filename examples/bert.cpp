// Trains a BERT-style encoder to fill in masked words of the King James Bible.
#include "models/bert.h"

#include "networks/experiment.h"
#include "networks/text.h"

namespace {

constexpr int64_t kMask = 0, kRare = 1, kIgnored = -100;

/// 15 % of the words of the vocabulary are to be predicted: of these, 8 of 10 are masked, one is replaced by a random
/// word, and one stays.
class MaskedWords : public networks::Supervised {
 public:
  explicit MaskedWords(const networks::Setting& setting)
      : Supervised(setting),
        vocabulary(setting.small ? 500 : 4000),
        length(setting.small ? 16 : 32),
        text(networks::words(setting.data, vocabulary)),
        model(setting.small ? models::BertOptions{vocabulary, length, 64, 2, 4}
                            : models::BertOptions{vocabulary, length, 192, 4, 6}) {
    text.train = text.train.to(setting.device);
    text.test = text.test.to(setting.device);
    train(model.ptr(), setting.small ? 3e-3 : 1e-3, /*weight_decay=*/0.01, /*max_norm=*/1);
  }

  double metric() override {
    torch::manual_seed(1);  // the same words are masked in every run
    return 100 * evaluate(setting.small ? 50 : 40, [&](int64_t i) {
             const auto [masked, labels] = mask(networks::pieces(text.test, i, batch, length));
             const auto asked = labels.ne(kIgnored);
             const auto right = model->forward(masked).argmax(2).eq(labels).logical_and(asked);
             return right.sum().to(torch::kDouble) / asked.sum();
           });
  }
  double baseline() override {  // the most frequent word of the test text
    const auto count = text.test.bincount().slice(0, kRare + 1);
    return 100 * count.max().item<double>() / count.sum().item<double>();
  }
  int64_t steps_per_epoch() const override { return text.train.numel() / (batch * length); }
  std::vector<torch::Tensor> data() const override { return {text.train, text.test}; }

 protected:
  torch::Tensor loss() override {
    const auto [masked, labels] = mask(networks::random_pieces(text.train, batch, length));
    return torch::nn::functional::cross_entropy(model->forward(masked).flatten(0, 1), labels.flatten());
  }

 private:
  /// Returns the words with masks, and the words to predict, kIgnored at the other places.
  std::pair<torch::Tensor, torch::Tensor> mask(const torch::Tensor& words) const {
    const auto chance = torch::rand(words.sizes(), torch::TensorOptions(setting.device));
    const auto labels = words.masked_fill(chance.ge(0.15).logical_or(words.eq(kRare)), kIgnored);
    const auto random = torch::randint(2, vocabulary, words.sizes(), words.options());
    const auto replaced = torch::where(chance.lt(0.015), random, words);
    return {replaced.masked_fill(chance.ge(0.03).logical_and(labels.ne(kIgnored)), kMask), labels};
  }

  static constexpr int64_t batch = 64;
  int64_t vocabulary, length;
  networks::Corpus text;
  models::Bert model;
};

}  // namespace

int main(int argc, char** argv) {
  const auto make = [](const networks::Setting& setting) { return std::make_unique<MaskedWords>(setting); };
  return networks::main_of({.name = "bert",
                            .metric = "accuracy on masked words in percent",
                            .lower_is_better = false,
                            .steps = 800,
                            .small_steps = 500,
                            .make = make},
                           argc, argv);
}
