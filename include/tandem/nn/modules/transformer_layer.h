#pragma once
// TransformerEncoderLayer, TransformerDecoderLayer. The constructors throw StateError for invalid options.
#include "tandem/nn/modules/dropout.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/multihead_attention.h"
#include "tandem/nn/modules/norm.h"
#include "tandem/nn/options/transformer_layer.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Self-attention and two linear layers, each added to its input and followed (or with norm_first preceded) by a layer
/// norm. A sum that a norm follows is computed together with it, by add_layer_norm, unless the norm has a call hook,
/// which must see the sum. Masks as in MultiheadAttention; is_causal promises that src_mask is causal.
class TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {},
                 bool is_causal = false);
  void pretty_print(std::ostream& stream) const override;

  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn{nullptr};
  Linear linear1{nullptr};
  Dropout dropout{nullptr};
  Linear linear2{nullptr};
  LayerNorm norm1{nullptr}, norm2{nullptr};
  Dropout dropout1{nullptr}, dropout2{nullptr};
};
TANDEM_MODULE(TransformerEncoderLayer);

/// Self-attention, attention to `memory`, and two linear layers, each added to its input and followed (or with
/// norm_first preceded) by a layer norm. Sums and norms as in TransformerEncoderLayer.
class TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                 bool tgt_is_causal = false, bool memory_is_causal = false);
  void pretty_print(std::ostream& stream) const override;

  TransformerDecoderLayerOptions options;
  MultiheadAttention self_attn{nullptr}, multihead_attn{nullptr};
  Linear linear1{nullptr};
  Dropout dropout{nullptr};
  Linear linear2{nullptr};
  LayerNorm norm1{nullptr}, norm2{nullptr}, norm3{nullptr};
  Dropout dropout1{nullptr}, dropout2{nullptr}, dropout3{nullptr};
};
TANDEM_MODULE(TransformerDecoderLayer);

}  // namespace tandem::nn
#pragma GCC visibility pop
