#pragma once
// Losses that compare scores or distances with a margin. The result has the dtype to which the operands promote; under
// autocast it is f32, unless noted.
#include <functional>

#include "tandem/ops/loss.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// max(0, margin - target (x1 - x2)), reduced. target: 1 if x1 should be larger, else -1. Sizes broadcast, but all
/// three must have one rank. Source: torch.nn.functional.margin_ranking_loss.
Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin = 0,
                           LossReduction reduction = LossReduction::Mean);

/// 1 - cos(x1, x2) where target is 1, max(0, cos(x1, x2) - margin) where it is -1, else 0; reduced. x1 and x2: [N, D]
/// with target [N], or [D] with target []. Source: torch.nn.functional.cosine_embedding_loss.
Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin = 0,
                             LossReduction reduction = LossReduction::Mean);

/// l_i = 1 / C sum over j != target_i of weight[target_i] max(0, margin - x[i, target_i] + x[i, j])^p, reduced. x:
/// scores [N, C] with target [N], or [C] with target []; weight: [C] or undefined. Throws StateError unless p is 1 or
/// 2, and on the CPU IndexError for a class outside [0, C). Source: torch.nn.functional.multi_margin_loss.
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, Scalar p = 1, Scalar margin = 1,
                         const Tensor& weight = {}, LossReduction reduction = LossReduction::Mean);

/// l_i = 1 / C sum over the classes j of sample i and all others k of max(0, 1 - x[i, j] + x[i, k]), reduced. x: scores
/// [N, C] or [C]; target has the same sizes and lists the classes of each sample, ended by a negative number if there
/// are fewer than C. Throws IndexError on the CPU for a class of C or more. Cannot be differentiated twice.
/// Source: torch.nn.functional.multilabel_margin_loss.
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, LossReduction reduction = LossReduction::Mean);

/// max(0, margin + d(anchor, positive) - d(anchor, negative)), reduced, with the distance d(x, y) = ||x - y + eps||_p
/// along the last dimension. With `swap`, d(anchor, negative) is replaced by the smaller of it and d(positive,
/// negative). The three have one rank and broadcast. p: positive or infinite.
/// Source: torch.nn.functional.triplet_margin_loss.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1,
                           double p = 2, double eps = 1e-6, bool swap = false,
                           LossReduction reduction = LossReduction::Mean);

/// A distance between two tensors, for triplet_margin_with_distance_loss.
using DistanceFunction = std::function<Tensor(const Tensor&, const Tensor&)>;

/// triplet_margin_loss with a distance of the caller, which must be differentiable; by default the Euclidean one with
/// eps = 1e-6. Autocast applies to the ops that it calls. Throws StateError if it returns an undefined tensor.
/// Source: torch.nn.functional.triplet_margin_with_distance_loss.
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const DistanceFunction& distance = {}, double margin = 1, bool swap = false,
                                         LossReduction reduction = LossReduction::Mean);

}  // namespace tandem
#pragma GCC visibility pop
