#pragma once
// The transformer block of the GPT, the BERT-style encoder and the ViT. Also compiles with libtorch.
#include <torch/torch.h>

namespace models {

/// x + attention(norm(x)), then x + fc2(gelu(fc1(norm(x)))), on [batch, tokens, width]. With `causal`, a token sees
/// itself and the tokens before it.
struct TransformerBlockImpl : torch::nn::Module {
  TransformerBlockImpl(int64_t width, int64_t heads, bool causal)
      : heads(heads),
        causal(causal),
        norm1(torch::nn::LayerNormOptions({width})),
        qkv(width, 3 * width),
        proj(width, width),
        norm2(torch::nn::LayerNormOptions({width})),
        fc1(width, 4 * width),
        fc2(4 * width, width) {
    register_module("norm1", norm1);
    register_module("qkv", qkv);
    register_module("proj", proj);
    register_module("norm2", norm2);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }

  torch::Tensor forward(torch::Tensor x) {
    const int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2);
    // Queries, keys and values, each [batch, heads, tokens, width / heads].
    const auto parts = qkv(norm1(x)).view({batch, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const auto mixed = torch::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, causal);
    x = x + proj(mixed.transpose(1, 2).reshape({batch, tokens, width}));
    return x + fc2(torch::gelu(fc1(norm2(x))));
  }

  int64_t heads;
  bool causal;
  torch::nn::LayerNorm norm1;
  torch::nn::Linear qkv, proj;
  torch::nn::LayerNorm norm2;
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(TransformerBlock);

/// `depth` blocks, one after another, and a layer norm.
struct TransformerImpl : torch::nn::Module {
  TransformerImpl(int64_t width, int64_t depth, int64_t heads, bool causal)
      : norm(torch::nn::LayerNormOptions({width})) {
    for (int64_t i = 0; i < depth; ++i) blocks->push_back(TransformerBlock(width, heads, causal));
    register_module("blocks", blocks);
    register_module("norm", norm);
  }
  torch::Tensor forward(const torch::Tensor& x) { return norm(blocks->forward(x)); }

  torch::nn::Sequential blocks;
  torch::nn::LayerNorm norm;
};
TORCH_MODULE(Transformer);

}  // namespace models
