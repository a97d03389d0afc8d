#pragma once
// Options of MultiheadAttention.
#include <cstdint>

#include "tandem/base/arg.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `MultiheadAttentionOptions(256, 8).dropout(0.1).batch_first(true)`
struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  /// The features of query and output.
  TANDEM_ARG(int64_t, embed_dim);
  TANDEM_ARG(int64_t, num_heads);
  /// The probability with which a weight becomes 0 in training.
  TANDEM_ARG(double, dropout) = 0.0;
  /// Whether the projections have biases.
  TANDEM_ARG(bool, bias) = true;
  /// Whether a learned key and value are appended to the sequences.
  TANDEM_ARG(bool, add_bias_kv) = false;
  /// Whether a key and a value of zeros are appended.
  TANDEM_ARG(bool, add_zero_attn) = false;
  /// The features of key and value.
  TANDEM_ARG(int64_t, kdim);
  TANDEM_ARG(int64_t, vdim);
  /// Whether batches are [N, L, E] instead of [L, N, E].
  TANDEM_ARG(bool, batch_first) = false;
};

namespace functional {
/// Parameters and settings of multi_head_attention_forward.
struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight,
                                       Tensor in_proj_bias, Tensor bias_k, Tensor bias_v, bool add_zero_attn,
                                       double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}
  TANDEM_ARG(int64_t, embed_dim_to_check);
  TANDEM_ARG(int64_t, num_heads);
  /// [3 E, E], and [3 E]: for query, key and value. Tensors of these options may be undefined, except
  /// out_proj_weight and the projections that are used.
  TANDEM_ARG(Tensor, in_proj_weight);
  TANDEM_ARG(Tensor, in_proj_bias);
  /// [1, 1, E]: appended to the projected key and value.
  TANDEM_ARG(Tensor, bias_k);
  TANDEM_ARG(Tensor, bias_v);
  TANDEM_ARG(bool, add_zero_attn);
  TANDEM_ARG(double, dropout_p);
  TANDEM_ARG(Tensor, out_proj_weight);
  TANDEM_ARG(Tensor, out_proj_bias);
  TANDEM_ARG(bool, training) = true;
  /// [N, S], or [S] without a batch: bool (true: the key takes no part), or added to the scores.
  TANDEM_ARG(Tensor, key_padding_mask);
  TANDEM_ARG(bool, need_weights) = true;
  /// [L, S] or [N heads, L, S], likewise.
  TANDEM_ARG(Tensor, attn_mask);
  /// Whether the next three are used instead of in_proj_weight: [E, E], [E, kdim], [E, vdim].
  TANDEM_ARG(bool, use_separate_proj_weight) = false;
  TANDEM_ARG(Tensor, q_proj_weight);
  TANDEM_ARG(Tensor, k_proj_weight);
  TANDEM_ARG(Tensor, v_proj_weight);
  /// [N heads, S, E / heads]: used instead of the projected key and value.
  TANDEM_ARG(Tensor, static_k);
  TANDEM_ARG(Tensor, static_v);
  /// Whether the weights are averaged over the heads.
  TANDEM_ARG(bool, average_attn_weights) = true;
  /// Promises that attn_mask is causal (query i sees the keys 0 to i), so that it need not be read. It may then be
  /// omitted.
  TANDEM_ARG(bool, is_causal) = false;
  /// Whether batches are [N, L, E] instead of [L, N, E].
  TANDEM_ARG(bool, batch_first) = false;
};
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
