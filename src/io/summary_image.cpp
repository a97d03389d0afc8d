#include "src/io/summary_image.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/io/pictures.h"
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"

namespace tandem::io {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28, kMostPixelsOfASide = 1 << 20;

/// The bytes of the picture, pixel by pixel.
std::vector<uint8_t> pixels_of(const Tensor& image) {
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  const bool is_bytes = image.dtype() == kByte;
  Tensor x = image.detach().cpu();
  if (!is_bytes) x = x.to(kFloat);
  x = x.contiguous();
  const auto channels = static_cast<size_t>(x.size(0)), area = static_cast<size_t>(x.size(1) * x.size(2));
  const uint8_t* bytes = is_bytes ? x.const_data_ptr<uint8_t>() : nullptr;
  const float* floats = is_bytes ? nullptr : x.const_data_ptr<float>();
  std::vector<uint8_t> pixels(channels * area);
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < area; ++i) {
      const size_t from = c * area + i;
      // fmax(NaN, 0) is 0.
      pixels[i * channels + c] =
          is_bytes ? bytes[from] : static_cast<uint8_t>(std::fmin(std::fmax(floats[from] * 255.0f, 0.0f), 255.0f));
    }
  }
  return pixels;
}

}  // namespace

EncodedImage encode_image(const Tensor& image) {
  TANDEM_CHECK(image.defined(), StateError, "the picture is undefined; give a tensor [C, H, W]");
  TANDEM_CHECK(image.dtype() == kByte || is_floating_point(image.dtype()), DTypeError,
               "the picture is {}; give u8 values, or floating ones in [0, 1]", checks::show(image));
  TANDEM_CHECK(image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3 || image.size(0) == 4) &&
                   image.size(1) > 0 && image.size(2) > 0,
               ShapeError, "the picture is {}; it must be [C, H, W] with 1, 3 or 4 channels", checks::show(image));
  TANDEM_CHECK(
      std::max(image.size(1), image.size(2)) <= kMostPixelsOfASide && image.size(1) * image.size(2) <= kMostPixels,
      ShapeError, "the picture is {}; it must have at most {} pixels and {} along a side; reduce its size",
      checks::show(image), kMostPixels, kMostPixelsOfASide);
  TANDEM_CHECK(encode_png, NotImplementedError,
               "the program has no libpng; link tandem::io, and build tandem where libpng-dev is installed");
  const auto size = [&](int64_t dim) { return static_cast<size_t>(image.size(dim)); };
  return {static_cast<int>(image.size(1)), static_cast<int>(image.size(2)), static_cast<int>(image.size(0)),
          encode_png({size(1), size(2), size(0), pixels_of(image)})};
}

}  // namespace tandem::io
