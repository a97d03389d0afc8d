#include "tandem/nn/modules/transformer.h"

#include <limits>

#include "src/nn/text-inl.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/nn/init.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/diagonal.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

namespace {

/// Whether row i of an [n, n] mask in host memory hides the keys after i, and no others.
template <class T>
bool hides_later_keys(const T* mask, int64_t n, T hidden, T visible) {
  for (int64_t i = 0; i < n; ++i, mask += n) {
    for (int64_t j = 0; j <= i; ++j) {
      if (mask[j] != visible) return false;
    }
    for (int64_t j = i + 1; j < n; ++j) {
      if (mask[j] != hidden) return false;
    }
  }
  return true;
}

/// The hint, or without one, whether the mask is causal for x, [L, N, E], [N, L, E] or [L, E].
bool detect_causal(std::optional<bool> hint, const Tensor& mask, const Tensor& x, bool batch_first) {
  if (hint) return *hint;
  if (!mask.defined() || mask.dim() != 2 || !x.defined() || (x.dim() != 2 && x.dim() != 3)) return false;
  if (mask.device().type() != kCPU || mask.requires_grad()) return false;
  const int64_t n = x.size(x.dim() == 3 && batch_first ? 1 : 0);
  if (mask.size(0) != n || mask.size(1) != n || (mask.dtype() != kBool && !mask.is_floating_point())) return false;
  NoGradGuard no_grad;
  if (mask.dtype() == kBool) return hides_later_keys(contiguous(mask).const_data_ptr<bool>(), n, true, false);
  const Tensor scores = contiguous(to(mask, kFloat));
  return hides_later_keys(scores.const_data_ptr<float>(), n, -std::numeric_limits<float>::infinity(), 0.0f);
}

/// A new layer with the options, values, devices and dtypes of `layer`.
template <class Layer>
Layer copy_of(const Layer& layer) {
  Layer copy(layer->options);
  const auto from = layer->named_parameters(), to = copy->named_parameters();
  copy->to(from.values().front().device(), from.values().front().dtype());
  copy->load_state_dict(layer->state_dict());
  for (const auto& item : from) to[item.key()].requires_grad_(item.value().requires_grad());
  copy->train(layer->is_training());
  return copy;
}

template <class Layer>
ModuleList copies_of(const char* name, const Layer& layer, int64_t count) {
  TANDEM_CHECK(!layer.is_empty(), StateError, "{} is empty; give a layer, or options for one", name);
  TANDEM_CHECK(count > 0, StateError, "num_layers = {}; it must be at least 1", count);
  ModuleList list;
  for (int64_t i = 0; i < count; ++i) list->push_back(copy_of(layer));
  return list;
}

}  // namespace

TransformerEncoderOptions::TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
    : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}

TransformerEncoderOptions::TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options,
                                                     int64_t num_layers)
    : TransformerEncoderOptions(TransformerEncoderLayer(encoder_layer_options), num_layers) {}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
    : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions o) : options(std::move(o)) { reset(); }

void TransformerEncoderImpl::reset() {
  const OpScope op("TransformerEncoder");
  const ModuleList list = copies_of("encoder_layer", options.encoder_layer(), options.num_layers());
  children_.clear();
  layers = register_module("layers", list);
  norm = is_being_cloned() ? options.norm().clone() : options.norm();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

void TransformerEncoderImpl::reset_parameters() {
  for (const auto& layer : *layers) layer->as<TransformerEncoderLayer>()->reset_parameters();
  if (!norm.is_empty()) {
    if (auto* const last = norm.ptr()->as<LayerNorm>()) last->reset_parameters();
  }
}

Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask,
                                       std::optional<bool> is_causal) {
  const bool batch_first = options.encoder_layer()->options.batch_first();
  const bool causal = detect_causal(is_causal, src_mask, src, batch_first);
  Tensor x = src;
  for (size_t i = 0; i < layers->size(); ++i) {
    x = call(layers->at<TransformerEncoderLayer>(i), x, src_mask, src_key_padding_mask, causal);
  }
  return norm.is_empty() ? x : norm.forward(x);
}

void TransformerEncoderImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::TransformerEncoder"; }

TransformerDecoderOptions::TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
    : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}

TransformerDecoderOptions::TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options,
                                                     int64_t num_layers)
    : TransformerDecoderOptions(TransformerDecoderLayer(decoder_layer_options), num_layers) {}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
    : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions o) : options(std::move(o)) { reset(); }

void TransformerDecoderImpl::reset() {
  const OpScope op("TransformerDecoder");
  const ModuleList list = copies_of("decoder_layer", options.decoder_layer(), options.num_layers());
  children_.clear();
  layers = register_module("layers", list);
  norm = is_being_cloned() ? options.norm().clone() : options.norm();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

void TransformerDecoderImpl::reset_parameters() {
  for (const auto& layer : *layers) layer->as<TransformerDecoderLayer>()->reset_parameters();
  if (!norm.is_empty()) {
    if (auto* const last = norm.ptr()->as<LayerNorm>()) last->reset_parameters();
  }
}

Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                       const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask, std::optional<bool> tgt_is_causal,
                                       bool memory_is_causal) {
  const bool batch_first = options.decoder_layer()->options.batch_first();
  const bool causal = detect_causal(tgt_is_causal, tgt_mask, tgt, batch_first);
  Tensor x = tgt;
  for (size_t i = 0; i < layers->size(); ++i) {
    x = call(layers->at<TransformerDecoderLayer>(i), x, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
             memory_key_padding_mask, causal, memory_is_causal);
  }
  return norm.is_empty() ? x : norm.forward(x);
}

void TransformerDecoderImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::TransformerDecoder"; }

TransformerImpl::TransformerImpl(TransformerOptions o) : options(std::move(o)) { reset(); }

void TransformerImpl::reset() {
  const OpScope op("Transformer");
  const TransformerOptions& o = options;
  const auto layer = TransformerEncoderLayerOptions(o.d_model(), o.nhead())
                         .dim_feedforward(o.dim_feedforward())
                         .dropout(o.dropout())
                         .activation(o.activation())
                         .layer_norm_eps(o.layer_norm_eps())
                         .batch_first(o.batch_first())
                         .norm_first(o.norm_first());
  const auto norm = [&] { return AnyModule(LayerNorm(LayerNormOptions({o.d_model()}).eps(o.layer_norm_eps()))); };
  encoder = is_being_cloned() ? o.custom_encoder().clone() : o.custom_encoder();
  if (encoder.is_empty()) {
    encoder = TransformerEncoder(TransformerEncoderOptions(layer, o.num_encoder_layers()).norm(norm()));
  }
  decoder = is_being_cloned() ? o.custom_decoder().clone() : o.custom_decoder();
  if (decoder.is_empty()) {
    decoder = TransformerDecoder(TransformerDecoderOptions(layer, o.num_decoder_layers()).norm(norm()));
  }
  children_.clear();
  register_module("encoder", encoder.ptr());
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const Tensor& p : parameters()) {
    if (p.dim() > 1) init::xavier_uniform_(p);
  }
}

Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask, const Tensor& tgt_mask,
                                const Tensor& memory_mask, const Tensor& src_key_padding_mask,
                                const Tensor& tgt_key_padding_mask, const Tensor& memory_key_padding_mask,
                                std::optional<bool> src_is_causal, std::optional<bool> tgt_is_causal,
                                bool memory_is_causal) {
  {
    const OpScope op("Transformer");
    checks::defined("src", src);
    checks::defined("tgt", tgt);
    TANDEM_CHECK((src.dim() == 2 || src.dim() == 3) && tgt.dim() == src.dim(), ShapeError,
                 "src {} and tgt {} must be {} or [L, E]", checks::show(src), checks::show(tgt),
                 options.batch_first() ? "[N, L, E]" : "[L, N, E]");
    const int64_t batch = options.batch_first() ? 0 : 1;
    TANDEM_CHECK(src.dim() == 2 || src.size(batch) == tgt.size(batch), ShapeError,
                 "src {} and tgt {} differ in the batch (dimension {})", checks::show(src), checks::show(tgt), batch);
    TANDEM_CHECK(src.size(-1) == options.d_model() && tgt.size(-1) == options.d_model(), ShapeError,
                 "src {} and tgt {} must have d_model = {} features", checks::show(src), checks::show(tgt),
                 options.d_model());
  }
  auto* const own_encoder = encoder.ptr()->as<TransformerEncoder>();
  const Tensor memory = own_encoder ? call(*own_encoder, src, src_mask, src_key_padding_mask, src_is_causal)
                                    : encoder.forward(src, src_mask, src_key_padding_mask);
  auto* const own_decoder = decoder.ptr()->as<TransformerDecoder>();
  return own_decoder
             ? call(*own_decoder, tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                    tgt_is_causal, memory_is_causal)
             : decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}

void TransformerImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Transformer(d_model={}, nhead={})", options.d_model(), options.nhead());
}

Tensor TransformerImpl::generate_square_subsequent_mask(int64_t size, const TensorOptions& o) {
  const OpScope op("generate_square_subsequent_mask");
  TANDEM_CHECK(size >= 0, StateError, "size = {}; it must be at least 0", size);
  return triu(full({size, size}, -std::numeric_limits<double>::infinity(), o), 1);
}

}  // namespace tandem::nn
