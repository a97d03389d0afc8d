// Image transforms: checks of images and arguments.
#include "tandem/data/transforms/image.h"

#include <cmath>

#include "src/data/transforms/checks.h"
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/data/random.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"

namespace tandem::data::transforms {

Tensor detail::for_images(const char* name, bool one_by_one, const Tensor& images,
                          const std::function<Tensor(const Tensor&)>& apply) {
  const OpScope op(name);
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  checks::floating("the image", images);
  TANDEM_CHECK((images.dim() == 3 || images.dim() == 4) && images.numel() > 0, ShapeError,
               "the input is {}; it must be an image [C, H, W] or a batch of images [N, C, H, W], not empty",
               checks::show(images));
  if (images.dim() == 3 || !one_by_one) return apply(images);
  std::vector<Tensor> results;
  results.reserve(static_cast<size_t>(images.size(0)));
  for (int64_t i = 0; i < images.size(0); ++i) results.push_back(apply(select(images, 0, i)));
  return stack(results, 0);
}

void check_probability(double p) { TANDEM_CHECK(p >= 0 && p <= 1, StateError, "p is {}; it must be from 0 to 1", p); }

void check_range(const char* which, const std::array<double, 2>& range, bool zero_is_valid) {
  const bool positive = zero_is_valid ? range[0] >= 0 : range[0] > 0;
  TANDEM_CHECK(positive && range[0] <= range[1] && std::isfinite(range[1]), StateError,
               "{} is from {} to {}; both must be finite and {} 0, the first not above the second", which, range[0],
               range[1], zero_is_valid ? "at least" : "above");
}

std::array<int64_t, 2> height_and_width(IntArrayRef size) {
  TANDEM_CHECK(size.size() == 1 || size.size() == 2, StateError,
               "size has {} numbers; give {{height, width}}, or one number", size.size());
  for (int64_t v : size) TANDEM_CHECK(v > 0, StateError, "size has the number {}; sizes must be above 0", v);
  return {size[0], size.back()};
}

int64_t random_place(int64_t room) { return data::detail::uniform_below(room + 1); }

}  // namespace tandem::data::transforms
