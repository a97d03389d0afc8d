#pragma once
// MultiheadAttention.
#include <tuple>

#include "tandem/nn/modules/linear.h"
#include "tandem/nn/options/multihead_attention.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Projects query, key and value, attends in each head, and projects the joined heads. Source: Vaswani et al.,
/// "Attention Is All You Need" (2017). Parameters: in_proj_weight [3 E, E], or, if kdim or vdim differs from embed_dim,
/// q_proj_weight, k_proj_weight and v_proj_weight; in_proj_bias [3 E]; bias_k and bias_v [1, 1, E]; out_proj. Matrices
/// are initialised by xavier_uniform_ (out_proj.weight as in Linear), bias_k and bias_v by xavier_normal_, biases with
/// 0. Throws StateError for invalid options.
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads);
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  void reset() override;
  /// libtorch's name for the initialisation described above.
  void _reset_parameters();
  /// Returns the output and the weights as functional::multi_head_attention_forward does. Without need_weights, the
  /// weights are undefined, and no [L, S] matrix is stored.
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true,
                                     bool is_causal = false);
  void pretty_print(std::ostream& stream) const override;

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = true;
  Tensor in_proj_weight, in_proj_bias;  ///< each undefined if the layer has none, as those below
  Tensor bias_k, bias_v;
  Linear out_proj{nullptr};
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
  int64_t head_dim = 0;
};
TANDEM_MODULE(MultiheadAttention);

}  // namespace tandem::nn
#pragma GCC visibility pop
