// MultiheadAttention and the transformer modules: values and gradients against PyTorch, initial values, masks that
// reach the fused kernel, autocast.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "nn/golden_modules.h"
#include "support/compare.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

using testing::compare;
using testing::counted;
using testing::device_type;
using testing::leaf;
using testing::numbers;
using testing::prepare;
using Tensors = std::vector<Tensor>;

constexpr int64_t E = 8, kHeads = 2, N = 2, L = 3, S = 4;

Tensor padding(int64_t length) {
  const Tensor mask = zeros({N, length}, kBool);
  mask[1].narrow(0, length - 2, 2).fill_(1);
  return mask;
}

Tensor some_pairs(int64_t rows, int64_t columns) {
  return remainder(arange(rows).unsqueeze(1) + arange(columns) * 2 + 1, 3).eq(0);
}

Tensor causal(int64_t n) { return nn::Transformer::Impl::generate_square_subsequent_mask(n); }

using Options = nn::MultiheadAttentionOptions;

struct Argument {
  const char* name;
  std::vector<int64_t> sizes;
};

Tensors leaves(const std::vector<Argument>& arguments, DType dtype) {
  Tensors x;
  for (const Argument& a : arguments) x.push_back(leaf(a.name, a.sizes, dtype));
  return x;
}

template <class Run>
void expect_attention(const char* name, const std::vector<Argument>& arguments, const Options& options,
                      const Run& run) {
  for (const DType dtype : {kDouble, kFloat}) {
    nn::MultiheadAttention module(options);
    prepare(*module, dtype);
    const Tensors x = leaves(arguments, dtype);
    const std::tuple<Tensor, Tensor> y = run(module, x, dtype);
    Tensors outputs{std::get<0>(y)};
    if (std::get<1>(y).defined()) outputs.push_back(std::get<1>(y));
    compare(name, *module, x, outputs, dtype);
  }
}

TEST(MultiheadAttention, MatchesPyTorch) {
  const std::vector<Argument> qkv{{"q", {L, N, E}}, {"k", {S, N, E}}, {"v", {S, N, E}}};
  using Module = nn::MultiheadAttention;
  expect_attention("self_weights", {{"x", {L, N, E}}}, Options(E, kHeads),
                   [](const Module& m, const Tensors& x, DType) { return m(x[0], x[0], x[0]); });
  expect_attention("key_is_value", {qkv[0], qkv[1]}, Options(E, kHeads),
                   [](const Module& m, const Tensors& x, DType) { return m(x[0], x[1], x[1], Tensor(), false); });
  expect_attention(
      "separate", {qkv[0], {"k6", {S, N, 6}}, {"v5", {S, N, 5}}}, Options(E, kHeads).kdim(6).vdim(5),
      [](const Module& m, const Tensors& x, DType) { return m(x[0], x[1], x[2], Tensor(), true, Tensor(), false); });
  expect_attention("no_bias", qkv, Options(E, kHeads).bias(false),
                   [](const Module& m, const Tensors& x, DType) { return m(x[0], x[1], x[2], Tensor(), false); });
  expect_attention("unbatched", {{"a", {L, E}}, {"b", {S, E}}}, Options(E, kHeads),
                   [](const Module& m, const Tensors& x, DType dtype) {
                     return m(x[0], x[1], x[1], Tensor(), true, numbers("heads", {kHeads, L, S}, dtype));
                   });
  expect_attention("unbatched_flash", {{"a", {L, E}}}, Options(E, kHeads),
                   [](const Module& m, const Tensors& x, DType) {
                     return m(x[0], x[0], x[0], Tensor(), false, causal(L), true, true);
                   });
}

TEST(MultiheadAttention, MatchesPyTorchWithMasks) {
  const std::vector<Argument> qkv{{"q", {L, N, E}}, {"k", {S, N, E}}, {"v", {S, N, E}}};
  using Module = nn::MultiheadAttention;
  for (const bool weights : {true, false}) {
    const auto name = [&](const char* base) { return std::string(base) + (weights ? "_weights" : ""); };
    expect_attention(name("bool_masks").c_str(), qkv, Options(E, kHeads),
                     [&](const Module& m, const Tensors& x, DType) {
                       return m(x[0], x[1], x[2], padding(S), weights, some_pairs(L, S));
                     });
    expect_attention(
        name("float_masks").c_str(), qkv, Options(E, kHeads), [&](const Module& m, const Tensors& x, DType dtype) {
          return m(x[0], x[1], x[2], numbers("keys", {N, S}, dtype), weights, numbers("pairs", {L, S}, dtype));
        });
    expect_attention(name("mixed_masks").c_str(), qkv, Options(E, kHeads),
                     [&](const Module& m, const Tensors& x, DType dtype) {
                       return m(x[0], x[1], x[2], padding(S), weights, numbers("pairs", {L, S}, dtype));
                     });
    expect_attention(name("added_rows").c_str(), qkv, Options(E, kHeads).add_bias_kv(true).add_zero_attn(true),
                     [&](const Module& m, const Tensors& x, DType) {
                       return m(x[0], x[1], x[2], padding(S), weights, some_pairs(L, S));
                     });
    // With the hint, the mask may be omitted.
    for (const Tensor& mask : {causal(S), Tensor()}) {
      expect_attention(name("causal_padded").c_str(), {{"y", {N, S, E}}}, Options(E, kHeads).batch_first(true),
                       [&](const Module& m, const Tensors& x, DType) {
                         return m(x[0], x[0], x[0], padding(S), weights, mask, true, true);
                       });
    }
  }
}

TEST(MultiheadAttention, StaticKeysReplaceTheProjected) {
  manual_seed(1);
  nn::MultiheadAttention m(E, kHeads);
  const Tensor q = randn({L, N, E}), k = randn({S, N, E}), v = randn({S, N, E});
  const auto projected = [&](const Tensor& x, int64_t i) {
    const Tensor y = linear(x, m->in_proj_weight.narrow(0, i * E, E), m->in_proj_bias.narrow(0, i * E, E));
    return y.reshape({S, N * kHeads, E / kHeads}).transpose(0, 1);
  };
  nn::functional::MultiheadAttentionForwardFuncOptions o(E, kHeads, m->in_proj_weight, m->in_proj_bias, Tensor(),
                                                         Tensor(), false, 0, m->out_proj->weight, m->out_proj->bias);
  const Tensor expected = std::get<0>(nn::functional::multi_head_attention_forward(q, k, v, o));
  o.static_k(projected(k, 1)).static_v(projected(v, 2)).need_weights(false);
  const Tensor y = std::get<0>(nn::functional::multi_head_attention_forward(q, zeros_like(k), zeros_like(v), o));
  EXPECT_LT((y - expected).abs().max().item<float>(), 1e-6F);
}

TEST(MultiheadAttention, ParametersAndInitAsInPyTorch) {
  manual_seed(2);
  nn::MultiheadAttention joint(64, 4);
  EXPECT_EQ(joint->named_parameters().keys(),
            (std::vector<std::string>{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
  const double bound = std::sqrt(6.0 / (64 + 192));
  EXPECT_LE(joint->in_proj_weight.abs().max().item<float>(), static_cast<float>(bound));
  EXPECT_GT(joint->in_proj_weight.abs().max().item<float>(), 0.9 * bound);
  EXPECT_EQ(joint->in_proj_bias.abs().sum().item<float>() + joint->out_proj->bias.abs().sum().item<float>(), 0);
  EXPECT_LE(joint->out_proj->weight.abs().max().item<float>(), 1 / std::sqrt(64.0F));
  nn::MultiheadAttention split(Options(8, 2).kdim(6).add_bias_kv(true).bias(false));
  EXPECT_EQ(split->named_parameters().keys(),
            (std::vector<std::string>{"q_proj_weight", "k_proj_weight", "v_proj_weight", "bias_k", "bias_v",
                                      "out_proj.weight"}));
  EXPECT_EQ(split->k_proj_weight.sizes(), IntArrayRef({8, 6}));
  std::ostringstream text;
  text << joint;
  EXPECT_EQ(text.str(),
            "tandem::nn::MultiheadAttention(embed_dim=64, num_heads=4)(\n  (out_proj): "
            "tandem::nn::Linear(in_features=64, out_features=64, bias=true)\n)");
}

TEST(MultiheadAttention, DropsWeightsInTrainingOnly) {
  manual_seed(3);
  nn::MultiheadAttention m(Options(E, kHeads).dropout(0.5));
  const Tensor x = randn({16, 1, E});
  EXPECT_GT(std::get<1>(m(x, x, x, Tensor(), true, Tensor(), false)).eq(0).sum().item<int64_t>(), 0);
  m->eval();
  EXPECT_EQ(std::get<1>(m(x, x, x, Tensor(), true, Tensor(), false)).eq(0).sum().item<int64_t>(), 0);
  const Tensor a = std::get<0>(m(x, x, x)), b = std::get<0>(m(x, x, x, Tensor(), false));
  EXPECT_LT((a - b).abs().max().item<float>(), 1e-5F);
}

template <class Layer, class Options, class Run>
void expect_layer(const char* name, const std::vector<Argument>& arguments, const Options& options, const Run& run) {
  for (const DType dtype : {kDouble, kFloat}) {
    Layer module(options);
    prepare(*module, dtype);
    const Tensors x = leaves(arguments, dtype);
    compare(name, *module, x, {run(module, x)}, dtype);
  }
}

nn::TransformerEncoderLayerOptions layer_options() {
  return nn::TransformerEncoderLayerOptions(E, kHeads).dim_feedforward(12).dropout(0);
}

TEST(TransformerLayers, MatchPyTorch) {
  using Encoder = nn::TransformerEncoderLayer;
  using Decoder = nn::TransformerDecoderLayer;
  const std::vector<Argument> pair{{"x", {L, N, E}}, {"memory", {S, N, E}}};
  expect_layer<Encoder>("encoder_layer", {pair[0]}, layer_options(),
                        [](const Encoder& m, const Tensors& x) { return m(x[0]); });
  expect_layer<Encoder>("encoder_layer_first", {{"y", {N, S, E}}},
                        layer_options().activation(kGELU).norm_first(true).batch_first(true).layer_norm_eps(1e-3),
                        [](const Encoder& m, const Tensors& x) { return m(x[0], causal(S), padding(S), true); });
  expect_layer<Encoder>("encoder_layer_function", {pair[0]},
                        layer_options().activation([](const Tensor& x) { return tanh(x); }),
                        [](const Encoder& m, const Tensors& x) { return m(x[0]); });
  expect_layer<Decoder>("decoder_layer", pair, layer_options(), [](const Decoder& m, const Tensors& x) {
    return m(x[0], x[1], causal(L), some_pairs(L, S), Tensor(), padding(S));
  });
  expect_layer<Decoder>(
      "decoder_layer_first", pair, layer_options().norm_first(true),
      [](const Decoder& m, const Tensors& x) { return m(x[0], x[1], Tensor(), Tensor(), padding(L)); });
}

/// Whether an op of this name was recorded on the way to y.
bool has_recorded(const Tensor& y, std::string_view op) {
  std::set<const autograd::Node*> seen;
  std::vector<const autograd::Node*> open{y.grad_fn().get()};
  while (!open.empty()) {
    const autograd::Node* const node = open.back();
    open.pop_back();
    if (!node || !seen.insert(node).second) continue;
    if (node->op == op) return true;
    for (const autograd::Edge& edge : node->next) open.push_back(edge.node.get());
  }
  return false;
}

/// Compares a layer with itself after a hook on its norms has separated the sums from them.
template <class Layer, class Run>
void expect_fused_norms(Layer layer, const std::vector<nn::LayerNorm>& norms, const Run& run) {
  const Tensor x = randn({L, N, E}).requires_grad_();
  std::vector<Tensor> leaves{x};
  for (const Tensor& p : layer->parameters()) leaves.push_back(p);
  for (const std::optional<DType> region : {std::optional<DType>(), std::optional(kBFloat16), std::optional(kHalf)}) {
    Tensor y[2], gy;
    std::vector<Tensor> gradients[2];
    for (const bool hooked : {false, true}) {
      std::vector<unsigned> hooks;
      for (const nn::LayerNorm& norm : norms) {
        if (hooked) hooks.push_back(norm->register_forward_hook([](nn::Module&, const Tensors&, Tensors&) {}));
      }
      {
        const amp::AutocastGuard autocast(device_type(), region.value_or(kBFloat16), region.has_value());
        y[hooked] = run(layer, x);
      }
      EXPECT_EQ(has_recorded(y[hooked], "add_layer_norm"), !hooked);
      if (!hooked) gy = randn_like(y[0]);
      gradients[hooked] = autograd::grad({y[hooked]}, leaves, {gy});
      for (size_t i = 0; i < hooks.size(); ++i) norms[i]->remove_forward_hook(hooks[i]);
    }
    EXPECT_TRUE(testing::same_bits(y[0], y[1]));
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (testing::on_cuda()) {  // nvcc may fuse an addition with a product before it
        EXPECT_TRUE(allclose(gradients[0][i], gradients[1][i], 1e-2, 1e-3));
      } else {
        EXPECT_TRUE(testing::same_bits(gradients[0][i], gradients[1][i])) << "gradient " << i;
      }
    }
  }
}

TEST(TransformerLayers, SumsAndNormsAreOneOpWithTheSameResults) {
  manual_seed(8);
  for (const bool norm_first : {false, true}) {
    SCOPED_TRACE(norm_first ? "norm_first" : "norm last");
    nn::TransformerEncoderLayer encoder(layer_options().norm_first(norm_first));
    expect_fused_norms(encoder, {encoder->norm1, encoder->norm2},
                       [](nn::TransformerEncoderLayer& m, const Tensor& x) { return m(x); });
    nn::TransformerDecoderLayer decoder(layer_options().norm_first(norm_first));
    const Tensor memory = randn({S, N, E});
    expect_fused_norms(decoder, {decoder->norm1, decoder->norm2, decoder->norm3},
                       [&](nn::TransformerDecoderLayer& m, const Tensor& x) { return m(x, memory); });
  }
}

TEST(TransformerLayers, NormsKeepTheirOptionsAndPolicies) {
  manual_seed(9);
  nn::TransformerEncoderLayer layer(layer_options());
  layer->norm2 = nn::LayerNorm(nn::LayerNormOptions({E}).elementwise_affine(false).eps(0.5));
  const Tensor x = randn({L, N, E}).requires_grad_(), fused = layer(x);
  EXPECT_TRUE(has_recorded(fused, "add_layer_norm"));
  layer->norm2->register_forward_hook([](nn::Module&, const Tensors&, Tensors&) {});
  EXPECT_TRUE(testing::same_bits(fused, layer(x)));
  const amp::AutocastGuard autocast(device_type(), kBFloat16);
  for (const char* op : {"add", "layer_norm", "add_layer_norm"}) {
    const amp::PolicyGuard policies({{op, amp::Cast::lower}});
    nn::TransformerEncoderLayer apart(layer_options());
    EXPECT_FALSE(has_recorded(apart(x), "add_layer_norm")) << op;
  }
  const amp::PolicyGuard policies({{"layer_norm", amp::Cast::lower}});
  EXPECT_EQ(nn::TransformerEncoderLayer(layer_options())(x).dtype(), kBFloat16) << "the policy of layer_norm holds";
}

nn::TransformerOptions transformer_options(int64_t encoders, int64_t decoders) {
  return nn::TransformerOptions(E, kHeads, encoders, decoders).dim_feedforward(12).dropout(0);
}

TEST(Transformer, MatchesPyTorch) {
  using nn::Transformer;
  expect_layer<Transformer>("transformer", {{"source", {S, N, E}}, {"x", {L, N, E}}}, transformer_options(1, 2),
                            [](const Transformer& m, const Tensors& x) {
                              return m(x[0], x[1], Tensor(), causal(L), Tensor(), padding(S), Tensor(), padding(S));
                            });
  expect_layer<Transformer>("transformer_first", {{"s", {N, S, E}}, {"t", {N, L, E}}},
                            transformer_options(2, 1).activation(kGELU).norm_first(true).batch_first(true),
                            [](const Transformer& m, const Tensors& x) {
                              return m(x[0], x[1], some_pairs(S, S), causal(L), some_pairs(L, S), Tensor(), padding(L),
                                       Tensor(), std::nullopt, true);
                            });
}

TEST(Transformer, HintsAndDetectionGiveTheSame) {
  manual_seed(4);
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(layer_options(), 2));
  const Tensor x = randn({5, N, E}), later = ones({5, 5}, kBool).triu(1);
  const Tensor expected = encoder(x, causal(5), Tensor(), false);
  for (const Tensor& mask : {causal(5), later}) {
    EXPECT_LT((encoder(x, mask) - expected).abs().max().item<float>(), 1e-5F);
    EXPECT_LT((encoder(x, mask, Tensor(), true) - expected).abs().max().item<float>(), 1e-5F);
  }
  EXPECT_LT((encoder(x, Tensor(), Tensor(), true) - expected).abs().max().item<float>(), 1e-5F);
  // Almost causal masks are not taken for causal.
  const Tensor almost = later.clone();
  almost[3][4].fill_(0);
  EXPECT_GT((encoder(x, almost) - expected).abs().max().item<float>(), 1e-4F);
}

TEST(Transformer, EvaluationComputesAsTraining) {
  manual_seed(6);
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(layer_options(), 2));
  const Tensor x = randn({S, N, E}), trained = encoder(x, Tensor(), padding(S));
  encoder->eval();
  const NoGradGuard no_grad;
  const Tensor evaluated = encoder(x, Tensor(), padding(S));
  EXPECT_EQ((evaluated - trained).abs().max().item<float>(), 0);
  EXPECT_EQ(evaluated.eq(0).sum().item<int64_t>(), 0);  // PyTorch zeroes padded positions
}

TEST(Transformer, LayersAreCopiesOfTheGiven) {
  manual_seed(5);
  nn::TransformerEncoderLayer layer(layer_options());
  layer->to(kDouble);
  layer->norm1->weight.requires_grad_(false);
  nn::TransformerEncoder encoder(layer, 3);
  EXPECT_EQ(encoder->named_parameters().keys()[0], "layers.0.self_attn.in_proj_weight");
  for (const auto& item : layer->named_parameters()) {
    const Tensor copy = encoder->named_parameters()["layers.2." + item.key()];
    EXPECT_EQ(copy.dtype(), kDouble);
    EXPECT_EQ(copy.requires_grad(), item.value().requires_grad()) << item.key();
    EXPECT_FALSE(copy.is_same(item.value()));
    EXPECT_EQ((copy - item.value()).abs().max().item<double>(), 0) << item.key();
  }
  encoder->reset_parameters();
  EXPECT_NE(
      (encoder->named_parameters()["layers.2.linear1.weight"] - layer->linear1->weight).abs().max().item<double>(), 0);
}

struct CustomEncoder : nn::Module {
  Tensor forward(const Tensor& src, const Tensor& src_mask, const Tensor& src_key_padding_mask) {
    EXPECT_TRUE(src_mask.defined() && !src_key_padding_mask.defined());
    return src * 2;
  }
};
struct CustomDecoder : nn::Module {
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
    return tgt + memory.sum();
  }
};

TEST(Transformer, TakesCustomParts) {
  nn::Transformer m(nn::TransformerOptions(E, kHeads).custom_encoder(CustomEncoder()).custom_decoder(CustomDecoder()));
  const Tensor x = randn({L, N, E});
  EXPECT_LT((m(x, x, causal(L)) - (x + (x * 2).sum())).abs().max().item<float>(), 1e-5F);
  EXPECT_EQ(m->named_children().keys(), (std::vector<std::string>{"encoder", "decoder"}));
  EXPECT_THROWS(m->encoder.forward(x), StateError, "AnyModule", "CustomEncoder", "1 tensors");
}

TEST(Transformer, SquareMaskIsMinusInfinityAboveTheDiagonal) {
  const Tensor mask = nn::Transformer::Impl::generate_square_subsequent_mask(3, kDouble);
  EXPECT_EQ(mask.dtype(), kDouble);
  EXPECT_TRUE(mask.isinf().eq(ones({3, 3}, kBool).triu(1)).all().item<bool>());
  EXPECT_EQ(mask.tril().abs().sum().item<double>(), 0);
  EXPECT_THROWS(nn::Transformer::Impl::generate_square_subsequent_mask(-1), StateError, "size = -1");
}

TEST(Transformer, TrainsUnderAutocast) {
  for (const DType dtype : {kHalf, kBFloat16}) {
    manual_seed(6);
    // Smooth, so that no unit is off in one precision only.
    nn::Transformer m(transformer_options(1, 1).activation(kGELU).batch_first(true));
    nn::Linear last(E, 5);
    std::vector<Tensor> parameters = m->parameters();
    for (const Tensor& p : last->parameters()) parameters.push_back(p);
    optim::SGD sgd(parameters, optim::SGDOptions(0.1));
    const Tensor s = randn({N, S, E}), t = randn({N, L, E}), target = tensor({0, 3, 1, 4, 2, 0});
    float first = 0, loss_value = 0;
    for (int step = 0; step < 6; ++step) {
      sgd.zero_grad();
      Tensor loss;
      {
        amp::AutocastGuard autocast(device_type(), dtype);
        const Tensor h = m(s, t, Tensor(), causal(L), Tensor(), padding(S), Tensor(), padding(S));
        const Tensor y = last(h);
        EXPECT_EQ(h.dtype(), kFloat);  // the last layer norm runs in f32
        EXPECT_EQ(y.dtype(), dtype);
        loss = cross_entropy(y.reshape({N * L, 5}), target);
        EXPECT_EQ(loss.dtype(), kFloat);
        const auto [z, weights] =
            m->encoder.get<nn::TransformerEncoder>().layers->at<nn::TransformerEncoderLayer>(0).self_attn(s, s, s,
                                                                                                          padding(S));
        EXPECT_EQ(z.dtype(), dtype);
        EXPECT_EQ(weights.dtype(), kFloat);
      }
      loss.backward();
      for (const Tensor& p : parameters) {
        ASSERT_TRUE(p.grad().defined());
        EXPECT_EQ(p.grad().dtype(), kFloat);
        EXPECT_TRUE(p.grad().isfinite().all().item<bool>());
      }
      loss_value = loss.item<float>();
      if (step == 0) first = loss_value;
      sgd.step();
    }
    EXPECT_LT(loss_value, 0.9F * first) << static_cast<int>(dtype);
    // The gradients are near those in f32.
    const auto gradients = [&](bool low) {
      sgd.zero_grad();
      Tensor loss;
      {
        amp::AutocastGuard autocast(device_type(), dtype, low);
        loss = cross_entropy(last(m(s, t, Tensor(), causal(L))).reshape({N * L, 5}), target);
      }
      loss.backward();
      return m->named_parameters()["decoder.layers.0.self_attn.in_proj_weight"].grad().clone();
    };
    const Tensor low = gradients(true), high = gradients(false);
    EXPECT_LT((low - high).norm().item<float>(), (dtype == kHalf ? 0.01F : 0.05F) * high.norm().item<float>());
  }
}

}  // namespace
}  // namespace tandem
