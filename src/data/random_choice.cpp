// Samplers that draw the order of an epoch.
#include "tandem/data/samplers/random_choice.h"

#include <algorithm>
#include <cmath>

#include "tandem/base/check.h"
#include "tandem/ops/index.h"
#include "tandem/ops/random.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::samplers {
namespace {

std::vector<int64_t> sorted(const Tensor& x) {
  std::vector<int64_t> values(x.const_data_ptr<int64_t>(), x.const_data_ptr<int64_t>() + x.numel());
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

WeightedRandomSampler::WeightedRandomSampler(ArrayRef<double> weights, size_t num_samples, bool replacement)
    : OrderSampler("WeightedRandomSampler", num_samples), replacement_(replacement) {
  const OpScope op("WeightedRandomSampler");
  size_t positive = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    TANDEM_CHECK(std::isfinite(weights[i]) && weights[i] >= 0, StateError,
                 "weight {} is {}; it must be finite and at least 0", i, weights[i]);
    positive += weights[i] > 0;
  }
  TANDEM_CHECK(positive > 0, StateError, "none of the {} weights is positive; at least one must be", weights.size());
  TANDEM_CHECK(num_samples > 0, StateError, "num_samples is 0; it must be at least 1");
  TANDEM_CHECK(replacement || num_samples <= positive, StateError,
               "{} samples of {} items with positive weights; draw fewer, or with replacement", num_samples, positive);
  weights_ = tensor(weights, TensorOptions(kDouble).device(kCPU));
}

Tensor WeightedRandomSampler::draw() const { return multinomial(weights_, static_cast<int64_t>(size()), replacement_); }

bool WeightedRandomSampler::can_draw(const Tensor& order) const {
  const std::vector<int64_t> drawn = sorted(order);
  if (!replacement_ && std::adjacent_find(drawn.begin(), drawn.end()) != drawn.end()) return false;
  return drawn.front() >= 0 && drawn.back() < weights_.numel();
}

SubsetRandomSampler::SubsetRandomSampler(ArrayRef<size_t> indices)
    : OrderSampler("SubsetRandomSampler", indices.size()),
      indices_(empty({static_cast<int64_t>(indices.size())}, TensorOptions(kLong).device(kCPU))) {
  std::transform(indices.begin(), indices.end(), indices_.data_ptr<int64_t>(),
                 [](size_t i) { return static_cast<int64_t>(i); });
}

Tensor SubsetRandomSampler::draw() const {
  return index_select(indices_, 0, randperm(indices_.numel(), TensorOptions(kLong).device(kCPU)));
}

bool SubsetRandomSampler::can_draw(const Tensor& order) const { return sorted(order) == sorted(indices_); }

}  // namespace tandem::data::samplers
