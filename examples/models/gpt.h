#pragma once
// A GPT: predicts the next token of a text. Also compiles with libtorch.
#include "models/transformer.h"

namespace models {

struct GptOptions {
  int64_t vocabulary, context, width, depth, heads;
};

/// Scores of the next token, [batch, tokens, vocabulary], from token numbers, [batch, tokens]. The last layer's weight
/// is the embedding's, as in GPT-2.
struct GptImpl : torch::nn::Module {
  explicit GptImpl(const GptOptions& o)
      : token(o.vocabulary, o.width), position(o.context, o.width), body(o.width, o.depth, o.heads, /*causal=*/true) {
    register_module("token", token);
    register_module("position", position);
    register_module("body", body);
    torch::nn::init::normal_(token->weight, 0.0, 0.02);
    torch::nn::init::normal_(position->weight, 0.0, 0.02);
  }
  torch::Tensor forward(const torch::Tensor& tokens) {
    const auto x = token(tokens) + position->weight.narrow(0, 0, tokens.size(1));
    return torch::nn::functional::linear(body(x), token->weight);
  }

  torch::nn::Embedding token, position;
  Transformer body;
};
TORCH_MODULE(Gpt);

}  // namespace models
