#pragma once
// Sums, means and maxima of rows of a table.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// How embedding_bag combines the rows of a bag.
enum class BagMode : uint8_t { Sum, Mean, Max };

/// y[b] = the sum, mean or maximum of the rows weight[i] of bag b, in one pass without a copy of the rows. weight: [V,
/// D], y: [B, D]. Either indices is [B, L], of which each row is a bag, and offsets is undefined; or indices is [n],
/// and bag b begins at offsets[b] and ends where the next one begins, or at the end. offsets is [B], or [B + 1] with
/// include_last_offset. Indices and offsets are i64 or i32. per_sample_weights, for sums only, has the sizes of indices
/// and weight's dtype, and multiplies the rows. Row padding_idx is left out of bags; -1 means no such row. Empty bags
/// give 0. Sums are held in f32 (f64 for f64). Of equal maxima, the first gets the gradient. With scale_grad_by_freq,
/// not for maxima, the gradient of a row is divided by the number of indices that name it. Source:
/// torch.nn.functional.embedding_bag. On the CPU, throws IndexError for an index out of range and for offsets that do
/// not start at 0, decrease, or exceed n.
Tensor embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets = {},
                     BagMode mode = BagMode::Mean, const Tensor& per_sample_weights = {},
                     bool include_last_offset = false, int64_t padding_idx = -1, bool scale_grad_by_freq = false);

}  // namespace tandem
#pragma GCC visibility pop
