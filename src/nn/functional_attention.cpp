// nn::functional::multi_head_attention_forward.
#include <cmath>
#include <limits>

#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::functional {

namespace {

using MhaOptions = MultiheadAttentionForwardFuncOptions;
constexpr double kMaskedScore = -std::numeric_limits<double>::infinity();

/// Sizes of a call, with the inputs as batches.
struct MhaSizes {
  int64_t batch, queries, keys, heads, width;
  bool batch_first;
};

void check_mha_mask(const char* name, const Tensor& mask, IntArrayRef sizes) {
  TANDEM_CHECK(mask.dtype() == kBool || mask.is_floating_point(), DTypeError,
               "{} is {}, but must be bool or floating; compare it with 0, or convert it with .to(kFloat)", name,
               checks::show(mask));
  TANDEM_CHECK(mask.sizes() == sizes, ShapeError, "{} is {}, but must be {}", name, checks::show(mask),
               to_string(sizes));
}

MhaSizes check_mha(const Tensor& query, const Tensor& key, const Tensor& value, const MhaOptions& o) {
  checks::defined("query", query);
  checks::defined("key", key);
  checks::defined("value", value);
  checks::defined("out_proj_weight", o.out_proj_weight());
  const int64_t rank = query.dim(), e = o.embed_dim_to_check(), heads = o.num_heads();
  TANDEM_CHECK((rank == 2 || rank == 3) && key.dim() == rank && value.dim() == rank, ShapeError,
               "query {}, key {} and value {} must be {} or [L, E]", checks::show(query), checks::show(key),
               checks::show(value), o.batch_first() ? "[N, L, E]" : "[L, N, E]");
  TANDEM_CHECK(query.size(-1) == e, ShapeError, "query {} has {} features, but must have {}", checks::show(query),
               query.size(-1), e);
  TANDEM_CHECK(heads > 0 && e % heads == 0, StateError, "the embedding size {} is not a multiple of num_heads = {}", e,
               heads);
  const bool batch_first = rank == 2 || o.batch_first();
  const int64_t sequence = rank == 2 || !batch_first ? 0 : 1;
  const MhaSizes s{.batch = rank == 2 ? 1 : query.size(1 - sequence),
                   .queries = query.size(sequence),
                   .keys = key.size(sequence),
                   .heads = heads,
                   .width = e / heads,
                   .batch_first = batch_first};
  TANDEM_CHECK(value.size(sequence) == s.keys, ShapeError, "key {} and value {} differ in length (dimension {})",
               checks::show(key), checks::show(value), sequence);
  TANDEM_CHECK(rank == 2 || (key.size(1 - sequence) == s.batch && value.size(1 - sequence) == s.batch), ShapeError,
               "query {}, key {} and value {} differ in the batch (dimension {})", checks::show(query),
               checks::show(key), checks::show(value), 1 - sequence);
  if (o.use_separate_proj_weight()) {
    checks::defined("q_proj_weight", o.q_proj_weight());
    checks::defined("k_proj_weight", o.k_proj_weight());
    checks::defined("v_proj_weight", o.v_proj_weight());
  } else {
    checks::defined("in_proj_weight", o.in_proj_weight());
    TANDEM_CHECK(o.in_proj_weight().sizes() == IntArrayRef({3 * e, e}), ShapeError,
                 "in_proj_weight is {}, but must be [{}, {}]", checks::show(o.in_proj_weight()), 3 * e, e);
    TANDEM_CHECK(key.size(-1) == e && value.size(-1) == e, ShapeError,
                 "key {} and value {} must have {} features; else set use_separate_proj_weight", checks::show(key),
                 checks::show(value), e);
  }
  if (o.in_proj_bias().defined()) {
    TANDEM_CHECK(o.in_proj_bias().sizes() == IntArrayRef({3 * e}), ShapeError, "in_proj_bias is {}, but must be [{}]",
                 checks::show(o.in_proj_bias()), 3 * e);
  }
  TANDEM_CHECK(o.bias_k().defined() == o.bias_v().defined(), StateError,
               "bias_k is {} and bias_v is {}; give both or neither", checks::show(o.bias_k()),
               checks::show(o.bias_v()));
  for (const Tensor& bias : {o.bias_k(), o.bias_v()}) {
    if (!bias.defined()) continue;
    TANDEM_CHECK(bias.sizes() == IntArrayRef({1, 1, e}), ShapeError, "bias_k or bias_v is {}, but must be [1, 1, {}]",
                 checks::show(bias), e);
    TANDEM_CHECK(!o.static_k().defined() && !o.static_v().defined(), StateError,
                 "bias_k and bias_v cannot be appended to static_k or static_v; give one of them");
  }
  for (const Tensor& fixed : {o.static_k(), o.static_v()}) {
    if (!fixed.defined()) continue;
    TANDEM_CHECK(fixed.sizes() == IntArrayRef({s.batch * heads, s.keys, s.width}), ShapeError,
                 "static_k or static_v is {}, but must be [{}, {}, {}]", checks::show(fixed), s.batch * heads, s.keys,
                 s.width);
  }
  if (o.key_padding_mask().defined()) {
    check_mha_mask("key_padding_mask", o.key_padding_mask(), rank == 2 ? Dims{s.keys} : Dims{s.batch, s.keys});
  }
  if (o.attn_mask().defined()) {
    check_mha_mask("attn_mask", o.attn_mask(),
                   o.attn_mask().dim() == 3 ? Dims{s.batch * heads, s.queries, s.keys} : Dims{s.queries, s.keys});
  }
  return s;
}

struct Heads {
  Tensor q, k, v;  ///< [N, heads, length, E / heads]
};

/// x, [N, L, ...] or [L, N, ...] with the last dimension split into heads, as [N, heads, L, width].
Tensor split_heads(const MhaSizes& s, const Tensor& x) {
  return permute(x, s.batch_first ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{1, 2, 0, 3});
}

/// The projections of x by `count` weights that lie below each other.
std::vector<Tensor> project(const MhaSizes& s, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            int64_t count) {
  const Tensor y = unflatten(tandem::linear(x, weight, bias), -1, {count, s.heads, s.width});
  std::vector<Tensor> parts = unbind(y, 2);
  for (Tensor& part : parts) part = split_heads(s, part);
  return parts;
}

/// The projections. Equal inputs are multiplied once, by joined weights.
Heads project_all(const MhaSizes& s, const MhaOptions& o, const Tensor& query, const Tensor& key, const Tensor& value) {
  const int64_t e = s.heads * s.width;
  const Tensor &w = o.in_proj_weight(), &b = o.in_proj_bias();
  if (!o.use_separate_proj_weight() && key.is_same(value)) {
    if (query.is_same(key)) {
      const std::vector<Tensor> all = project(s, query, w, b, 3);
      return {all[0], all[1], all[2]};
    }
    const std::vector<Tensor> ws = split(w, {e, 2 * e}, 0);
    const std::vector<Tensor> bs = b.defined() ? split(b, {e, 2 * e}, 0) : std::vector<Tensor>(2);
    const std::vector<Tensor> both = project(s, key, ws[1], bs[1], 2);
    return {project(s, query, ws[0], bs[0], 1)[0], both[0], both[1]};
  }
  const std::vector<Tensor> ws = o.use_separate_proj_weight()
                                     ? std::vector<Tensor>{o.q_proj_weight(), o.k_proj_weight(), o.v_proj_weight()}
                                     : chunk(w, 3);
  const std::vector<Tensor> bs = b.defined() ? chunk(b, 3) : std::vector<Tensor>(3);
  return {project(s, query, ws[0], bs[0], 1)[0], project(s, key, ws[1], bs[1], 1)[0],
          project(s, value, ws[2], bs[2], 1)[0]};
}

/// [N, heads, S, width] with `row`, [1, 1, E], appended to the keys.
Tensor append_row(const MhaSizes& s, const Tensor& x, const Tensor& row) {
  const Tensor one = transpose(unflatten(to(row, x.dtype()), -1, {s.heads, s.width}), 1, 2);
  return cat({x, expand(one, {s.batch, s.heads, 1, s.width})}, 2);
}

/// The masks, merged: [1 or N, 1 or heads, 1 or L, S + added], bool (true: the key takes part) or added to the scores;
/// undefined without a mask. It has no dimension of heads unless attn_mask has.
Tensor merge_masks(const MhaSizes& s, const Tensor& attn_mask, const Tensor& key_padding_mask, int64_t added) {
  Tensor of_pairs = attn_mask, of_keys = key_padding_mask;
  if (added > 0) {
    if (of_pairs.defined()) of_pairs = constant_pad_nd(of_pairs, {0, added});
    if (of_keys.defined()) of_keys = constant_pad_nd(of_keys, {0, added});
  }
  const int64_t keys = s.keys + added;
  if (of_pairs.defined() && of_pairs.dim() == 3) of_pairs = reshape(of_pairs, {s.batch, s.heads, s.queries, keys});
  if (of_pairs.defined() && of_pairs.dim() == 2) of_pairs = reshape(of_pairs, {1, 1, s.queries, keys});
  if (of_keys.defined()) of_keys = reshape(of_keys, {s.batch, 1, 1, keys});
  const auto seen = [](const Tensor& mask) { return mask.dtype() == kBool ? logical_not(mask) : mask; };
  if (!of_pairs.defined()) return of_keys.defined() ? seen(of_keys) : Tensor();
  if (!of_keys.defined()) return seen(of_pairs);
  if (of_pairs.dtype() == kBool && of_keys.dtype() == kBool) return logical_and(seen(of_pairs), seen(of_keys));
  if (of_pairs.dtype() == kBool) return where(of_pairs, kMaskedScore, of_keys);
  if (of_keys.dtype() == kBool) return where(of_keys, kMaskedScore, of_pairs);
  return add(of_pairs, of_keys);
}

/// True for the keys after a query.
Tensor later_keys(const MhaSizes& s, Device device) {
  const TensorOptions indices = TensorOptions(kLong).device(device);
  return gt(arange(s.keys, indices), unsqueeze(arange(s.queries, indices), 1));
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  const OpScope op("multi_head_attention_forward");
  const MhaSizes s = check_mha(query, key, value, o);
  const bool is_batched = query.dim() == 3;
  Heads heads;
  if (is_batched) {
    heads = project_all(s, o, query, key, value);
  } else {
    const Tensor q = unsqueeze(query, 0), k = key.is_same(query) ? q : unsqueeze(key, 0);
    heads = project_all(s, o, q, k, value.is_same(key) ? k : unsqueeze(value, 0));
  }
  if (o.static_k().defined()) heads.k = reshape(o.static_k(), {s.batch, s.heads, s.keys, s.width});
  if (o.static_v().defined()) heads.v = reshape(o.static_v(), {s.batch, s.heads, s.keys, s.width});
  int64_t added = 0;
  if (o.bias_k().defined()) {
    heads.k = append_row(s, heads.k, o.bias_k());
    heads.v = append_row(s, heads.v, o.bias_v());
    ++added;
  }
  if (o.add_zero_attn()) {
    const Tensor row = zeros({1, 1, s.heads * s.width}, heads.k.options());
    heads.k = append_row(s, heads.k, row);
    heads.v = append_row(s, heads.v, to(row, heads.v.dtype()));
    ++added;
  }

  // The kernel's own causal mask replaces attn_mask, unless all queries see the keys that were added.
  const bool causal = o.is_causal() && !o.need_weights() && added == 0;
  Tensor attn_mask = causal ? Tensor() : o.attn_mask();
  if (o.is_causal() && !causal && !attn_mask.defined()) attn_mask = later_keys(s, query.device());
  const Tensor mask = merge_masks(s, attn_mask, o.key_padding_mask(), added);
  const double dropout_p = o.training() ? o.dropout_p() : 0;

  Tensor weights, y;
  if (o.need_weights()) {
    Tensor scores = matmul(mul(heads.q, std::sqrt(1 / static_cast<double>(s.width))), transpose(heads.k, 2, 3));
    if (mask.defined()) scores = mask.dtype() == kBool ? where(mask, scores, kMaskedScore) : add(scores, mask);
    weights = softmax(scores, 3);
    if (dropout_p > 0) weights = tandem::dropout(weights, dropout_p, true);
    y = matmul(weights, heads.v);
    if (o.average_attn_weights()) weights = mean(weights, {1});
    if (!is_batched) weights = squeeze(weights, 0);
  } else {
    y = tandem::detail::attention(heads.q, heads.k, heads.v, mask, dropout_p, causal);
  }
  const bool rows_of_batch = s.batch_first;  // [N, L, ...]
  y = permute(y, rows_of_batch ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{2, 0, 1, 3});
  y = reshape(
      y, rows_of_batch ? Dims{s.batch, s.queries, s.heads * s.width} : Dims{s.queries, s.batch, s.heads * s.width});
  y = tandem::linear(y, o.out_proj_weight(), o.out_proj_bias());
  return {is_batched ? y : squeeze(y, 0), weights};
}

}  // namespace tandem::nn::functional
