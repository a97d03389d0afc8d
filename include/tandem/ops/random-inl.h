#pragma once
#include <algorithm>
#include <numeric>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/apply.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/random.h"
#include "tandem/ops/range_check-inl.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {

namespace detail {

/// Adds numbers of mean 0 and deviation `std` to `mean`, which have been broadcast to `sizes`; either may be a number.
inline Tensor normal_around(const Tensor& mean, double mean_number, const Tensor& std, double std_number,
                            std::optional<Generator> generator) {
  const amp::AutocastOff no_autocast;
  const NoGradGuard no_grad;
  if (mean.defined()) checks::floating("mean", mean);
  if (std.defined()) {
    checks::floating("std", std);
    check_range("std", std, 0, INFINITY);
  } else {
    TANDEM_CHECK(std_number >= 0, StateError, "std = {}; it must be at least 0", std_number);
  }
  const Tensor& model = mean.defined() ? mean : std;
  if (mean.defined() && std.defined()) check_devices({&mean, &std});
  const Dims sizes = mean.defined() && std.defined() ? broadcast_shapes(mean.sizes(), std.sizes()) : model.impl().sizes;
  const Tensor y = empty(sizes, model.options());
  y.normal_(0, 1, std::move(generator));
  std.defined() ? y.mul_(std) : y.mul_(std_number);
  mean.defined() ? y.add_(mean) : y.add_(mean_number);
  return y;
}

/// The positions of the k largest elements of each row of a CPU tensor [rows, n], the largest first.
inline Tensor largest(const Tensor& x, int64_t k) {
  const Tensor keys = contiguous(x), y = empty({x.size(0), k}, TensorOptions(kLong).device(kCPU));
  const int64_t n = x.size(1);
  std::vector<int64_t> order(static_cast<size_t>(n));
  visit_arithmetic_dtype(keys.dtype(), [&]<class T>(T) {
    for (int64_t row = 0; row < x.size(0); ++row) {
      const T* const key = keys.raw<T>() + row * n;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(),
                        [key](int64_t a, int64_t b) { return key[a] > key[b] || (key[a] == key[b] && a < b); });
      std::copy_n(order.begin(), k, y.raw<int64_t>() + row * k);
    }
  });
  return y;
}

}  // namespace detail

TANDEM_OPS Tensor bernoulli(const Tensor& p, std::optional<Generator> generator) {
  const OpScope op("bernoulli");
  checks::floating("p", p);
  const Tensor y = empty_like(p);
  y.bernoulli_(p, std::move(generator));
  return y;
}
TANDEM_OPS Tensor bernoulli(const Tensor& x, double p, std::optional<Generator> generator) {
  const OpScope op("bernoulli");
  checks::defined("x", x);
  const Tensor y = empty_like(x);
  y.bernoulli_(p, std::move(generator));
  return y;
}
TANDEM_OPS Tensor bernoulli(const Tensor& x, const Tensor& p, std::optional<Generator> generator) {
  const OpScope op("bernoulli");
  checks::defined("x", x);
  const Tensor y = empty_like(x);
  y.bernoulli_(p, std::move(generator));
  return y;
}

TANDEM_OPS Tensor normal(const Tensor& mean, const Tensor& std, std::optional<Generator> generator) {
  const OpScope op("normal");
  checks::defined("mean", mean);
  checks::defined("std", std);
  return detail::normal_around(mean, 0, std, 1, std::move(generator));
}
TANDEM_OPS Tensor normal(const Tensor& mean, double std, std::optional<Generator> generator) {
  const OpScope op("normal");
  checks::defined("mean", mean);
  return detail::normal_around(mean, 0, {}, std, std::move(generator));
}
TANDEM_OPS Tensor normal(double mean, const Tensor& std, std::optional<Generator> generator) {
  const OpScope op("normal");
  checks::defined("std", std);
  return detail::normal_around({}, mean, std, 1, std::move(generator));
}
TANDEM_OPS Tensor normal(double mean, double std, IntArrayRef sizes, std::optional<Generator> generator,
                         const TensorOptions& options) {
  const OpScope op("normal");
  const Tensor y = empty(sizes, TensorOptions(options).requires_grad(false));
  y.normal_(mean, std, std::move(generator));
  if (options.requires_grad()) y.requires_grad_();
  return y;
}

TANDEM_OPS Tensor poisson(const Tensor& rate, std::optional<Generator> generator) {
  const OpScope op("poisson");
  checks::floating("rate", rate);
  detail::check_range("rate", rate, 0, INFINITY);
  const Tensor y = empty_like(rate);
  if (y.numel() == 0) return y;
  Generator& source = generator ? *generator : default_generator();
  backend(y).poisson(y, rate, source.reserve(y.numel(), y.device().type()));
  return y;
}

TANDEM_OPS Tensor binomial(const Tensor& count, const Tensor& prob, std::optional<Generator> generator) {
  const OpScope op("binomial");
  checks::floating("count", count);
  checks::floating("prob", prob);
  checks::same_dtype("count", count, "prob", prob);
  detail::check_devices({&count, &prob});
  detail::check_range("count", count, 0, INFINITY);
  detail::check_range("prob", prob, 0, 1);
  const Dims sizes = broadcast_shapes(count.sizes(), prob.sizes());
  const Tensor y = empty(sizes, count.options());
  if (y.numel() == 0) return y;
  Generator& source = generator ? *generator : default_generator();
  backend(y).binomial(y, expand(count, sizes), expand(prob, sizes), source.reserve(y.numel(), y.device().type()));
  return y;
}

TANDEM_OPS Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement,
                              std::optional<Generator> generator) {
  const OpScope op("multinomial");
  const amp::AutocastOff no_autocast;
  const NoGradGuard no_grad;
  checks::floating("weights", weights);
  TANDEM_CHECK(weights.dim() == 1 || weights.dim() == 2, ShapeError, "weights is {}, but must have rank 1 or 2",
               checks::show(weights));
  const int64_t n = weights.sizes().back();
  TANDEM_CHECK(num_samples > 0, StateError, "num_samples = {}; it must be at least 1", num_samples);
  TANDEM_CHECK(n > 0, ShapeError, "weights is {}; there is nothing to choose from", checks::show(weights));
  TANDEM_CHECK(replacement || num_samples <= n, StateError,
               "{} samples of {} without replacement; draw at most {}, or set replacement", num_samples, n, n);
  const Tensor x = reshape(to(weights, checks::sum_dtype(weights.dtype())), {-1, n});
  const int64_t rows = x.size(0);
  if (x.is_cpu() && rows > 0) {
    detail::check_range("weights", x, 0, std::numeric_limits<double>::max(), ", that is, finite");
    const Tensor totals = sum(x, {1});
    TANDEM_CHECK(min(totals).item<double>() > 0, StateError,
                 "the weights of a row of {} are all 0; at least one must be positive", checks::show(weights));
    TANDEM_CHECK(std::isfinite(max(totals).item<double>()), StateError,
                 "the weights of a row of {} have an infinite sum; divide them by the largest", checks::show(weights));
  }
  Tensor y;
  if (rows == 0) {
    y = empty({0, num_samples}, x.options().dtype(kLong));
  } else if (num_samples > 1 && replacement) {
    const Tensor sums = contiguous(cumsum(x, 1)), u = empty({rows, num_samples}, x.options());
    u.uniform_(0, 1, std::move(generator));
    y = empty(u.sizes(), x.options().dtype(kLong));
    backend(y).pick_weighted(y, sums, u);
  } else {
    // The times of the first events of Poisson processes with the weights as rates are in the order of a draw without
    // replacement; the keys are their reciprocals.
    const Tensor keys = empty(x.sizes(), x.options());
    keys.exponential_(1, std::move(generator));
    const Tensor order = div(x, keys);
    y = num_samples == 1 ? argmax(order, 1, true)
                         : to(detail::largest(to(order, Device(kCPU), order.dtype()), num_samples), x.device(), kLong);
  }
  return weights.dim() == 1 ? reshape(y, {num_samples}) : y;
}

}  // namespace tandem
