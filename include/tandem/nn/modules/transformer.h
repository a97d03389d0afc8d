#pragma once
// TransformerEncoder, TransformerDecoder, Transformer. The constructors throw StateError for invalid options.
//
// A hint that is_causal is set promises that the mask is causal: the mask is then not read, and may be omitted. Without
// a hint, [L, L] masks in host memory are examined, once per call; masks on other devices are used as they are, because
// examining them would make the host wait.
#include <optional>

#include "tandem/nn/modules/container.h"
#include "tandem/nn/options/transformer.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// A stack of copies of an encoder layer, and an optional norm.
class TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  explicit TransformerEncoderImpl(TransformerEncoderOptions options);
  void reset() override;
  /// Initialises all layers again.
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {},
                 std::optional<bool> is_causal = {});
  void pretty_print(std::ostream& stream) const override;

  TransformerEncoderOptions options;
  ModuleList layers{nullptr};
  AnyModule norm;
};
TANDEM_MODULE(TransformerEncoder);

/// A stack of copies of a decoder layer, and an optional norm.
class TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  explicit TransformerDecoderImpl(TransformerDecoderOptions options);
  void reset() override;
  /// Initialises all layers again.
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                 std::optional<bool> tgt_is_causal = {}, bool memory_is_causal = false);
  void pretty_print(std::ostream& stream) const override;

  TransformerDecoderOptions options;
  ModuleList layers{nullptr};
  AnyModule norm;
};
TANDEM_MODULE(TransformerDecoder);

/// An encoder and a decoder, each with a last LayerNorm. All matrices are initialised by xavier_uniform_. src: [S, N,
/// E], tgt and the result: [T, N, E], or without N. Source: Vaswani et al., "Attention Is All You Need" (2017).
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(TransformerOptions options = {});
  void reset() override;
  void reset_parameters();
  /// A custom encoder or decoder does not get the hints. Throws ShapeError if batches or features differ.
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& src_key_padding_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                 std::optional<bool> src_is_causal = {}, std::optional<bool> tgt_is_causal = {},
                 bool memory_is_causal = false);
  void pretty_print(std::ostream& stream) const override;
  /// [size, size] with -inf above the diagonal and 0 elsewhere. Throws StateError below 0.
  static Tensor generate_square_subsequent_mask(int64_t size, const TensorOptions& options = {});

  TransformerOptions options;
  AnyModule encoder, decoder;
};
TANDEM_MODULE(Transformer);

}  // namespace tandem::nn
#pragma GCC visibility pop
