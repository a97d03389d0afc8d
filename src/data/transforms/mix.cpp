// Transforms that replace parts of images: RandomErasing, MixUp and CutMix.
#include <algorithm>
#include <cmath>

#include "src/data/transforms/checks.h"
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/data/random.h"
#include "tandem/data/transforms/color.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/shape.h"

namespace tandem::data::transforms {
namespace {

Tensor part_of(const Tensor& images, const Box& box) {
  return narrow(narrow(images, -2, box.top, box.height), -1, box.left, box.width);
}

}  // namespace

RandomErasingOp::RandomErasingOp(double p, std::array<double, 2> scale, std::array<double, 2> ratio, double value)
    : p_(p), scale_(scale), ratio_(ratio), value_(value) {
  const OpScope op(kName);
  check_probability(p);
  check_range("scale", scale, /*zero_is_valid=*/true);
  check_range("ratio", ratio);
  TANDEM_CHECK(scale[1] <= 1, StateError, "scale is from {} to {}; it must be at most 1", scale[0], scale[1]);
}

Tensor RandomErasingOp::transform(const Tensor& image) const {
  if (!data::detail::chance(p_)) return image;
  const int64_t h = image.size(-2), w = image.size(-1);
  for (int tries = 0; tries < 10; ++tries) {
    const double area = static_cast<double>(h * w) * data::detail::uniform(scale_[0], scale_[1]);
    const double ratio = std::exp(data::detail::uniform(std::log(ratio_[0]), std::log(ratio_[1])));
    const auto height = static_cast<int64_t>(std::nearbyint(std::sqrt(area * ratio)));
    const auto width = static_cast<int64_t>(std::nearbyint(std::sqrt(area / ratio)));
    if (height >= h || width >= w || height < 1 || width < 1) continue;
    const int64_t top = random_place(h - height), left = random_place(w - width);
    const Tensor result = image.clone();
    part_of(result, {top, left, height, width}).fill_(value_);
    return result;
  }
  return image;  // no rectangle fits
}

PairedTransform::PairedTransform(const char* name, double alpha, int64_t num_classes)
    : name_(name), alpha_(alpha), num_classes_(num_classes) {
  const OpScope op(name);
  TANDEM_CHECK(std::isfinite(alpha) && alpha > 0, StateError, "alpha is {}; it must be finite and above 0", alpha);
  TANDEM_CHECK(num_classes > 0, StateError, "num_classes is {}; it must be at least 1", num_classes);
}

Tensor PairedTransform::mixed_targets(const Tensor& targets, int64_t count, double lambda) const {
  checks::defined("the target", targets);
  const bool classes = targets.dim() == 1 && targets.dtype() == kLong;
  TANDEM_CHECK(targets.dim() > 0 && targets.size(0) == count &&
                   (classes || (targets.dim() == 2 && targets.size(1) == num_classes_)),
               ShapeError, "the target is {}; for {} images it must be classes i64 [{}], or probabilities [{}, {}]",
               checks::show(targets), count, count, count, num_classes_);
  const Tensor shares = to(classes ? one_hot(targets, num_classes_) : targets, kFloat);
  return add(mul(shares, lambda), mul(roll(shares, {1}, {0}), 1 - lambda));
}

Example<> MixUp::apply_batch(Example<> batch) {
  const OpScope op(name_);
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  checks::floating("the batch", batch.data);
  TANDEM_CHECK(batch.data.dim() > 1, ShapeError, "the batch is {}; stack the items first: map(Stack<>())",
               checks::show(batch.data));
  const double lambda = data::detail::beta_variate(alpha_);
  Tensor targets = mixed_targets(batch.target, batch.data.size(0), lambda);
  return {add(mul(batch.data, lambda), mul(roll(batch.data, {1}, {0}), 1 - lambda)), std::move(targets)};
}

Example<> CutMix::apply_batch(Example<> batch) {
  const OpScope op(name_);
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  checks::floating("the batch", batch.data);
  TANDEM_CHECK(batch.data.dim() == 4 && batch.data.numel() > 0, ShapeError,
               "the batch is {}; it must be [N, C, H, W], not empty", checks::show(batch.data));
  const int64_t h = batch.data.size(-2), w = batch.data.size(-1);
  const double drawn = data::detail::beta_variate(alpha_), half = 0.5 * std::sqrt(1 - drawn);
  const int64_t x = data::detail::uniform_below(w), y = data::detail::uniform_below(h);
  const auto half_w = static_cast<int64_t>(half * static_cast<double>(w)),
             half_h = static_cast<int64_t>(half * static_cast<double>(h));
  const int64_t left = std::max<int64_t>(x - half_w, 0), right = std::min(x + half_w, w);
  const int64_t top = std::max<int64_t>(y - half_h, 0), bottom = std::min(y + half_h, h);
  const Box box{top, left, bottom - top, right - left};
  const double lambda = 1 - static_cast<double>(box.height * box.width) / static_cast<double>(h * w);
  Tensor targets = mixed_targets(batch.target, batch.data.size(0), lambda);
  const Tensor images = batch.data.clone();
  if (box.height > 0 && box.width > 0) part_of(images, box).copy_(part_of(roll(batch.data, {1}, {0}), box));
  return {images, std::move(targets)};
}

}  // namespace tandem::data::transforms
