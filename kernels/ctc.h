#pragma once
// The recurrences of ctc_loss, for both backends. Source: Graves et al., Connectionist Temporal Classification, 2006.
#include <cstdint>

#include "tandem/backend.h"
#include "tandem/math/approx.h"

namespace tandem::kernels {

/// log(e^a + e^b + e^c).
template <class C>
TANDEM_MATH C log_sum(C a, C b, C c = -math::kInf<C>) {
  const C m = math::maximum(math::maximum(a, b), c);
  if (m == -math::kInf<C>) return m;
  return m + math::log(math::exp(a - m) + math::exp(b - m) + math::exp(c - m));
}

/// The probability of a state given the target, from its alpha and beta, the loss and its log-probability x. In this
/// order no sum is beyond the range unless the loss is.
template <class C>
TANDEM_MATH C posterior(C alpha, C beta, C loss, C x) {
  return math::exp(math::minimum((alpha + loss) + (beta - x), C(0)));
}

/// One sample. Its states are the classes of its target with a blank before, between and after them.
template <class C>
struct CtcSample {
  const C* x;      ///< log-probabilities of the first step
  int64_t stride;  ///< between steps
  const int64_t* target;
  int64_t steps, labels, blank;

  TANDEM_MATH int64_t states() const { return 2 * labels + 1; }
  TANDEM_MATH int64_t label(int64_t s) const { return s % 2 != 0 ? target[s / 2] : blank; }
  TANDEM_MATH C at(int64_t t, int64_t s) const { return x[t * stride + label(s)]; }

  /// The alphas of step t from `before`, those of step t - 1.
  TANDEM_MATH C alpha(int64_t t, int64_t s, const C* before) const {
    if (t == 0) return s < 2 ? at(0, s) : -math::kInf<C>;
    const C other = s > 0 ? before[s - 1] : -math::kInf<C>;
    const bool skips = s > 1 && label(s) != label(s - 2);
    return at(t, s) + log_sum(before[s], other, skips ? before[s - 2] : -math::kInf<C>);
  }
  /// The betas of step t, which include the step's own probability as the alphas do, from `after`, those of step t + 1.
  TANDEM_MATH C beta(int64_t t, int64_t s, const C* after) const {
    if (t == steps - 1) return s >= states() - 2 ? at(t, s) : -math::kInf<C>;
    const C other = s + 1 < states() ? after[s + 1] : -math::kInf<C>;
    const bool skips = s + 2 < states() && label(s) != label(s + 2);
    return at(t, s) + log_sum(after[s], other, skips ? after[s + 2] : -math::kInf<C>);
  }
  /// The loss from the alphas of the last step.
  TANDEM_MATH C loss(const C* last) const {
    if (steps == 0) return labels == 0 ? C(0) : math::kInf<C>;
    return -log_sum(last[states() - 1], labels > 0 ? last[states() - 2] : -math::kInf<C>);
  }
};

/// All samples of a call.
template <class C>
struct CtcSamples {
  const C* x;
  const int64_t *targets, *extents;
  int64_t steps, samples, classes, states, blank;  ///< steps and states: the most of all samples

  CtcSamples(const Tensor& log_probs, const Tensor& all_targets, const Tensor& all_extents, const Tensor& alpha,
             int64_t blank_class)
      : x(log_probs.raw<C>()),
        targets(all_targets.raw<int64_t>()),
        extents(all_extents.raw<int64_t>()),
        steps(log_probs.sizes()[0]),
        samples(log_probs.sizes()[1]),
        classes(log_probs.sizes()[2]),
        states(alpha.sizes()[2]),
        blank(blank_class) {}

  TANDEM_MATH CtcSample<C> sample(int64_t n) const {
    return {x + n * classes, samples * classes,    targets + extents[2 * samples + n],
            extents[n],      extents[samples + n], blank};
  }
  /// Where the row of step t is in alpha and beta.
  TANDEM_MATH int64_t row(int64_t n, int64_t t) const { return (n * steps + t) * states; }
};

}  // namespace tandem::kernels
