// Transforms of colours. The formulas are those of torchvision 0.17.
#include "tandem/data/transforms/color.h"

#include <algorithm>
#include <cmath>

#include "src/data/transforms/checks.h"
#include "tandem/base/check.h"
#include "tandem/data/random.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/statistics.h"

namespace tandem::data::transforms {
namespace {

Tensor channel(const Tensor& image, int64_t c) { return narrow(image, 0, c, 1); }

/// [1, H, W]
Tensor luminance(const Tensor& image) {
  if (image.size(0) == 1) return image;
  return add(add(mul(channel(image, 0), 0.2989), mul(channel(image, 1), 0.587)), mul(channel(image, 2), 0.114));
}

/// factor a + (1 - factor) b, from 0 to 1
Tensor blend(const Tensor& a, const Tensor& b, double factor) {
  return clamp(add(mul(a, factor), mul(b, 1 - factor)), 0.0, 1.0);
}

Tensor with_brightness(const Tensor& image, double factor) { return clamp(mul(image, factor), 0.0, 1.0); }
Tensor with_contrast(const Tensor& image, double factor) { return blend(image, mean(luminance(image)), factor); }
Tensor with_saturation(const Tensor& image, double factor) { return blend(image, luminance(image), factor); }

/// Moves the hue by `shift` of the circle, by way of hue, saturation and value.
Tensor with_hue(const Tensor& image, double shift) {
  const Tensor r = channel(image, 0), g = channel(image, 1), b = channel(image, 2);
  const Tensor value = amax(image, {0}, true), range = sub(value, amin(image, {0}, true));
  const Tensor grey = eq(range, 0);
  const Tensor saturation = div(range, where(grey, 1.0, value)), divisor = where(grey, 1.0, range);
  // The hue in sixths of the circle: 0 is red, 2 is green, 4 is blue.
  const Tensor from_red = div(sub(g, b), divisor), from_green = add(div(sub(b, r), divisor), 2),
               from_blue = add(div(sub(r, g), divisor), 4);
  const Tensor hue = where(eq(value, r), from_red, where(eq(value, g), from_green, from_blue));
  const Tensor moved = add(hue, 6 * shift + 12);  // not negative
  std::vector<Tensor> channels;
  for (const int offset : {5, 3, 1}) {
    const Tensor k = fmod(add(moved, offset), 6);
    const Tensor part = clamp(minimum(k, add(mul(k, -1), 4)), 0.0, 1.0);
    channels.push_back(sub(value, mul(mul(value, saturation), part)));
  }
  return cat(channels, 0);
}

std::optional<std::array<double, 2>> limits_of(const char* which, const JitterRange& range, bool hue) {
  const double least = hue ? -0.5 : 0, neutral = hue ? 0 : 1;
  std::array<double, 2> limits;
  if (range.limits) {
    limits = *range.limits;
  } else {
    TANDEM_CHECK(range.around >= 0, StateError, "{} is {}; it must be at least 0", which, range.around);
    limits = {std::max(neutral - range.around, hue ? -INFINITY : 0.0), neutral + range.around};
  }
  TANDEM_CHECK(limits[0] >= least && limits[0] <= limits[1] && limits[1] <= (hue ? 0.5 : 1e6), StateError,
               "{} is from {} to {}; it must be in order and from {}", which, limits[0], limits[1],
               hue ? "-0.5 to 0.5" : "0 to 1e6");
  if (limits[0] == neutral && limits[1] == neutral) return std::nullopt;
  return limits;
}

}  // namespace

ColorJitterOp::ColorJitterOp(JitterRange brightness, JitterRange contrast, JitterRange saturation, JitterRange hue) {
  const OpScope op(kName);
  limits_ = {limits_of("brightness", brightness, false), limits_of("contrast", contrast, false),
             limits_of("saturation", saturation, false), limits_of("hue", hue, true)};
}

JitterRange ColorJitterOp::range_of(std::initializer_list<double> limits) {
  const OpScope op(kName);
  TANDEM_CHECK(limits.size() == 2, StateError, "brightness has {} numbers; give one, or {{low, high}}", limits.size());
  return {*limits.begin(), *(limits.begin() + 1)};
}

Tensor ColorJitterOp::transform(const Tensor& image) const {
  TANDEM_CHECK(image.size(0) == 1 || image.size(0) == 3, ShapeError,
               "the image has {} channels; it must have 1, or 3 for red, green and blue", image.size(0));
  std::array<int64_t, 4> order = {0, 1, 2, 3};
  for (size_t i = 3; i > 0; --i) {
    std::swap(order[i], order[static_cast<size_t>(data::detail::uniform_below(static_cast<int64_t>(i) + 1))]);
  }
  std::array<double, 4> amounts{};
  for (size_t i = 0; i < 4; ++i) {
    if (limits_[i]) amounts[i] = data::detail::uniform((*limits_[i])[0], (*limits_[i])[1]);
  }
  Tensor x = image;
  for (int64_t i : order) {
    const double amount = amounts[static_cast<size_t>(i)];
    if (!limits_[static_cast<size_t>(i)] || (i >= 2 && image.size(0) == 1)) continue;
    x = i == 0   ? with_brightness(x, amount)
        : i == 1 ? with_contrast(x, amount)
        : i == 2 ? with_saturation(x, amount)
                 : with_hue(x, amount);
  }
  return x;
}

}  // namespace tandem::data::transforms
