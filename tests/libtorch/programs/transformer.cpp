// A transformer encoder with a mask, positional encodings as a buffer, and an attention layer of one's own.
#include "program.h"

using torch::indexing::None;
using torch::indexing::Slice;

struct PositionalEncodingImpl : torch::nn::Module {
  PositionalEncodingImpl(int64_t d_model, int64_t max_len) {
    auto position = torch::arange(max_len, torch::kFloat).unsqueeze(1);
    auto div_term = torch::exp(torch::arange(0, d_model, 2, torch::kFloat) * (-std::log(10000.0) / d_model));
    auto table = torch::zeros({max_len, d_model});
    table.index_put_({Slice(), Slice(0, None, 2)}, torch::sin(position * div_term));
    table.index_put_({Slice(), Slice(1, None, 2)}, torch::cos(position * div_term));
    pe = register_buffer("pe", table.unsqueeze(1));
  }
  torch::Tensor forward(torch::Tensor x) { return x + pe.index({Slice(None, x.size(0))}); }
  torch::Tensor pe;
};
TORCH_MODULE(PositionalEncoding);

struct SelfAttentionImpl : torch::nn::Module {
  SelfAttentionImpl(int64_t d_model, int64_t heads)
      : heads(heads), qkv(torch::nn::Linear(d_model, 3 * d_model)), out(torch::nn::Linear(d_model, d_model)) {
    register_module("qkv", qkv);
    register_module("out", out);
  }
  torch::Tensor forward(torch::Tensor x) {  // [T, B, C]
    const auto t = x.size(0), b = x.size(1), c = x.size(2);
    auto parts = qkv(x.transpose(0, 1)).view({b, t, 3, heads, c / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    auto scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(c / heads));
    auto mask = torch::ones({t, t}, torch::kBool).tril().logical_not();
    scores = scores.masked_fill(mask, -std::numeric_limits<float>::infinity());
    auto y = torch::einsum("bhij,bhjd->bihd", {torch::softmax(scores, -1), parts[2]}).contiguous().view({b, t, c});
    return out(y).transpose(0, 1);
  }
  int64_t heads;
  torch::nn::Linear qkv, out;
};
TORCH_MODULE(SelfAttention);

int main() {
  const int64_t d_model = 16, length = 10, batch = 4, vocabulary = 11;
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(vocabulary, d_model));
  PositionalEncoding position(d_model, 32);
  SelfAttention attention(d_model, 4);
  torch::nn::TransformerEncoder encoder(
      torch::nn::TransformerEncoderOptions(torch::nn::TransformerEncoderLayerOptions(d_model, 4)
                                               .dim_feedforward(32)
                                               .dropout(0.0)
                                               .activation(torch::kGELU),
                                           2)
          .norm(torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({d_model})))));
  torch::nn::Linear head(d_model, vocabulary);
  torch::nn::ModuleList all(embedding, position, attention, encoder, head);
  program::set_weights(*all, 1);

  const auto tokens = program::integers({length, batch}, 0, vocabulary, 90);
  const auto target = program::integers({length, batch}, 0, vocabulary, 91);
  const auto mask = torch::triu(torch::full({length, length}, -std::numeric_limits<float>::infinity()), 1);
  torch::optim::Adagrad optimizer(all->parameters(), torch::optim::AdagradOptions(0.05));
  for (int step = 0; step < 10; ++step) {
    optimizer.zero_grad();
    auto x = position(embedding(tokens) * std::sqrt(static_cast<double>(d_model)));
    x = encoder(x + attention(x), mask);
    auto loss = torch::nn::functional::cross_entropy(head(x).flatten(0, 1), target.reshape(-1));
    loss.backward();
    optimizer.step();
    program::report_step(step, loss);
  }
}
