#pragma once
// Transforms that move, cut and resize images. Names and defaults are those of torchvision.transforms.v2.
#include <array>
#include <initializer_list>

#include "tandem/data/transforms/image.h"
#include "tandem/ops/pad.h"

#pragma GCC visibility push(default)
namespace tandem::data::transforms {

/// How the elements of a resized or rotated image are made from their neighbours.
enum class InterpolationMode : uint8_t { Nearest, Bilinear, Bicubic };

/// Cuts out height x width elements at a random place, after padding. `size`: {height, width}, or one number for both.
/// `padding`: one number for all sides, {left and right, top and bottom}, or {left, top, right, bottom}; with
/// PadMode::Constant it has the value `fill`. Throws ShapeError if the padded image is smaller.
struct RandomCropOp {
  static constexpr const char* kName = "RandomCrop";
  static constexpr bool kRandom = true;
  explicit RandomCropOp(IntArrayRef size, IntArrayRef padding = 0, double fill = 0,
                        PadMode padding_mode = PadMode::Constant);
  /// For braces, which could also mean the arguments of another RandomCrop.
  explicit RandomCropOp(std::initializer_list<int64_t> size, IntArrayRef padding = 0, double fill = 0,
                        PadMode padding_mode = PadMode::Constant)
      : RandomCropOp(IntArrayRef(size), padding, fill, padding_mode) {}
  Tensor transform(const Tensor& image) const;

 private:
  std::array<int64_t, 2> size_;
  std::array<int64_t, 4> padding_;  ///< left, right, top, bottom
  double fill_;
  PadMode mode_;
};
template <class Target = Tensor>
using RandomCrop = ImageTransform<RandomCropOp, Target>;

/// Cuts out height x width elements from the middle; pads smaller images with 0.
struct CenterCropOp {
  static constexpr const char* kName = "CenterCrop";
  static constexpr bool kRandom = false;
  explicit CenterCropOp(IntArrayRef size);
  Tensor transform(const Tensor& image) const;

 private:
  std::array<int64_t, 2> size_;
};
template <class Target = Tensor>
using CenterCrop = ImageTransform<CenterCropOp, Target>;

/// Resizes to {height, width}; one number is the size of the shorter side, and the ratio of the sides stays. With
/// `antialias`, which has no effect on Nearest, elements of a smaller image are means, as in Pillow.
struct ResizeOp {
  static constexpr const char* kName = "Resize";
  static constexpr bool kRandom = false;
  explicit ResizeOp(IntArrayRef size, InterpolationMode interpolation = InterpolationMode::Bilinear,
                    bool antialias = true);
  explicit ResizeOp(std::initializer_list<int64_t> size, InterpolationMode interpolation = InterpolationMode::Bilinear,
                    bool antialias = true)
      : ResizeOp(IntArrayRef(size), interpolation, antialias) {}
  Tensor transform(const Tensor& image) const;

 private:
  std::array<int64_t, 2> size_;  ///< {shorter side, 0} for one number
  InterpolationMode interpolation_;
  bool antialias_;
};
template <class Target = Tensor>
using Resize = ImageTransform<ResizeOp, Target>;

/// Cuts out a part whose area is a random fraction, from `scale`, of the image's, and whose ratio of width to height is
/// from `ratio`, and resizes it as Resize does.
struct RandomResizedCropOp {
  static constexpr const char* kName = "RandomResizedCrop";
  static constexpr bool kRandom = true;
  explicit RandomResizedCropOp(IntArrayRef size, std::array<double, 2> scale = {0.08, 1},
                               std::array<double, 2> ratio = {3.0 / 4, 4.0 / 3},
                               InterpolationMode interpolation = InterpolationMode::Bilinear, bool antialias = true);
  explicit RandomResizedCropOp(std::initializer_list<int64_t> size, std::array<double, 2> scale = {0.08, 1},
                               std::array<double, 2> ratio = {3.0 / 4, 4.0 / 3},
                               InterpolationMode interpolation = InterpolationMode::Bilinear, bool antialias = true)
      : RandomResizedCropOp(IntArrayRef(size), scale, ratio, interpolation, antialias) {}
  Tensor transform(const Tensor& image) const;

 private:
  std::array<int64_t, 2> size_;
  std::array<double, 2> scale_, ratio_;
  InterpolationMode interpolation_;
  bool antialias_;
};
template <class Target = Tensor>
using RandomResizedCrop = ImageTransform<RandomResizedCropOp, Target>;

/// Exchanges left and right with probability p.
struct RandomHorizontalFlipOp {
  static constexpr const char* kName = "RandomHorizontalFlip";
  static constexpr bool kRandom = true;
  explicit RandomHorizontalFlipOp(double p = 0.5);
  Tensor transform(const Tensor& image) const;

 private:
  double p_;
};
template <class Target = Tensor>
using RandomHorizontalFlip = ImageTransform<RandomHorizontalFlipOp, Target>;

/// Exchanges top and bottom with probability p.
struct RandomVerticalFlipOp {
  static constexpr const char* kName = "RandomVerticalFlip";
  static constexpr bool kRandom = true;
  explicit RandomVerticalFlipOp(double p = 0.5);
  Tensor transform(const Tensor& image) const;

 private:
  double p_;
};
template <class Target = Tensor>
using RandomVerticalFlip = ImageTransform<RandomVerticalFlipOp, Target>;

/// Rotates about the centre by an angle from {low, high} degrees, counter-clockwise; the number d means {-d, d}. The
/// size stays; elements from outside have the value `fill`. Bicubic is not offered.
struct RandomRotationOp {
  static constexpr const char* kName = "RandomRotation";
  static constexpr bool kRandom = true;
  explicit RandomRotationOp(double degrees, InterpolationMode interpolation = InterpolationMode::Nearest,
                            double fill = 0);
  explicit RandomRotationOp(std::array<double, 2> degrees, InterpolationMode interpolation = InterpolationMode::Nearest,
                            double fill = 0);
  Tensor transform(const Tensor& image) const;

 private:
  std::array<double, 2> degrees_;
  InterpolationMode interpolation_;
  double fill_;
};
template <class Target = Tensor>
using RandomRotation = ImageTransform<RandomRotationOp, Target>;

}  // namespace tandem::data::transforms
#pragma GCC visibility pop
