#pragma once
// Distances and similarities of vectors. Sums of f16, bf16 and f32 are held in f32 or wider.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The norm of order p of a - b, over all elements; the sizes broadcast. Source: torch.dist.
Tensor dist(const Tensor& a, const Tensor& b, Scalar p = 2);
/// sum x1 x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim` of the broadcast sizes.
/// Source: torch.nn.functional.cosine_similarity.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim = 1, double eps = 1e-8);
/// The norm of order p of x1 - x2 + eps along the last dimension. Source: torch.nn.functional.pairwise_distance.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6, bool keepdim = false);
/// The distance of order p >= 0 of each row of x1 [..., n, d] to each row of x2 [..., m, d]: [..., n, m]; the leading
/// sizes broadcast. p = 0: the number of different elements; p = inf: the largest difference. No n x m x d tensor is
/// made, except for second derivatives. compute_mode: for p = 2, 0 computes by a matrix product if n or m is above 25,
/// 1 always and 2 never; the product is faster, but less exact for close rows. Source: torch.cdist.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2, std::optional<int64_t> compute_mode = {});
/// The distances of all pairs of rows i < j of x [n, d], in the order (0, 1), (0, 2), ...: [n (n - 1) / 2]. Computes
/// all n^2 distances. Source: torch.nn.functional.pdist.
Tensor pdist(const Tensor& x, double p = 2);

}  // namespace tandem
#pragma GCC visibility pop
