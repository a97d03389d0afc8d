#include "tandem/nn/modules/transformer_layer.h"

#include "src/nn/checks-inl.h"
#include "src/nn/text-inl.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/base/check.h"
#include "tandem/nn/init.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/add_layer_norm.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul.h"

namespace tandem::nn {

activation_t::activation_t(init::Nonlinearity relu)
    : is_relu_(relu == kReLU), function_([](const Tensor& x) { return tandem::relu(x); }) {
  const OpScope op("activation");
  TANDEM_CHECK(is_relu_, StateError, "the activation is {}; use kReLU, kGELU or a function", static_cast<int>(relu));
}

activation_t::activation_t(GELUActivation) : function_([](const Tensor& x) { return tandem::gelu(x); }) {}

activation_t::activation_t(Function function) : function_(std::move(function)) {
  const OpScope op("activation");
  TANDEM_CHECK(function_, StateError, "the function is empty; pass one that takes a tensor and returns one");
}

namespace {

void check_transformer_layer(const TransformerEncoderLayerOptions& o) {
  TANDEM_CHECK(o.d_model() > 0 && o.nhead() > 0 && o.d_model() % o.nhead() == 0, StateError,
               "d_model = {}, nhead = {}; both must be at least 1, and d_model a multiple of nhead", o.d_model(),
               o.nhead());
  TANDEM_CHECK(o.dim_feedforward() >= 0, StateError, "dim_feedforward = {}; it must be at least 0",
               o.dim_feedforward());
  check_probability("dropout", o.dropout());
  checks::not_negative("layer_norm_eps", o.layer_norm_eps());
}

MultiheadAttention make_attention(const TransformerEncoderLayerOptions& o) {
  return MultiheadAttention(
      MultiheadAttentionOptions(o.d_model(), o.nhead()).dropout(o.dropout()).batch_first(o.batch_first()));
}

LayerNorm make_layer_norm(const TransformerEncoderLayerOptions& o) {
  return LayerNorm(LayerNormOptions({o.d_model()}).eps(o.layer_norm_eps()));
}

Tensor attend(const MultiheadAttention& attention, const Dropout& dropout, const Tensor& x, const Tensor& memory,
              const Tensor& mask, const Tensor& key_padding_mask, bool is_causal) {
  return dropout(std::get<0>(attention(x, memory, memory, key_padding_mask, false, mask, true, is_causal)));
}

/// The linear layers. A first layer followed by relu runs as one op, as in Sequential.
Tensor feed_forward(const Linear& first, const Dropout& between, const Linear& second, const Dropout& last,
                    const activation_t& activation, const Tensor& x) {
  const bool fused = activation.is_relu() && !detail::has_hooks(*first) &&
                     amp::get_policy("linear") == amp::get_policy("linear_relu") &&
                     amp::get_policy("relu") == amp::Cast::keep;
  const Tensor y = fused ? linear_relu(x, first->weight, first->bias) : activation(first(x));
  return last(second(between(y)));
}

/// Whether autocast treats add_layer_norm in the same way as add followed by layer_norm.
bool has_policies_of_add_and_norm() {
  const amp::Cast norm = amp::get_policy("layer_norm"), fused = amp::get_policy("add_layer_norm");
  const bool same = norm == amp::Cast::f32 ? fused == amp::Cast::f32_dtype : norm == fused;
  return same && (norm == amp::Cast::f32 || norm == amp::Cast::keep) && amp::get_policy("add") == amp::Cast::keep;
}

/// A sum and its norm.
struct NormedSum {
  Tensor norm, sum;
};

/// norm(a + b) and a + b, as one op with the same bits unless a hook of the norm must see the sum.
NormedSum add_norm(const Tensor& a, const Tensor& b, const LayerNorm& norm) {
  const bool fused = a.is_floating_point() && b.is_floating_point() && a.sizes() == b.sizes() &&
                     !detail::has_hooks(*norm) && has_policies_of_add_and_norm();
  NormedSum result;
  if (fused) {
    std::tie(result.norm, result.sum) =
        add_layer_norm(a, b, norm->options.normalized_shape(), norm->weight, norm->bias, norm->options.eps());
  } else {
    result.sum = add(a, b);
    result.norm = norm(result.sum);
  }
  return result;
}

}  // namespace

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(TransformerEncoderLayerOptions o) : options(std::move(o)) {
  reset();
}

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
    : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}

void TransformerEncoderLayerImpl::reset() {
  const OpScope op("TransformerEncoderLayer");
  check_transformer_layer(options);
  parameters_.clear();
  children_.clear();
  self_attn = register_module("self_attn", make_attention(options));
  linear1 = register_module("linear1", Linear(options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", make_layer_norm(options));
  norm2 = register_module("norm2", make_layer_norm(options));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
}

void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  for (const Linear& linear : {self_attn->out_proj, linear1, linear2}) linear->reset_parameters();
  if (self_attn->out_proj->bias.defined()) init::zeros_(self_attn->out_proj->bias);
  for (const LayerNorm& norm : {norm1, norm2}) norm->reset_parameters();
}

Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                            const Tensor& src_key_padding_mask, bool is_causal) {
  const auto attended = [&](const Tensor& x) {
    return attend(self_attn, dropout1, x, x, src_mask, src_key_padding_mask, is_causal);
  };
  const auto fed = [&](const Tensor& x) {
    return feed_forward(linear1, dropout, linear2, dropout2, options.activation(), x);
  };
  if (options.norm_first()) {
    const NormedSum x = add_norm(src, attended(norm1(src)), norm2);
    return add(x.sum, fed(x.norm));
  }
  const Tensor x = add_norm(src, attended(src), norm1).norm;
  return add_norm(x, fed(x), norm2).norm;
}

void TransformerEncoderLayerImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::TransformerEncoderLayer(d_model={}, nhead={})", options.d_model(), options.nhead());
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(TransformerDecoderLayerOptions o) : options(std::move(o)) {
  reset();
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
    : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}

void TransformerDecoderLayerImpl::reset() {
  const OpScope op("TransformerDecoderLayer");
  check_transformer_layer(options);
  parameters_.clear();
  children_.clear();
  self_attn = register_module("self_attn", make_attention(options));
  multihead_attn = register_module("multihead_attn", make_attention(options));
  linear1 = register_module("linear1", Linear(options.d_model(), options.dim_feedforward()));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(options.dim_feedforward(), options.d_model()));
  norm1 = register_module("norm1", make_layer_norm(options));
  norm2 = register_module("norm2", make_layer_norm(options));
  norm3 = register_module("norm3", make_layer_norm(options));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
  dropout3 = register_module("dropout3", Dropout(options.dropout()));
}

void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  multihead_attn->_reset_parameters();
  for (const Linear& linear : {self_attn->out_proj, multihead_attn->out_proj, linear1, linear2}) {
    linear->reset_parameters();
  }
  for (const MultiheadAttention& attention : {self_attn, multihead_attn}) init::zeros_(attention->out_proj->bias);
  for (const LayerNorm& norm : {norm1, norm2, norm3}) norm->reset_parameters();
}

Tensor TransformerDecoderLayerImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                            const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                            const Tensor& memory_key_padding_mask, bool tgt_is_causal,
                                            bool memory_is_causal) {
  const auto attended = [&](const Tensor& x) {
    return attend(self_attn, dropout1, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal);
  };
  const auto remembered = [&](const Tensor& x) {
    return attend(multihead_attn, dropout2, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal);
  };
  const auto fed = [&](const Tensor& x) {
    return feed_forward(linear1, dropout, linear2, dropout3, options.activation(), x);
  };
  if (options.norm_first()) {
    NormedSum x = add_norm(tgt, attended(norm1(tgt)), norm2);
    x = add_norm(x.sum, remembered(x.norm), norm3);
    return add(x.sum, fed(x.norm));
  }
  Tensor x = add_norm(tgt, attended(tgt), norm1).norm;
  x = add_norm(x, remembered(x), norm2).norm;
  return add_norm(x, fed(x), norm3).norm;
}

void TransformerDecoderLayerImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::TransformerDecoderLayer(d_model={}, nhead={})", options.d_model(), options.nhead());
}

}  // namespace tandem::nn
