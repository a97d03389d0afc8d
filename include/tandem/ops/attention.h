#pragma once
// Attention.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// D softmax(scale q k^T + mask) v, where D is dropout with probability `dropout_p`, which is not switched off in
/// evaluation. query: [..., L, E], key: [..., S, E], value: [..., S, V], result: [..., L, V]; leading dimensions
/// broadcast. Memory is O(L + S): the [L, S] matrix of weights is never stored. Scores and sums are f32 (f64 for f64).
///
/// attn_mask, broadcast to [..., L, S], is bool (false: the key takes no part) or floating and added to the scores.
/// is_causal lets query i see the keys 0 to i, and excludes a mask. The default scale is 1 / sqrt(E). With enable_gqa,
/// dimension -3 of query may be a multiple of that of key and value, and each of their heads serves a group of query's.
/// A query whose keys are all masked gives 0, as in PyTorch.
///
/// A backward pass that records (create_graph), or that gives a gradient to the mask, does store [L, S] matrices.
/// Throws ShapeError if sizes do not fit, DTypeError if dtypes differ, StateError for a mask beside is_causal or a
/// dropout_p outside [0, 1]. Source: torch.nn.functional.scaled_dot_product_attention.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0, bool is_causal = false,
                                    std::optional<double> scale = {}, bool enable_gqa = false);

namespace detail {
/// scaled_dot_product_attention, in which a mask and is_causal may be given together: keys must be visible by both.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
                 double dropout_p = 0, bool is_causal = false, std::optional<double> scale = {},
                 bool enable_gqa = false);
}  // namespace detail

}  // namespace tandem
#pragma GCC visibility pop
