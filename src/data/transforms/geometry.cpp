// Transforms that move, cut and resize images. The formulas are those of torchvision 0.17.
#include "tandem/data/transforms/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/data/transforms/checks.h"
#include "tandem/base/check.h"
#include "tandem/data/random.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/grid_sample.h"
#include "tandem/ops/interpolate.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::data::transforms {
namespace {

/// A copy, so that the batch does not keep the whole image in memory.
Tensor crop(const Tensor& image, const Box& box) {
  return contiguous(narrow(narrow(image, -2, box.top, box.height), -1, box.left, box.width));
}

Tensor resized(const Tensor& image, int64_t height, int64_t width, InterpolationMode mode, bool antialias) {
  if (image.size(-2) == height && image.size(-1) == width) return image;
  const Tensor x = image.dim() == 3 ? unsqueeze(image, 0) : image;
  Tensor y;
  if (mode == InterpolationMode::Nearest) {
    y = upsample_nearest2d(x, {height, width});
  } else if (mode == InterpolationMode::Bilinear) {
    y = antialias ? _upsample_bilinear2d_aa(x, {height, width}, false) : upsample_bilinear2d(x, {height, width}, false);
  } else {
    y = antialias ? _upsample_bicubic2d_aa(x, {height, width}, false) : upsample_bicubic2d(x, {height, width}, false);
  }
  return image.dim() == 3 ? squeeze(y, 0) : y;
}

}  // namespace

RandomCropOp::RandomCropOp(IntArrayRef size, IntArrayRef padding, double fill, PadMode padding_mode)
    : fill_(fill), mode_(padding_mode) {
  const OpScope op(kName);
  size_ = height_and_width(size);
  for (int64_t v : padding) TANDEM_CHECK(v >= 0, StateError, "padding has the number {}; it must be at least 0", v);
  if (padding.size() == 4) {
    padding_ = {padding[0], padding[2], padding[1], padding[3]};
  } else {
    TANDEM_CHECK(
        padding.size() == 1 || padding.size() == 2, StateError,
        "padding has {} numbers; give one, {{left and right, top and bottom}}, or {{left, top, right, bottom}}",
        padding.size());
    padding_ = {padding[0], padding[0], padding.back(), padding.back()};
  }
}

Tensor RandomCropOp::transform(const Tensor& image) const {
  Tensor x = image;
  if (padding_ != std::array<int64_t, 4>{}) {
    x = mode_ == PadMode::Constant ? constant_pad_nd(image, padding_, fill_) : pad(image, padding_, mode_);
  }
  const int64_t rows = x.size(-2) - size_[0], columns = x.size(-1) - size_[1];
  TANDEM_CHECK(rows >= 0 && columns >= 0, ShapeError,
               "the image is {} x {} with its padding, which is smaller than the crop of {} x {}; pad or resize it",
               x.size(-2), x.size(-1), size_[0], size_[1]);
  const int64_t top = random_place(rows), left = random_place(columns);
  return crop(x, {top, left, size_[0], size_[1]});
}

CenterCropOp::CenterCropOp(IntArrayRef size) {
  const OpScope op(kName);
  size_ = height_and_width(size);
}

Tensor CenterCropOp::transform(const Tensor& image) const {
  const int64_t below = std::max<int64_t>(size_[0] - image.size(-2), 0);
  const int64_t beside = std::max<int64_t>(size_[1] - image.size(-1), 0);
  const Tensor x =
      below + beside == 0 ? image : constant_pad_nd(image, {beside / 2, (beside + 1) / 2, below / 2, (below + 1) / 2});
  // Half of an odd number is rounded to even, as by Python's round().
  const auto half = [](int64_t v) { return static_cast<int64_t>(std::nearbyint(static_cast<double>(v) / 2)); };
  return crop(x, {half(x.size(-2) - size_[0]), half(x.size(-1) - size_[1]), size_[0], size_[1]});
}

ResizeOp::ResizeOp(IntArrayRef size, InterpolationMode interpolation, bool antialias)
    : interpolation_(interpolation), antialias_(antialias) {
  const OpScope op(kName);
  size_ = height_and_width(size);
  if (size.size() == 1) size_[1] = 0;
}

Tensor ResizeOp::transform(const Tensor& image) const {
  if (size_[1] > 0) return resized(image, size_[0], size_[1], interpolation_, antialias_);
  const int64_t h = image.size(-2), w = image.size(-1), shorter = std::min(h, w);
  const auto longer = static_cast<int64_t>(static_cast<double>(size_[0]) * static_cast<double>(std::max(h, w)) /
                                           static_cast<double>(shorter));
  return resized(image, h <= w ? size_[0] : longer, h <= w ? longer : size_[0], interpolation_, antialias_);
}

RandomResizedCropOp::RandomResizedCropOp(IntArrayRef size, std::array<double, 2> scale, std::array<double, 2> ratio,
                                         InterpolationMode interpolation, bool antialias)
    : scale_(scale), ratio_(ratio), interpolation_(interpolation), antialias_(antialias) {
  const OpScope op(kName);
  size_ = height_and_width(size);
  check_range("scale", scale);
  check_range("ratio", ratio);
}

Tensor RandomResizedCropOp::transform(const Tensor& image) const {
  const int64_t h = image.size(-2), w = image.size(-1);
  const auto area = static_cast<double>(h * w);
  Box box{0, 0, 0, 0};
  for (int tries = 0; tries < 10 && box.height == 0; ++tries) {
    const double target = area * data::detail::uniform(scale_[0], scale_[1]);
    const double ratio = std::exp(data::detail::uniform(std::log(ratio_[0]), std::log(ratio_[1])));
    const auto width = static_cast<int64_t>(std::nearbyint(std::sqrt(target * ratio)));
    const auto height = static_cast<int64_t>(std::nearbyint(std::sqrt(target / ratio)));
    if (width < 1 || width > w || height < 1 || height > h) continue;
    const int64_t top = random_place(h - height), left = random_place(w - width);
    box = {top, left, height, width};
  }
  if (box.height == 0) {  // the middle, with a ratio as near to the image's as allowed
    const double ratio = std::clamp(static_cast<double>(w) / static_cast<double>(h), ratio_[0], ratio_[1]);
    box.width = std::clamp<int64_t>(std::llround(static_cast<double>(h) * ratio), 1, w);
    box.height = std::clamp<int64_t>(std::llround(static_cast<double>(w) / ratio), 1, h);
    box.top = (h - box.height) / 2;
    box.left = (w - box.width) / 2;
  }
  return resized(crop(image, box), size_[0], size_[1], interpolation_, antialias_);
}

RandomHorizontalFlipOp::RandomHorizontalFlipOp(double p) : p_(p) {
  const OpScope op(kName);
  check_probability(p);
}
Tensor RandomHorizontalFlipOp::transform(const Tensor& image) const {
  return data::detail::chance(p_) ? flip(image, {-1}) : image;
}

RandomVerticalFlipOp::RandomVerticalFlipOp(double p) : p_(p) {
  const OpScope op(kName);
  check_probability(p);
}
Tensor RandomVerticalFlipOp::transform(const Tensor& image) const {
  return data::detail::chance(p_) ? flip(image, {-2}) : image;
}

RandomRotationOp::RandomRotationOp(double degrees, InterpolationMode interpolation, double fill)
    : RandomRotationOp(std::array<double, 2>{-degrees, degrees}, interpolation, fill) {}

RandomRotationOp::RandomRotationOp(std::array<double, 2> degrees, InterpolationMode interpolation, double fill)
    : degrees_(degrees), interpolation_(interpolation), fill_(fill) {
  const OpScope op(kName);
  TANDEM_CHECK(std::isfinite(degrees[0]) && std::isfinite(degrees[1]) && degrees[0] <= degrees[1], StateError,
               "degrees is from {} to {}; both must be finite, the first not above the second", degrees[0], degrees[1]);
  TANDEM_CHECK(interpolation != InterpolationMode::Bicubic, StateError,
               "interpolation is Bicubic; it must be Nearest or Bilinear");
}

Tensor RandomRotationOp::transform(const Tensor& image) const {
  const double angle = data::detail::uniform(degrees_[0], degrees_[1]) * std::numbers::pi / 180;
  const auto h = static_cast<double>(image.size(-2)), w = static_cast<double>(image.size(-1));
  // The grid maps elements of the result to places of the image, in coordinates that go from -1 to 1 along each side.
  const double c = std::cos(angle), s = std::sin(angle);
  const std::vector<double> map = {c, -s * h / w, 0, s * w / h, c, 0};
  const Tensor theta = view(tensor(map, TensorOptions(kDouble).device(kCPU)), {1, 2, 3});
  const DType dtype = checks::sum_dtype(image.dtype());
  const Tensor grid =
      affine_grid_generator(theta, {1, 1, image.size(-2), image.size(-1)}, false).to(image.device(), dtype);
  // grid_sampler gives 0 outside of the image, so the image is shifted to make that the value `fill`.
  Tensor x = to(unsqueeze(image, 0), dtype);
  if (fill_ != 0) x = sub(x, fill_);
  Tensor y = grid_sampler(x, grid, interpolation_ == InterpolationMode::Bilinear ? 0 : 1, 0, false);
  if (fill_ != 0) y = add(y, fill_);
  return to(squeeze(y, 0), image.dtype());
}

}  // namespace tandem::data::transforms
