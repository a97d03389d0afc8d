#pragma once
#include <limits>
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/ctc_loss.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/loss_forms-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// Checks the arguments of ctc_loss for log_probs [T, N, C] and returns each sample's input length, target length and
/// first element in the flattened targets, one row each.
inline std::vector<int64_t> ctc_extents(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                                        IntArrayRef target_lengths, bool padded) {
  const int64_t steps = log_probs.size(0), samples = log_probs.size(1);
  const auto n = static_cast<size_t>(samples);
  TANDEM_CHECK(input_lengths.size() == n && target_lengths.size() == n, ShapeError,
               "{} input_lengths and {} target_lengths for {} samples; give one of each per sample",
               input_lengths.size(), target_lengths.size(), samples);
  TANDEM_CHECK(!padded || targets.size(0) == samples, ShapeError, "targets are {}, but log_probs {} have {} samples",
               checks::show(targets), checks::show(log_probs), samples);
  std::vector<int64_t> extents(3 * n);
  Checked total = 0;
  for (size_t i = 0; i < n; ++i) {
    TANDEM_CHECK(input_lengths[i] >= 0 && input_lengths[i] <= steps, StateError,
                 "input_lengths[{}] = {}, but log_probs {} have {} steps", i, input_lengths[i], checks::show(log_probs),
                 steps);
    TANDEM_CHECK(target_lengths[i] >= 0 && (!padded || target_lengths[i] <= targets.size(1)), StateError,
                 "target_lengths[{}] = {}, which does not fit targets {}", i, target_lengths[i], checks::show(targets));
    extents[i] = input_lengths[i];
    extents[n + i] = target_lengths[i];
    extents[2 * n + i] = padded ? static_cast<int64_t>(i) * targets.size(1) : total.value().value_or(0);
    total = total + target_lengths[i];
  }
  TANDEM_CHECK(padded || (total <= targets.numel() && targets.numel() == total.value().value_or(-1)), ShapeError,
               "targets are {}, but target_lengths sum to {}; they must be concatenated without gaps, or padded to "
               "[N, S]",
               checks::show(targets), to_string(total));
  return extents;
}

/// Reads lengths into host memory.
inline std::vector<int64_t> lengths_of(const char* which, const Tensor& lengths) {
  checks::index(which, lengths);
  TANDEM_CHECK(lengths.dim() <= 1, ShapeError, "{} is {}, but must be [N]", which, checks::show(lengths));
  NoGradGuard no_grad;
  const Tensor host = contiguous(to(lengths, Device(kCPU), kLong));
  return {host.raw<int64_t>(), host.raw<int64_t>() + host.numel()};
}

/// The loss of each sample, f32 or f64. log_probs: [T, N, C], of which `dtype` becomes the dtype after autocast;
/// targets: flattened.
inline Tensor ctc_losses(const Op<"ctc_loss">& op, const Tensor& log_probs, const Tensor& targets,
                         const std::vector<int64_t>& extents, int64_t blank, bool zero_infinity, DType& dtype) {
  const int64_t samples = log_probs.size(1);
  int64_t longest = 0;
  for (size_t i = extents.size() / 3; i < 2 * extents.size() / 3; ++i) longest = std::max(longest, extents[i]);
  const Checked states = Checked(longest) * 2 + 1;
  TANDEM_CHECK(states * log_probs.size(0) * std::max<int64_t>(samples, 1) <= std::numeric_limits<int64_t>::max() / 16,
               ShapeError, "log_probs {} and a target of {} classes need too much memory", checks::show(log_probs),
               longest);
  return op.apply(
      [&](const Tensor& log_probs, const Tensor& targets) {
        dtype = log_probs.dtype();
        const DType wide = checks::sum_dtype(dtype);
        const Tensor x = contiguous(to(log_probs, wide)), classes = contiguous(to(targets, kLong));
        const Tensor layout = to(view(tensor(extents), {3, samples}), x.device(), kLong);
        const Tensor y = empty({samples}, x.options());
        const Tensor alpha = empty({samples, x.size(0), states.value().value_or(1)}, x.options());
        if (samples > 0) backend(x).ctc_loss(y, alpha, x, classes, layout, blank);
        return Result{y, save(log_probs, classes, layout, y, alpha),
                      [blank, zero_infinity](const Backward& b) -> Grads {
                        const Tensor gx = Op<"ctc_loss_backward">().apply(
                            [&](const Tensor& gy, const Tensor& log_probs) {
                              const Tensor x = contiguous(to(log_probs, gy.dtype())), alpha = b.saved(4);
                              const Tensor gx = empty(x.sizes(), x.options()), beta = empty(alpha.sizes(), x.options());
                              if (x.size(1) > 0) {
                                backend(x).ctc_loss_backward(gx, beta, contiguous(gy), x, b.saved(1), b.saved(2),
                                                             b.saved(3), alpha, blank, zero_infinity);
                              }
                              return Result{gx, {}, [](const Backward&) -> Grads {
                                              const OpScope op("ctc_loss");
                                              TANDEM_THROW(NotImplementedError,
                                                           "the gradient cannot be differentiated again; call "
                                                           "backward() without create_graph");
                                            }};
                            },
                            b.grad(), b.saved(0));
                        return {gx, Tensor()};
                      }};
      },
      log_probs, targets);
}

}  // namespace detail

TANDEM_OPS Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                           IntArrayRef target_lengths, int64_t blank, LossReduction reduction, bool zero_infinity) {
  const Op<"ctc_loss"> op;
  checks::floating("log_probs", log_probs);
  checks::index("targets", targets);
  const bool batched = log_probs.dim() == 3;
  TANDEM_CHECK((batched || log_probs.dim() == 2) && log_probs.size(0) > 0 && log_probs.size(-1) > 0, ShapeError,
               "log_probs are {}, but must be [T, N, C] or [T, C] with at least one step and one class",
               checks::show(log_probs));
  TANDEM_CHECK(targets.dim() == 1 || (targets.dim() == 2 && batched), ShapeError,
               "targets are {}, but must be [N, S] or concatenated [sum of target_lengths]{}", checks::show(targets),
               batched ? "" : ", [S] for a single sample");
  TANDEM_CHECK(blank >= 0 && blank < log_probs.size(-1), IndexError, "blank = {} is not a class of log_probs {}", blank,
               checks::show(log_probs));
  const Tensor x = batched ? log_probs : unsqueeze(log_probs, 1);
  // A padded target of one sample may be longer than the target.
  const Tensor rows = batched ? targets : unsqueeze(targets, 0);
  const std::vector<int64_t> extents = detail::ctc_extents(x, rows, input_lengths, target_lengths, rows.dim() == 2);
  return detail::in_f64_unless_finite(x.dtype(), [&](DType given) {
    DType dtype = given;
    Tensor losses = detail::ctc_losses(op, to(x, given), reshape(rows, {-1}), extents, blank, zero_infinity, dtype);
    if (zero_infinity) losses = where(isinf(losses), 0, losses);
    if (reduction == LossReduction::Mean) {
      const auto n = static_cast<int64_t>(target_lengths.size());
      const Tensor lengths = clamp(select(view(tensor(extents), {3, n}), 0, 1), 1);
      losses = div(losses, to(lengths, losses.device(), losses.dtype()));
    }
    if (!batched) losses = squeeze(losses, 0);
    return to(detail::reduce_losses(losses, reduction), dtype);
  });
}

TANDEM_OPS Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                           const Tensor& target_lengths, int64_t blank, LossReduction reduction, bool zero_infinity) {
  const OpScope op("ctc_loss");
  return ctc_loss(log_probs, targets, detail::lengths_of("input_lengths", input_lengths),
                  detail::lengths_of("target_lengths", target_lengths), blank, reduction, zero_infinity);
}

}  // namespace tandem
