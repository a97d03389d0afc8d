#pragma once
// Transforms of colours, and of parts of images and pairs of images. Names and defaults are those of
// torchvision.transforms.v2.
#include <array>
#include <initializer_list>
#include <optional>

#include "tandem/data/transforms/image.h"

#pragma GCC visibility push(default)
namespace tandem::data::transforms {

/// A range of factors or shifts; the number v stands for the range around the neutral value that torchvision takes:
/// [max(0, 1 - v), 1 + v] for factors, [-v, v] for the hue.
struct JitterRange {
  JitterRange(double v) : around(v) {}
  JitterRange(double low, double high) : limits({low, high}) {}
  double around = 0;
  std::optional<std::array<double, 2>> limits;
};

/// Changes brightness, contrast, saturation and hue, in a random order, by factors (the hue: by a part of the circle,
/// from -1/2 to 1/2) drawn from these ranges. For images of 3 channels red, green, blue with values from 0 to 1, which
/// it keeps; of 1 channel, which have neither saturation nor hue. Throws ShapeError for other numbers of channels.
struct ColorJitterOp {
  static constexpr const char* kName = "ColorJitter";
  static constexpr bool kRandom = true;
  explicit ColorJitterOp(JitterRange brightness = 0, JitterRange contrast = 0, JitterRange saturation = 0,
                         JitterRange hue = 0);
  /// The brightness as {low, high}: braces could also mean the arguments of another ColorJitter.
  explicit ColorJitterOp(std::initializer_list<double> brightness, JitterRange contrast = 0, JitterRange saturation = 0,
                         JitterRange hue = 0)
      : ColorJitterOp(range_of(brightness), contrast, saturation, hue) {}
  Tensor transform(const Tensor& image) const;

 private:
  static JitterRange range_of(std::initializer_list<double> limits);
  using Limits = std::optional<std::array<double, 2>>;  ///< nullopt: nothing to do
  std::array<Limits, 4> limits_;
};
template <class Target = Tensor>
using ColorJitter = ImageTransform<ColorJitterOp, Target>;

/// Sets a random rectangle to `value`, with probability p (cutout, "random erasing"). `scale` and `ratio` are the
/// ranges of its part of the image's area and of its height divided by its width.
struct RandomErasingOp {
  static constexpr const char* kName = "RandomErasing";
  static constexpr bool kRandom = true;
  explicit RandomErasingOp(double p = 0.5, std::array<double, 2> scale = {0.02, 0.33},
                           std::array<double, 2> ratio = {0.3, 3.3}, double value = 0);
  Tensor transform(const Tensor& image) const;

 private:
  double p_;
  std::array<double, 2> scale_, ratio_;
  double value_;
};
template <class Target = Tensor>
using RandomErasing = ImageTransform<RandomErasingOp, Target>;

/// Base class of MixUp and CutMix: transforms of stacked batches, for map() after Stack. The targets, classes i64 [N]
/// or probabilities [N, num_classes], become probabilities f32 [N, num_classes], for cross_entropy. Throws ShapeError
/// for other sizes.
class PairedTransform : public BatchTransform<Example<>, Example<>> {
 public:
  bool is_random() const { return true; }

 protected:
  PairedTransform(const char* name, double alpha, int64_t num_classes);
  /// Returns the targets as probabilities, mixed as lambda target + (1 - lambda) previous target.
  Tensor mixed_targets(const Tensor& targets, int64_t count, double lambda) const;

  const char* name_;
  double alpha_;
  int64_t num_classes_;
};

/// Mixes each image with the one before it in the batch (the first with the last): lambda x + (1 - lambda) previous,
/// where lambda has the distribution Beta(alpha, alpha). Zhang et al. 2018.
class MixUp : public PairedTransform {
 public:
  explicit MixUp(double alpha = 1, int64_t num_classes = 10) : PairedTransform("MixUp", alpha, num_classes) {}
  Example<> apply_batch(Example<> batch) override;
};

/// Replaces a random rectangle of each image by that of the one before it in the batch; lambda is the part of the image
/// that stays. Yun et al. 2019.
class CutMix : public PairedTransform {
 public:
  explicit CutMix(double alpha = 1, int64_t num_classes = 10) : PairedTransform("CutMix", alpha, num_classes) {}
  Example<> apply_batch(Example<> batch) override;
};

}  // namespace tandem::data::transforms
#pragma GCC visibility pop
