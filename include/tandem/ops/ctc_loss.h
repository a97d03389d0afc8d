#pragma once
// Connectionist temporal classification.
#include "tandem/ops/loss.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// -log of the probability of each target, summed over all alignments with the input (Graves et al. 2006), computed
/// with logarithms in f32 (f64 for f64). log_probs: log_softmax over the classes, [T, N, C], or [T, C] for one sample.
/// targets: classes (i64 or i32) without `blank`, padded [N, S] or concatenated [sum of target_lengths]. The lengths
/// have one entry per sample. Mean divides each loss by its target's length (at least 1) first.
///
/// A target that does not fit into its input has an infinite loss and a NaN gradient, or 0 for both with
/// `zero_infinity`. As in PyTorch, the gradient is right only if log_probs is the result of log_softmax, and cannot be
/// differentiated again. Throws ShapeError, DTypeError or StateError for arguments that do not fit, and on the CPU
/// IndexError for a class outside [0, C). Source: torch.nn.functional.ctc_loss.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank = 0, LossReduction reduction = LossReduction::Mean, bool zero_infinity = false);
/// The lengths are copied to the host, so pass CPU tensors.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank = 0, LossReduction reduction = LossReduction::Mean,
                bool zero_infinity = false);

}  // namespace tandem
#pragma GCC visibility pop
