#pragma once
// A BERT-style encoder: predicts the words that were masked in a text. Also compiles with libtorch.
#include "models/transformer.h"

namespace models {

struct BertOptions {
  int64_t vocabulary, context, width, depth, heads;
};

/// Scores of every word, [batch, words, vocabulary], from word numbers, [batch, words]. Each word sees all others.
struct BertImpl : torch::nn::Module {
  explicit BertImpl(const BertOptions& o)
      : word(o.vocabulary, o.width),
        position(o.context, o.width),
        body(o.width, o.depth, o.heads, /*causal=*/false),
        scores(o.width, o.vocabulary) {
    register_module("word", word);
    register_module("position", position);
    register_module("body", body);
    register_module("scores", scores);
    torch::nn::init::normal_(word->weight, 0.0, 0.02);
    torch::nn::init::normal_(position->weight, 0.0, 0.02);
  }
  torch::Tensor forward(const torch::Tensor& words) {
    return scores(body(word(words) + position->weight.narrow(0, 0, words.size(1))));
  }

  torch::nn::Embedding word, position;
  Transformer body;
  torch::nn::Linear scores;
};
TORCH_MODULE(Bert);

}  // namespace models
