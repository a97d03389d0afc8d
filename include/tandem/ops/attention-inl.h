#pragma once
#include <cmath>
#include <limits>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/attention.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/range_check-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/softmax.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {

namespace detail {

/// Sizes and settings of a call of attention.
struct Attention {
  Dims q_batch,
      k_batch;  ///< leading dimensions of q, and of k and v, after broadcasting; they differ in the last entry
  int64_t queries, keys, width, value_width;
  double scale, dropout;
  bool causal;

  int64_t heads() const { return q_batch.empty() ? 1 : q_batch.back(); }
  int64_t key_heads() const { return k_batch.empty() ? 1 : k_batch.back(); }
  int64_t batches() const {
    int64_t n = 1;
    for (size_t i = 0; i + 1 < q_batch.size(); ++i) n *= q_batch[i];
    return n;
  }
  Dims with(const Dims& batch, int64_t rows, int64_t columns) const {
    Dims sizes = batch;
    sizes.push_back(rows);
    sizes.push_back(columns);
    return sizes;
  }
};

/// The leading dimensions of x, without the last two and, if `without_heads`, dimension -3.
inline Dims batch_of(const Tensor& x, bool without_heads) {
  const size_t n = static_cast<size_t>(x.dim()) - 2;
  return Dims(x.sizes().slice(0, without_heads ? n - 1 : n));
}

/// Checks the arguments of attention.
inline Attention check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout,
                                 bool causal, std::optional<double> scale, bool gqa) {
  checks::floating("query", q);
  checks::floating("key", k);
  checks::floating("value", v);
  const int64_t least = gqa ? 3 : 2;
  TANDEM_CHECK(q.dim() >= least && k.dim() >= least && v.dim() >= least, ShapeError,
               "query {}, key {} and value {} must have at least rank {}", checks::show(q), checks::show(k),
               checks::show(v), least);
  Attention a{.q_batch = {},
              .k_batch = {},
              .queries = q.size(-2),
              .keys = k.size(-2),
              .width = q.size(-1),
              .value_width = v.size(-1),
              .scale = scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, q.size(-1))))),
              .dropout = dropout,
              .causal = causal};
  TANDEM_CHECK(k.size(-1) == a.width, ShapeError, "query {} and key {} differ in the last dimension", checks::show(q),
               checks::show(k));
  TANDEM_CHECK(v.size(-2) == a.keys, ShapeError, "key {} and value {} differ in dimension -2", checks::show(k),
               checks::show(v));
  TANDEM_CHECK(dropout >= 0 && dropout <= 1, StateError, "dropout_p = {}, but must be in [0, 1]", dropout);
  const Dims kv = broadcast_shapes(batch_of(k, gqa), batch_of(v, gqa));
  a.q_batch = a.k_batch = broadcast_shapes(batch_of(q, gqa), kv);
  if (gqa) {
    const int64_t heads = q.size(-3), key_heads = k.size(-3);
    TANDEM_CHECK(v.size(-3) == key_heads && key_heads > 0 && heads % key_heads == 0, ShapeError,
                 "query {}, key {} and value {}: with enable_gqa, key and value must have the same number of heads "
                 "(dimension -3), and query a multiple of it",
                 checks::show(q), checks::show(k), checks::show(v));
    a.q_batch.push_back(heads);
    a.k_batch.push_back(key_heads);
  }
  if (mask.defined()) {
    const Dims weights = a.with(a.q_batch, a.queries, a.keys);
    TANDEM_CHECK(mask.dtype() == kBool || mask.is_floating_point(), DTypeError,
                 "attn_mask is {}, but must be bool or floating; compare it with 0, or convert it with .to(kFloat)",
                 checks::show(mask));
    TANDEM_CHECK(broadcast_shapes(mask.sizes(), weights) == weights, ShapeError,
                 "attn_mask {} does not broadcast to the weights {}", checks::show(mask), to_string(weights));
  }
  return a;
}

/// x, [..., rows, columns], as [B, H, rows, columns] with the given leading dimensions.
inline Tensor as_heads(const Attention& a, const Tensor& x, const Dims& batch) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  return reshape(expand(x, a.with(batch, rows, columns)),
                 {a.batches(), batch.empty() ? 1 : batch.back(), rows, columns});
}
/// The same with the elements of a row next to each other, as kernels need it.
inline Tensor rows_of_heads(const Attention& a, const Tensor& x, const Dims& batch) {
  return as_heads(a, x.stride(-1) == 1 || x.size(-1) == 1 ? x : contiguous(x), batch);
}

/// The mask as kernels need it: [B, H, L, S], bool or the dtype of scores.
inline Tensor mask_of_heads(const Attention& a, const Tensor& mask, DType scores) {
  if (!mask.defined()) return {};
  Tensor m = mask.dtype() == kBool ? mask : to(mask, scores);
  Dims rows = m.impl().sizes;
  if (rows.empty() || rows.back() != a.keys) {
    if (rows.empty()) rows.push_back(1);
    rows.back() = a.keys;
    m = contiguous(expand(m, rows));
  }
  return rows_of_heads(a, expand(m, a.with(a.q_batch, a.queries, a.keys)), a.q_batch);
}

inline AttentionCall attention_call(const Attention& a, const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Tensor& mask, PhiloxState state) {
  AttentionCall call;
  call.q = rows_of_heads(a, q, a.q_batch);
  call.k = rows_of_heads(a, k, a.k_batch);
  call.v = rows_of_heads(a, v, a.k_batch);
  call.mask = mask_of_heads(a, mask, checks::sum_dtype(q.dtype()));
  call.scale = a.scale;
  call.causal = a.causal;
  call.dropout = a.dropout;
  call.state = state;
  return call;
}

/// Dropout's mask [B, H, L, S].
inline Tensor dropout_mask(const Attention& a, const Tensor& like, PhiloxState state) {
  const Dims sizes{a.batches(), a.heads(), a.queries, (a.keys + 3) / 4 * 4};
  const Tensor x = ones(sizes, like.options().dtype(kFloat)), mask = empty_like(x, kBool);
  if (x.numel() > 0) backend(x).dropout(x, mask, x, a.dropout, state);
  return narrow(mask, 3, 0, a.keys);
}

/// The gradients of q, k, v and a floating mask in ops, so that they can be differentiated again.
inline Grads attention_gradients(const Attention& a, const Tensor& gy, const Tensor& q, const Tensor& k,
                                 const Tensor& v, const Tensor& mask, const Tensor& log_sum, PhiloxState state,
                                 bool needs_mask) {
  const DType scores = checks::sum_dtype(q.dtype());
  const int64_t b = a.batches(), groups = a.key_heads(), group = a.heads() / std::max<int64_t>(1, groups);
  auto heads = [&](const Tensor& x, const Dims& batch) { return as_heads(a, to(x, scores), batch); };
  auto repeated = [&](const Tensor& x) {  // each head of k or v for its group of q's heads
    const Tensor y = heads(x, a.k_batch);
    return reshape(expand(unsqueeze(y, 2), {b, groups, group, x.size(-2), x.size(-1)}),
                   {b, a.heads(), x.size(-2), x.size(-1)});
  };
  const Tensor g = heads(gy, a.q_batch), qh = heads(q, a.q_batch), kh = repeated(k), vh = repeated(v);
  constexpr double masked = -std::numeric_limits<double>::infinity();
  Tensor s = mul(matmul(qh, transpose(kh, 2, 3)), a.scale);
  if (mask.defined()) {
    const Tensor m = as_heads(a, expand(mask, a.with(a.q_batch, a.queries, a.keys)), a.q_batch);
    s = m.dtype() == kBool ? where(m, s, masked) : add(s, m);
  }
  if (a.causal) {
    const TensorOptions indices = TensorOptions(kLong).device(q.device());
    s = where(le(arange(a.keys, indices), unsqueeze(arange(a.queries, indices), 1)), s, masked);
  }
  const Tensor dead = unsqueeze(eq(log_sum, std::numeric_limits<double>::infinity()), 3);
  const Tensor p = where(dead, 0, softmax(where(dead, 0, s), 3));
  const Tensor kept = a.dropout > 0 ? dropout_mask(a, q, state) : Tensor();
  const double scale = a.dropout < 1 ? 1 / (1 - a.dropout) : 0;
  auto drop = [&](const Tensor& x) { return kept.defined() ? where(kept, mul(x, scale), 0) : x; };
  const Tensor gs = softmax_backward(drop(matmul(g, transpose(vh, 2, 3))), p, 3);

  auto grouped = [&](const Tensor& x) { return sum(reshape(x, {b, groups, group, x.size(2), x.size(3)}), {2}); };
  auto fit = [&](const Tensor& x, const Dims& batch, const Tensor& operand) {
    return sum_to_size(reshape(x, a.with(batch, x.size(2), x.size(3))), operand.sizes());
  };
  Grads grads(4);
  grads[0] = fit(mul(matmul(gs, kh), a.scale), a.q_batch, q);
  grads[1] = fit(grouped(mul(matmul(transpose(gs, 2, 3), qh), a.scale)), a.k_batch, k);
  grads[2] = fit(grouped(matmul(transpose(drop(p), 2, 3), g)), a.k_batch, v);
  if (needs_mask) grads[3] = sum_to_size(reshape(gs, a.with(a.q_batch, a.queries, a.keys)), mask.sizes());
  return grads;
}

/// The gradients of q, k and v by the kernel.
inline Grads fused_attention_gradients(const Attention& a, const Backward& b, PhiloxState state) {
  AttentionCall call = attention_call(a, b.saved(0), b.saved(1), b.saved(2), b.saved(3), state);
  call.y = rows_of_heads(a, b.saved(4), a.q_batch);
  call.max = b.saved(5);
  call.log_sum = b.saved(6);
  // Gradients that are not views can become those of leaves without a copy.
  auto gradient_of = [&](const Tensor& heads, const Dims& batch, DType dtype) {
    return batch.size() == 2 ? empty_like(heads, dtype)
                             : empty(a.with(batch, heads.size(2), heads.size(3)), heads.options().dtype(dtype));
  };
  const Tensor gq = gradient_of(call.q, a.q_batch, b.wanted(0)), gk = gradient_of(call.k, a.k_batch, b.wanted(1)),
               gv = gradient_of(call.v, a.k_batch, b.wanted(2));
  backend(gq).attention_backward(call, as_heads(a, gq, a.q_batch), as_heads(a, gk, a.k_batch),
                                 as_heads(a, gv, a.k_batch), rows_of_heads(a, b.grad(), a.q_batch));
  return {sum_to_size(gq, b.saved(0).sizes()), sum_to_size(gk, b.saved(1).sizes()), sum_to_size(gv, b.saved(2).sizes()),
          Tensor()};
}

inline Tensor attention_op(const Op<"scaled_dot_product_attention">& op, const Attention& a, const Tensor& query,
                           const Tensor& key, const Tensor& value, const Tensor& attn_mask) {
  return op.apply(
      [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
        checks::same_dtype("query", q, "key", k);
        checks::same_dtype("query", q, "value", v);
        const DType scores = checks::sum_dtype(q.dtype());
        PhiloxState state;
        if (a.dropout > 0) {
          const int64_t weights = a.batches() * a.heads() * a.queries * ((a.keys + 3) / 4 * 4);
          state = default_generator().reserve(weights, q.device().type());
        }
        AttentionCall call = attention_call(a, q, k, v, mask, state);
        // In memory [B, L, H, V], so that joining the heads is a view.
        call.y = transpose(empty({a.batches(), a.queries, a.heads(), a.value_width}, q.options()), 1, 2);
        call.max = empty({a.batches(), a.heads(), a.queries}, q.options().dtype(scores));
        call.log_sum = empty_like(call.max);
        if (call.y.numel() > 0) backend(q).attention(call);
        const Tensor y = reshape(call.y, a.with(a.q_batch, a.queries, a.value_width));
        return Result{y, save(q, k, v, mask, y, call.max, call.log_sum), [a, state](const Backward& b) -> Grads {
                        if (GradMode::is_enabled() || b.needs(3)) {
                          return attention_gradients(a, b.grad(), b.saved(0), b.saved(1), b.saved(2), b.saved(3),
                                                     b.saved(6), state, b.needs(3));
                        }
                        return fused_attention_gradients(a, b, state);
                      }};
      },
      query, key, value, attn_mask);
}

/// The same in f64 if scores, or sums of weighted values, are beyond the range of f32.
inline Tensor attention_in_range(const Op<"scaled_dot_product_attention">& op, const Attention& a, const Tensor& query,
                                 const Tensor& key, const Tensor& value, const Tensor& attn_mask) {
  return in_f64_unless_finite(query.dtype(), [&](DType dtype) {
    const auto cast = [&](const Tensor& x) { return dtype == query.dtype() ? x : to(x, dtype); };
    return attention_op(op, a, cast(query), cast(key), cast(value), attn_mask);
  });
}

TANDEM_OPS Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                            double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa) {
  const Op<"scaled_dot_product_attention"> op;
  const Attention a = check_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa);
  return attention_in_range(op, a, query, key, value, attn_mask);
}

}  // namespace detail

TANDEM_OPS Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                               const Tensor& attn_mask, double dropout_p, bool is_causal,
                                               std::optional<double> scale, bool enable_gqa) {
  const Op<"scaled_dot_product_attention"> op;
  const detail::Attention a =
      detail::check_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa);
  TANDEM_CHECK(!is_causal || !attn_mask.defined(), StateError,
               "attn_mask is {} and is_causal is set; give one of them, or combine both in attn_mask",
               checks::show(attn_mask));
  return detail::attention_in_range(op, a, query, key, value, attn_mask);
}

}  // namespace tandem
