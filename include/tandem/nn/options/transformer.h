#pragma once
// Options of TransformerEncoder, TransformerDecoder and Transformer.
#include "tandem/nn/modules/any.h"
#include "tandem/nn/modules/transformer_layer.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `TransformerEncoderOptions(TransformerEncoderLayerOptions(512, 8), 6).norm(AnyModule(LayerNorm({512})))`
struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options, int64_t num_layers);
  /// The layer that is copied num_layers times, with its values.
  TANDEM_ARG(TransformerEncoderLayer, encoder_layer);
  TANDEM_ARG(int64_t, num_layers);
  /// Optional module for the result of the last layer.
  TANDEM_ARG(AnyModule, norm);
};

/// `TransformerDecoderOptions(TransformerDecoderLayerOptions(512, 8), 6)`
struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options, int64_t num_layers);
  /// The layer that is copied num_layers times, with its values.
  TANDEM_ARG(TransformerDecoderLayer, decoder_layer);
  TANDEM_ARG(int64_t, num_layers);
  /// Optional module for the result of the last layer.
  TANDEM_ARG(AnyModule, norm);
};

/// `TransformerOptions(512, 8).num_encoder_layers(3).batch_first(true)`
struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  TANDEM_ARG(int64_t, d_model) = 512;
  TANDEM_ARG(int64_t, nhead) = 8;
  TANDEM_ARG(int64_t, num_encoder_layers) = 6;
  TANDEM_ARG(int64_t, num_decoder_layers) = 6;
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
  /// Used instead of a TransformerEncoder: forward(src, src_mask, src_key_padding_mask).
  TANDEM_ARG(AnyModule, custom_encoder);
  /// Used instead of a TransformerDecoder: forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
  /// memory_key_padding_mask).
  TANDEM_ARG(AnyModule, custom_decoder);
  TANDEM_ARG(double, layer_norm_eps) = 1e-5;
  /// Whether batches are [N, L, E] instead of [L, N, E].
  TANDEM_ARG(bool, batch_first) = false;
  TANDEM_ARG(bool, norm_first) = false;
};

}  // namespace tandem::nn
#pragma GCC visibility pop
