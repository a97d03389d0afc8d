#pragma once
// A recurrent language model: predicts the next token of a text. Also compiles with libtorch.
#include <torch/torch.h>

namespace models {

struct LstmOptions {
  int64_t vocabulary, width, layers;
};

/// Scores of the next token, [batch, tokens, vocabulary], from token numbers, [batch, tokens].
struct LstmImpl : torch::nn::Module {
  explicit LstmImpl(const LstmOptions& o)
      : token(o.vocabulary, o.width),
        body(torch::nn::LSTMOptions(o.width, o.width).num_layers(o.layers).batch_first(true)),
        scores(o.width, o.vocabulary) {
    register_module("token", token);
    register_module("body", body);
    register_module("scores", scores);
  }
  torch::Tensor forward(const torch::Tensor& tokens) { return scores(std::get<0>(body(token(tokens)))); }

  torch::nn::Embedding token;
  torch::nn::LSTM body;
  torch::nn::Linear scores;
};
TORCH_MODULE(Lstm);

}  // namespace models
