#pragma once
// Samples from distributions whose parameters are tensors. The numbers are drawn from `generator` if given, else from
// default_generator() (tensor/random.h), and are the same on every device except for rounding. No gradient flows into
// the parameters. A parameter out of range throws StateError if it is on the CPU; elsewhere the check would wait for
// the device.
#include <optional>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// 1 with probability p, else 0; p: floating, in [0, 1].
Tensor bernoulli(const Tensor& p, std::optional<Generator> generator = {});
/// The same with a number for all elements, or a tensor that is broadcast; x gives the sizes and the dtype.
Tensor bernoulli(const Tensor& x, double p, std::optional<Generator> generator = {});
Tensor bernoulli(const Tensor& x, const Tensor& p, std::optional<Generator> generator = {});
/// Normal numbers; mean and std (at least 0) are broadcast.
Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> generator = {});
Tensor normal(const Tensor& mean, double std = 1, std::optional<Generator> generator = {});
Tensor normal(double mean, const Tensor& std, std::optional<Generator> generator = {});
Tensor normal(double mean, double std, IntArrayRef sizes, std::optional<Generator> generator = {},
              const TensorOptions& options = {});
/// Poisson numbers; rate: floating, at least 0. A product of uniform numbers for rates below 10, else Hormann's
/// transformed rejection.
Tensor poisson(const Tensor& rate, std::optional<Generator> generator = {});
/// Numbers of successes in `count` trials of probability `prob`; both floating, of one dtype, and broadcast; count:
/// whole numbers, at least 0; prob: in [0, 1]. Inversion for count min(prob, 1 - prob) below 10, else Hormann's
/// transformed rejection.
Tensor binomial(const Tensor& count, const Tensor& prob, std::optional<Generator> generator = {});
/// Indices 0 ... n - 1 drawn with probabilities proportional to `weights` [n] or [rows, n], which are floating, finite,
/// at least 0, and not all 0: i64, [num_samples] or [rows, num_samples]. Without replacement, the indices of a row
/// differ; for more than one, the call waits for the device.
Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement = false,
                   std::optional<Generator> generator = {});

}  // namespace tandem
#pragma GCC visibility pop
