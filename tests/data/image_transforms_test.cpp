// Transforms of images against plain computations, and their random numbers in loaders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "data/values.h"
#include "support/bad_input.h"
#include "support/state.h"
#include "tandem/data/data.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/interpolate.h"
#include "tandem/ops/rearrange.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::data {
namespace {

using namespace testing;
using namespace transforms;
using transforms::InterpolationMode;

const TensorOptions kHostFloat = TensorOptions(kFloat).device(kCPU);

Tensor random_images(IntArrayRef sizes) { return rand(sizes, Generator(4), kHostFloat); }

/// An image [C, H, W] as a function of channel, row and column.
template <class F>
Tensor image_of(int64_t c, int64_t h, int64_t w, F value) {
  const Tensor image = empty({c, h, w}, kHostFloat);
  float* p = image.data_ptr<float>();
  for (int64_t k = 0; k < c; ++k) {
    for (int64_t i = 0; i < h; ++i) {
      for (int64_t j = 0; j < w; ++j) *p++ = static_cast<float>(value(k, i, j));
    }
  }
  return image;
}
float at(const Tensor& x, int64_t c, int64_t i, int64_t j) {
  return x.const_data_ptr<float>()[(c * x.size(1) + i) * x.size(2) + j];
}
void expect_near(const Tensor& a, const Tensor& b, float tolerance = 1e-5f) {
  ASSERT_EQ(to_string(a.sizes()), to_string(b.sizes()));
  const auto x = floats(a), y = floats(b);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << "element " << i;
}

TEST(ImageTransforms, RandomCropTakesEveryPartOfThePaddedImage) {
  manual_seed(1);
  const Tensor image = image_of(2, 3, 4, [](int64_t c, int64_t i, int64_t j) { return 1 + 100 * c + 10 * i + j; });
  RandomCrop<> crop({3, 4}, 1, -5);
  std::map<std::pair<int64_t, int64_t>, int> places;
  for (int run = 0; run < 200; ++run) {
    const Tensor y = crop(image);
    bool found = false;
    for (int64_t top = -1; top <= 1 && !found; ++top) {
      for (int64_t left = -1; left <= 1 && !found; ++left) {
        const Tensor part = image_of(2, 3, 4, [&](int64_t c, int64_t i, int64_t j) {
          const int64_t r = i + top, s = j + left;
          return r < 0 || r > 2 || s < 0 || s > 3 ? -5.0f : at(image, c, r, s);
        });
        found = floats(part) == floats(y);
        if (found) ++places[{top, left}];
      }
    }
    EXPECT_TRUE(found);
  }
  EXPECT_EQ(places.size(), 9U);
  const Tensor row = image_of(1, 1, 3, [](int64_t, int64_t, int64_t j) { return j; });
  EXPECT_EQ(floats(RandomCrop<>({1, 5}, {1, 0}, 0, PadMode::Reflect)(row)), (std::vector<float>{1, 0, 1, 2, 1}));
  EXPECT_EQ(floats(RandomCrop<>({2, 5}, {0, 1, 2, 0}, 9)(row)), (std::vector<float>{9, 9, 9, 9, 9, 0, 1, 2, 9, 9}));
}

TEST(ImageTransforms, CenterCropTakesTheMiddleAndPads) {
  const Tensor image = image_of(1, 5, 6, [](int64_t, int64_t i, int64_t j) { return 10 * i + j; });
  EXPECT_EQ(floats(CenterCrop<>({3, 2})(image)), (std::vector<float>{12, 13, 22, 23, 32, 33}));
  EXPECT_EQ(floats(CenterCrop<>({2, 1})(image)), (std::vector<float>{22, 32}));  // places 1.5 and 2.5 become 2
  EXPECT_EQ(floats(CenterCrop<>({1, 9})(image)), (std::vector<float>{0, 20, 21, 22, 23, 24, 25, 0, 0}));
  EXPECT_EQ(to_string(CenterCrop<>(4)(random_images({2, 3, 6, 7})).sizes()), "[2, 3, 4, 4]");
}

TEST(ImageTransforms, FlipsWithTheGivenProbability) {
  manual_seed(2);
  const Tensor image = random_images({3, 4, 5});
  EXPECT_EQ(floats(RandomHorizontalFlip<>(1)(image)), floats(flip(image, {2})));
  EXPECT_EQ(floats(RandomVerticalFlip<>(1)(image)), floats(flip(image, {1})));
  EXPECT_EQ(floats(RandomVerticalFlip<>(0)(image)), floats(image));
  int flipped = 0;
  RandomHorizontalFlip<> sometimes(0.25);
  for (int run = 0; run < 1000; ++run) flipped += floats(sometimes(image)) != floats(image);
  EXPECT_NEAR(flipped, 250, 70);  // 5 standard deviations
}

TEST(ImageTransforms, EachImageOfABatchIsDrawnAnew) {
  manual_seed(3);
  const Tensor images = random_images({64, 1, 2, 2}), y = RandomHorizontalFlip<>()(images);
  int flipped = 0;
  for (int64_t n = 0; n < 64; ++n) {
    const auto x = floats(images[n]), z = floats(y[n]);
    flipped += z != x;
    EXPECT_TRUE(z == x || z == floats(flip(images[n], {2})));
  }
  EXPECT_GT(flipped, 10);
  EXPECT_LT(flipped, 54);
}

TEST(ImageTransforms, ResizeKeepsTheRatioForOneNumber) {
  const Tensor image = random_images({3, 20, 31});
  EXPECT_EQ(to_string(Resize<>(10)(image).sizes()), "[3, 10, 15]");
  EXPECT_EQ(to_string(Resize<>(10)(random_images({1, 31, 20})).sizes()), "[1, 15, 10]");
  const Tensor batch = random_images({2, 3, 8, 9});
  EXPECT_EQ(floats(Resize<>({4, 5})(batch)), floats(_upsample_bilinear2d_aa(batch, {4, 5}, false)));
  EXPECT_EQ(floats(Resize<>({4, 5}, InterpolationMode::Bicubic, false)(batch)),
            floats(upsample_bicubic2d(batch, {4, 5}, false)));
  EXPECT_EQ(floats(Resize<>({4, 5}, InterpolationMode::Nearest)(batch[0])),
            floats(upsample_nearest2d(batch, {4, 5})[0]));
}

TEST(ImageTransforms, RandomResizedCropIsAPartOfTheImage) {
  manual_seed(4);
  // The values are the coordinates, so that the corners of the result show the part.
  const Tensor image = image_of(2, 40, 60, [](int64_t c, int64_t i, int64_t j) { return c == 0 ? i : j; });
  RandomResizedCrop<> crop({20, 30}, {0.1, 0.5}, {0.5, 2}, InterpolationMode::Nearest);
  double least = 1, most = 0;
  for (int run = 0; run < 200; ++run) {
    const Tensor y = crop(image);
    const double height = at(y, 0, 19, 0) - at(y, 0, 0, 0), width = at(y, 1, 0, 29) - at(y, 1, 0, 0);
    const double part = (height * 20 / 19) * (width * 30 / 29) / 2400;
    least = std::min(least, part);
    most = std::max(most, part);
  }
  EXPECT_NEAR(least, 0.1, 0.05);
  EXPECT_NEAR(most, 0.5, 0.06);
  EXPECT_EQ(to_string(RandomResizedCrop<>(8, {1, 1}, {3, 3})(random_images({1, 9, 10})).sizes()), "[1, 8, 8]");
}

TEST(ImageTransforms, RotatesCounterClockwise) {
  const Tensor square = random_images({2, 7, 7});
  expect_near(RandomRotation<>({90, 90})(square), rot90(square, 1, {1, 2}), 0);
  expect_near(RandomRotation<>({180, 180})(random_images({1, 4, 6})), flip(random_images({1, 4, 6}), {1, 2}), 0);
  expect_near(RandomRotation<>(0)(square), square, 0);
  const double angle = 30 * std::numbers::pi / 180;
  const Tensor image = random_images({1, 12, 17});
  const Tensor y = RandomRotation<>({30, 30}, InterpolationMode::Bilinear, 0.5)(image);
  expect_near(y,
              image_of(1, 12, 17,
                       [&](int64_t, int64_t i, int64_t j) {
                         const double dy = static_cast<double>(i) - 5.5, dx = static_cast<double>(j) - 8;
                         const double r = std::sin(angle) * dx + std::cos(angle) * dy + 5.5,
                                      s = std::cos(angle) * dx - std::sin(angle) * dy + 8;
                         double sum = 0;
                         for (const double a : {std::floor(r), std::floor(r) + 1}) {
                           for (const double b : {std::floor(s), std::floor(s) + 1}) {
                             const bool inside = a >= 0 && a <= 11 && b >= 0 && b <= 16;
                             const double v =
                                 inside ? at(image, 0, static_cast<int64_t>(a), static_cast<int64_t>(b)) : 0.5;
                             sum += v * (1 - std::abs(r - a)) * (1 - std::abs(s - b));
                           }
                         }
                         return sum;
                       }),
              1e-4f);
}

/// Hue in degrees, saturation and value to red, green and blue, by cases of the hue.
std::array<double, 3> rgb(double hue, double saturation, double value) {
  const double c = value * saturation, m = value - c;
  const double x = c * (1 - std::abs(std::fmod(hue / 60, 2) - 1));
  const std::array<std::array<double, 3>, 6> cases = {
      {{c, x, 0}, {x, c, 0}, {0, c, x}, {0, x, c}, {x, 0, c}, {c, 0, x}}};
  std::array<double, 3> result = cases[static_cast<size_t>(hue / 60)];
  for (double& v : result) v += m;
  return result;
}

TEST(ImageTransforms, ColorJitterChangesTheHue) {
  const auto picture = [](double shift) {
    return image_of(3, 6, 6, [=](int64_t c, int64_t i, int64_t j) {
      const double hue = std::fmod(static_cast<double>(60 * i + 9 * j) + 360 * shift + 360, 360);
      return rgb(hue, static_cast<double>(j) / 5, 0.2 + static_cast<double>(i) / 8)[static_cast<size_t>(c)];
    });
  };
  for (const double shift : {-0.4, -0.1, 0.25, 0.5}) {
    expect_near(ColorJitter<>(0, 0, 0, {shift, shift})(picture(0)), picture(shift));
  }
}

TEST(ImageTransforms, ColorJitterScalesBrightnessContrastAndSaturation) {
  const Tensor image = random_images({3, 5, 4});
  const auto clamped = [](double v) { return std::clamp(v, 0.0, 1.0); };
  const auto grey = [&](int64_t i, int64_t j) {
    return 0.2989 * at(image, 0, i, j) + 0.587 * at(image, 1, i, j) + 0.114 * at(image, 2, i, j);
  };
  double mean = 0;
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 4; ++j) mean += grey(i, j) / 20;
  }
  const auto v = [&](int64_t c, int64_t i, int64_t j) { return static_cast<double>(at(image, c, i, j)); };
  for (const double f : {0.0, 0.5, 1.7}) {
    expect_near(ColorJitter<>({f, f})(image),
                image_of(3, 5, 4, [&](auto c, auto i, auto j) { return clamped(f * v(c, i, j)); }));
    expect_near(ColorJitter<>(0, {f, f})(image),
                image_of(3, 5, 4, [&](auto c, auto i, auto j) { return clamped(f * v(c, i, j) + (1 - f) * mean); }));
    expect_near(ColorJitter<>(0, 0, {f, f})(image), image_of(3, 5, 4, [&](auto c, auto i, auto j) {
                  return clamped(f * v(c, i, j) + (1 - f) * grey(i, j));
                }));
  }
  const Tensor one = random_images({1, 5, 4});
  EXPECT_EQ(floats(ColorJitter<>(0, 0, 0.5, 0.5)(one)), floats(one));
  manual_seed(5);
  ColorJitter<> jitter(0.4, 0.4, 0.4, 0.1);
  EXPECT_NE(floats(jitter(image)), floats(jitter(image)));
}

TEST(ImageTransforms, RandomErasingSetsOneRectangle) {
  manual_seed(6);
  const Tensor image = random_images({2, 10, 12});
  int erased = 0;
  for (int run = 0; run < 100; ++run) {
    const Tensor y = RandomErasing<>(0.5, {0.1, 0.3}, {0.5, 2}, 7)(image);
    int64_t top = 99, left = 99, bottom = -1, right = -1, count = 0;
    for (int64_t i = 0; i < 10; ++i) {
      for (int64_t j = 0; j < 12; ++j) {
        if (at(y, 0, i, j) != 7) continue;
        EXPECT_EQ(at(y, 1, i, j), 7);
        top = std::min(top, i), bottom = std::max(bottom, i), left = std::min(left, j), right = std::max(right, j);
        ++count;
      }
    }
    if (count == 0) continue;
    ++erased;
    EXPECT_EQ(count, (bottom - top + 1) * (right - left + 1));
    EXPECT_GE(count, 8);   // 12 elements, rounded
    EXPECT_LE(count, 42);  // 36 elements, rounded
  }
  EXPECT_NEAR(erased, 50, 25);
  EXPECT_EQ(floats(RandomErasing<>(1, {1, 1})(image)), floats(image)) << "no such rectangle";
}

TEST(ImageTransforms, MixUpBlendsImagesAndTargets) {
  manual_seed(7);
  const Tensor images = random_images({4, 1, 3, 3}), targets = tensor({0, 1, 2, 1}, TensorOptions(kLong).device(kCPU));
  const Example<> mixed = MixUp(1.0, 3).apply_batch({images, targets});
  const double lambda = mixed.target[0][0].item<float>();
  EXPECT_GT(lambda, 0);
  EXPECT_LT(lambda, 1);
  for (int64_t n = 0; n < 4; ++n) {
    const int64_t before = (n + 3) % 4;
    const auto x = floats(images[n]), p = floats(images[before]), y = floats(mixed.data[n]);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], lambda * x[i] + (1 - lambda) * p[i], 1e-6);
  }
  EXPECT_NEAR(mixed.target[3][1].item<float>(), lambda, 1e-6);
  EXPECT_NEAR(mixed.target[3][2].item<float>(), 1 - lambda, 1e-6);
  const Tensor shares = one_hot(targets, 3).to(kFloat);
  manual_seed(7);
  EXPECT_EQ(floats(MixUp(1.0, 3).apply_batch({images, shares}).target), floats(mixed.target));
}

TEST(ImageTransforms, CutMixPastesARectangle) {
  manual_seed(8);
  const Tensor images = zeros({3, 1, 8, 10}, kHostFloat);
  for (int64_t n = 0; n < 3; ++n) images[n].fill_(static_cast<double>(n));
  for (int run = 0; run < 20; ++run) {
    const Example<> mixed = CutMix(1.0, 3).apply_batch({images, arange(3, TensorOptions(kLong).device(kCPU))});
    for (int64_t n = 0; n < 3; ++n) {
      double own = 0;
      for (float v : floats(mixed.data[n])) {
        EXPECT_TRUE(v == static_cast<float>(n) || v == static_cast<float>((n + 2) % 3));
        own += v == static_cast<float>(n);
      }
      EXPECT_NEAR(mixed.target[n][n].item<float>(), own / 80, 1e-6);
      EXPECT_NEAR(mixed.target[n][(n + 2) % 3].item<float>(), 1 - own / 80, 1e-6);
    }
  }
}

TEST(ImageTransforms, BetaNumbersHaveTheirVariance) {
  manual_seed(9);
  for (const double alpha : {0.2, 1.0, 3.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
      const double v = data::detail::beta_variate(alpha);
      ASSERT_TRUE(v >= 0 && v <= 1);
      sum += v, squares += v * v;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    EXPECT_NEAR(mean, 0.5, 0.04);
    EXPECT_NEAR(variance / (1 / (4 * (2 * alpha + 1))), 1, 0.1);
  }
}

auto random_loader(size_t workers) {
  auto dataset = datasets::StackedDataset(random_images({11, 3, 6, 6}), arange(11, TensorOptions(kLong).device(kCPU)));
  return make_data_loader(std::move(dataset)
                              .map(RandomCrop<>(6, 2))
                              .map(RandomRotation<>(20))
                              .map(ColorJitter<>(0.3, 0.3, 0.3, 0.1))
                              .map(MixUp(1, 11)),
                          DataLoaderOptions(3).workers(workers).max_jobs(4));
}

template <class Loader>
std::vector<std::vector<float>> epoch_of_floats(Loader& loader) {
  std::vector<std::vector<float>> all;
  for (auto& batch : loader) {
    all.push_back(floats(batch.data));
    all.push_back(floats(batch.target));
  }
  return all;
}

TEST(RandomTransforms, BatchesDoNotDependOnTheWorkers) {
  std::vector<std::vector<float>> first[2], second[2];
  for (const size_t workers : {0, 3}) {
    manual_seed(11);
    auto loader = random_loader(workers);
    first[workers > 0] = epoch_of_floats(*loader);
    second[workers > 0] = epoch_of_floats(*loader);
  }
  EXPECT_NE(first[0], second[0]);
  EXPECT_EQ(first[0], first[1]);
  EXPECT_EQ(second[0], second[1]);
}

TEST(RandomTransforms, LoadersResumeExactly) {
  for (const size_t workers : {0, 2}) {
    manual_seed(12);
    auto loader = random_loader(workers);
    auto it = loader->begin();
    ++it;
    const StateDict state = clone(loader->state_dict());
    Generator rng;
    rng.set_state(default_generator().get_state());
    std::vector<std::vector<float>> expected;
    for (++it; it != loader->end(); ++it) {
      expected.push_back(floats(it->data));
      expected.push_back(floats(it->target));
    }
    const auto next = epoch_of_floats(*loader);
    manual_seed(99);
    auto resumed = random_loader(2 - workers);
    resumed->load_state_dict(state);
    default_generator().set_state(rng.get_state());
    EXPECT_EQ(epoch_of_floats(*resumed), expected);
    EXPECT_EQ(epoch_of_floats(*resumed), next);
  }
}

TEST(RandomTransforms, OtherLoadersLeaveTheGeneratorAlone) {
  auto loader = make_data_loader<samplers::SequentialSampler>(datasets::TensorDataset(random_images({4, 2})), 2);
  manual_seed(1);
  for (auto& batch : *loader) EXPECT_EQ(batch.size(), 2U);
  EXPECT_EQ(default_generator().get_state().offset, 0U);
}

TEST(RandomTransforms, FunctionsInWorkersMustSayThatTheyAreRandom) {
  const auto flipped = [](Example<> e) { return Example<>(RandomHorizontalFlip<>()(e.data), e.target); };
  const auto dataset = datasets::StackedDataset(random_images({4, 1, 2, 2}), zeros({4}, kHostFloat));
  auto loader = make_data_loader(datasets::StackedDataset(dataset).map(flipped), DataLoaderOptions(2).workers(1));
  EXPECT_THROWS(loader->begin(), StateError, "RandomHorizontalFlip: ", "in a worker", "is_random()");
  auto alone = make_data_loader(datasets::StackedDataset(dataset).map(flipped), 2);
  EXPECT_NO_THROW(epoch_of_floats(*alone));
}

TEST(DataErrors, ImageTransforms) {
  const Tensor image = ones({3, 8, 8}), batch = ones({2, 3, 8, 8}), none;
  const std::array<double, 2> falling = {2, 1};
  const auto mix = [](Tensor data, Tensor target) { return MixUp(1.0, 3).apply_batch({data, target}); };
  const auto cut = [](Tensor data, Tensor target) { return CutMix(1.0, 3).apply_batch({data, target}); };
  expect_refused({
      BAD_INPUT("RandomCrop", RandomCrop<>(9)(image), ShapeError, "8 x 8", "crop of 9 x 9", "pad or resize"),
      BAD_INPUT("RandomCrop", RandomCrop<>(4)(ones({8, 8})), ShapeError, "[8, 8]", "[C, H, W]"),
      BAD_INPUT("RandomCrop", RandomCrop<>(4)(ones({0, 3, 8, 8})), ShapeError, "[0, 3, 8, 8]", "not empty"),
      BAD_INPUT("RandomCrop", RandomCrop<>(4)(ones({3, 8, 8}, kByte)), DTypeError, "u8"),
      BAD_INPUT("RandomCrop", RandomCrop<>({1, 2, 3}), StateError, "3 numbers", "{height, width}"),
      BAD_INPUT("RandomCrop", RandomCrop<>(0), StateError, "number 0", "above 0"),
      BAD_INPUT("RandomCrop", RandomCrop<>(4, {1, 2, 3}), StateError, "padding has 3 numbers"),
      BAD_INPUT("RandomCrop", RandomCrop<>(4, -1), StateError, "padding has the number -1"),
      UNDEFINED("CenterCrop", CenterCrop<>(4)(none)),
      BAD_INPUT("Resize", Resize<>({4, -4}), StateError, "number -4"),
      BAD_INPUT("RandomResizedCrop", RandomResizedCrop<>(4, falling), StateError, "scale is from 2 to 1"),
      BAD_INPUT("RandomResizedCrop", RandomResizedCrop<>(4, {0.1, 1}, {0, 1}), StateError, "ratio is from 0 to 1"),
      BAD_INPUT("RandomHorizontalFlip", RandomHorizontalFlip<>(1.5), StateError, "p is 1.5", "from 0 to 1"),
      BAD_INPUT("RandomVerticalFlip", RandomVerticalFlip<>(std::nan("")), StateError, "p is nan"),
      BAD_INPUT("RandomRotation", RandomRotation<>(falling), StateError, "degrees is from 2 to 1"),
      BAD_INPUT("RandomRotation", RandomRotation<>(5, InterpolationMode::Bicubic), StateError, "Bicubic"),
      BAD_INPUT("ColorJitter", ColorJitter<>(-1), StateError, "brightness is -1"),
      BAD_INPUT("ColorJitter", ColorJitter<>(0, 0, 0, 0.6), StateError, "hue is from -0.6 to 0.6", "-0.5 to 0.5"),
      BAD_INPUT("ColorJitter", ColorJitter<>(0, {2, 1}), StateError, "contrast is from 2 to 1"),
      BAD_INPUT("ColorJitter", ColorJitter<>(0.5)(ones({2, 8, 8})), ShapeError, "2 channels", "must have 1, or 3"),
      BAD_INPUT("RandomErasing", RandomErasing<>(0.5, {0.1, 2}), StateError, "scale is from 0.1 to 2"),
      BAD_INPUT("MixUp", MixUp(0, 3), StateError, "alpha is 0", "above 0"),
      BAD_INPUT("MixUp", MixUp(1, 0), StateError, "num_classes is 0"),
      BAD_INPUT("MixUp", mix(batch, zeros({3}, kLong)), ShapeError, "the target is [3] i64", "2 images"),
      BAD_INPUT("MixUp", mix(ones({4}), zeros({4}, kLong)), ShapeError, "[4] f32", "Stack"),
      BAD_INPUT("CutMix", cut(image, zeros({3}, kLong)), ShapeError, "[3, 8, 8] f32", "[N, C, H, W]"),
      BAD_INPUT("CutMix", cut(batch, zeros({2, 4})), ShapeError, "[2, 4] f32", "[2, 3]"),
  });
}

}  // namespace
}  // namespace tandem::data
