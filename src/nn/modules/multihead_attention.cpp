#include "tandem/nn/modules/multihead_attention.h"

#include "src/nn/checks-inl.h"
#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& o) : options(o) { reset(); }

MultiheadAttentionImpl::MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
    : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}

void MultiheadAttentionImpl::reset() {
  const OpScope op("MultiheadAttention");
  const int64_t e = options.embed_dim(), heads = options.num_heads();
  TANDEM_CHECK(e > 0 && heads > 0, StateError, "embed_dim = {}, num_heads = {}; both must be at least 1", e, heads);
  TANDEM_CHECK(e % heads == 0, StateError, "embed_dim = {} is not a multiple of num_heads = {}", e, heads);
  TANDEM_CHECK(options.kdim() > 0 && options.vdim() > 0, StateError, "kdim = {}, vdim = {}; both must be at least 1",
               options.kdim(), options.vdim());
  check_probability("dropout", options.dropout());
  head_dim = e / heads;
  _qkv_same_embed_dim = options.kdim() == e && options.vdim() == e;
  const bool joint = _qkv_same_embed_dim;
  const Tensor none, in = joint ? empty({3 * e, e}) : none, q = joint ? none : empty({e, e});
  const Tensor k = joint ? none : empty({e, options.kdim()}), v = joint ? none : empty({e, options.vdim()});
  const Tensor bias = options.bias() ? empty({3 * e}) : none;
  const Tensor last_k = options.add_bias_kv() ? empty({1, 1, e}) : none;
  const Tensor last_v = options.add_bias_kv() ? empty({1, 1, e}) : none;
  const Linear out(LinearOptions(e, e).bias(options.bias()));
  parameters_.clear();
  children_.clear();
  register_parameter(in_proj_weight, "in_proj_weight", in);
  register_parameter(q_proj_weight, "q_proj_weight", q);
  register_parameter(k_proj_weight, "k_proj_weight", k);
  register_parameter(v_proj_weight, "v_proj_weight", v);
  register_parameter(in_proj_bias, "in_proj_bias", bias);
  register_parameter(bias_k, "bias_k", last_k);
  register_parameter(bias_v, "bias_v", last_v);
  out_proj = register_module("out_proj", out);
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight}) {
    if (weight.defined()) init::xavier_uniform_(weight);
  }
  if (in_proj_bias.defined()) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj->bias);
  }
  for (const Tensor& last : {bias_k, bias_v}) {
    if (last.defined()) init::xavier_normal_(last);
  }
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                           const Tensor& key_padding_mask, bool need_weights,
                                                           const Tensor& attn_mask, bool average_attn_weights,
                                                           bool is_causal) {
  const auto o = functional::MultiheadAttentionForwardFuncOptions(
                     options.embed_dim(), options.num_heads(), in_proj_weight, in_proj_bias, bias_k, bias_v,
                     options.add_zero_attn(), options.dropout(), out_proj->weight, out_proj->bias)
                     .training(is_training())
                     .key_padding_mask(key_padding_mask)
                     .need_weights(need_weights)
                     .attn_mask(attn_mask)
                     .use_separate_proj_weight(!_qkv_same_embed_dim)
                     .q_proj_weight(q_proj_weight)
                     .k_proj_weight(k_proj_weight)
                     .v_proj_weight(v_proj_weight)
                     .average_attn_weights(average_attn_weights)
                     .is_causal(is_causal)
                     .batch_first(options.batch_first());
  return functional::multi_head_attention_forward(query, key, value, o);
}

void MultiheadAttentionImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::MultiheadAttention(embed_dim={}, num_heads={})", options.embed_dim(), options.num_heads());
}

}  // namespace tandem::nn
