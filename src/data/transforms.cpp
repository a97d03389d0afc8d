// Normalize: checks and arithmetic.
#include "tandem/data/transforms.h"

#include <cmath>

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::transforms::detail {
namespace {

Tensor per_channel(ArrayRef<double> values) {
  const Tensor flat = tensor(values, TensorOptions(kFloat).device(kCPU));
  return make_view(flat, {static_cast<int64_t>(values.size()), 1, 1}, {1, 1, 1}, 0);
}

}  // namespace

MeanAndDeviation::MeanAndDeviation(ArrayRef<double> mean_values, ArrayRef<double> stddev_values) {
  const OpScope op("Normalize");
  TANDEM_CHECK(!mean_values.empty() && mean_values.size() == stddev_values.size(), ShapeError,
               "{} means, but {} stddevs; give one of each, or one of each for every channel", mean_values.size(),
               stddev_values.size());
  for (double v : mean_values) TANDEM_CHECK(std::isfinite(v), StateError, "mean = {}; it must be finite", v);
  for (double v : stddev_values) {
    TANDEM_CHECK(std::isfinite(v) && v > 0, StateError, "stddev = {}; it must be finite and above 0", v);
  }
  mean = per_channel(mean_values);
  stddev = per_channel(stddev_values);
}

Tensor MeanAndDeviation::normalize(const Tensor& input) const {
  const OpScope op("Normalize");
  checks::defined("the input", input);
  const int64_t count = mean.numel();
  TANDEM_CHECK(count == 1 || (input.dim() >= 3 && input.size(-3) == count), ShapeError,
               "{} means and stddevs for an input of {}; give one, or one for each channel of [.., C, H, W]", count,
               checks::show(input));
  return div(sub(input, mean), stddev);
}

}  // namespace tandem::data::transforms::detail
