#pragma once
// Losses. Sums are held in f32 (f64 for f64). The result has the inputs' dtype; under autocast it is f32.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// libtorch's namespace at::Reduction.
namespace Reductions {
/// How the losses of single elements are combined: one of the first three. Converts to integers, as libtorch's does.
/// (The kernels' Reduction is another type.)
enum Reduction : int { None, Mean, Sum, END };
}  // namespace Reductions
using LossReduction = Reductions::Reduction;
using Reduction = LossReduction;

/// Negative log likelihood: l_i = -weight[target_i] x[i, target_i]. x: log-probabilities [N, C], [C] or
/// [N, C, d1, ...]; target: classes (i64 or i32), with x's sizes without C; weight: [C] or undefined. An entry equal to
/// `ignore_index` counts neither in the sum nor in the divisor. Mean: sum l_i / sum weight[target_i]; NaN if all
/// entries are ignored. Throws ShapeError or DTypeError for inputs that do not fit, and on the CPU IndexError for a
/// class outside [0, C). Source: torch.nn.functional.nll_loss.
Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                LossReduction reduction = LossReduction::Mean, int64_t ignore_index = -100);

/// nll_loss of images: x [N, C, H, W], target [N, H, W].
Tensor nll_loss2d(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                  LossReduction reduction = LossReduction::Mean, int64_t ignore_index = -100);

/// nll_loss of log_softmax(x) over the classes. x: logits; sizes and `weight` as for nll_loss. target: classes, or
/// probabilities (floating, x's sizes): l_i = -sum_c weight[c] target[i, c] log_softmax(x)[i, c], and Mean divides by
/// the number of samples. label_smoothing e in [0, 1] mixes the target with the uniform distribution:
/// (1 - e) target + e / C. Under autocast, both log_softmax and nll_loss run in f32.
/// Source: torch.nn.functional.cross_entropy.
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                     LossReduction reduction = LossReduction::Mean, int64_t ignore_index = -100,
                     double label_smoothing = 0);
inline Tensor cross_entropy_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                 LossReduction reduction = LossReduction::Mean, int64_t ignore_index = -100,
                                 double label_smoothing = 0) {
  return cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing);
}

/// (x - target)^2, reduced. Unequal sizes broadcast, with a warning. Source: torch.nn.functional.mse_loss.
Tensor mse_loss(const Tensor& x, const Tensor& target, LossReduction reduction = LossReduction::Mean);
/// dL/dx of mse_loss, in the broadcast sizes: k (x - target) gy with k = 2, or 2 / n for Mean. dL/dtarget is its
/// negative. The result has `dtype`, by default that of x and target.
Tensor mse_loss_backward(const Tensor& gy, const Tensor& x, const Tensor& target, LossReduction reduction,
                         std::optional<DType> dtype = {});

/// -weight (pos_weight target log p + (1 - target) log(1 - p)) with p = sigmoid(x), computed without overflow, reduced.
/// x and target have equal sizes; weight and pos_weight (optional) broadcast to them.
/// Source: torch.nn.functional.binary_cross_entropy_with_logits.
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, LossReduction reduction = LossReduction::Mean);

/// -weight (target log x + (1 - target) log(1 - x)), reduced; x and target in [0, 1], else throws StateError on the
/// CPU. The logarithms are clamped to at least -100. Throws StateError inside an autocast region, where x may be f16:
/// use binary_cross_entropy_with_logits there. Source: torch.nn.functional.binary_cross_entropy.
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                            LossReduction reduction = LossReduction::Mean);

}  // namespace tandem
#pragma GCC visibility pop
