// Interpolation rejects images, sizes and scales that do not fit.
#include <cmath>
#include <functional>

#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs interpolate_bad_input() {
  struct Resize {
    const char* name;
    size_t dims;
    std::function<void(const Tensor& x, IntArrayRef size, std::optional<double> scale)> run;
  };
  using Scale = std::optional<double>;
  BadInputs rows;
  for (const Resize& resize : {
           Resize{"upsample_nearest1d", 1, [](const Tensor&x, IntArrayRef s, Scale f) { upsample_nearest1d(x, s, f); }},
           Resize{"upsample_nearest2d", 2, [](const Tensor&x, IntArrayRef s, Scale f) { upsample_nearest2d(x, s, f); }},
           Resize{"upsample_nearest3d", 3, [](const Tensor&x, IntArrayRef s, Scale f) { upsample_nearest3d(x, s, f); }},
           Resize{"_upsample_nearest_exact1d", 1,
                  [](const Tensor&x, IntArrayRef s, Scale f) { _upsample_nearest_exact1d(x, s, f); }},
           Resize{"_upsample_nearest_exact2d", 2,
                  [](const Tensor&x, IntArrayRef s, Scale f) { _upsample_nearest_exact2d(x, s, f); }},
           Resize{"_upsample_nearest_exact3d", 3,
                  [](const Tensor&x, IntArrayRef s, Scale f) { _upsample_nearest_exact3d(x, s, f); }},
           Resize{"upsample_linear1d", 1,
                  [](const Tensor&x, IntArrayRef s, Scale f) { upsample_linear1d(x, s, false, f); }},
           Resize{"upsample_bilinear2d", 2,
                  [](const Tensor&x, IntArrayRef s, Scale f) { upsample_bilinear2d(x, s, false, f); }},
           Resize{"upsample_trilinear3d", 3,
                  [](const Tensor&x, IntArrayRef s, Scale f) { upsample_trilinear3d(x, s, false, f); }},
           Resize{"upsample_bicubic2d", 2,
                  [](const Tensor&x, IntArrayRef s, Scale f) { upsample_bicubic2d(x, s, true, f); }},
           Resize{"_upsample_bilinear2d_aa", 2,
                  [](const Tensor&x, IntArrayRef s, Scale f) { _upsample_bilinear2d_aa(x, s, true, f); }},
           Resize{"_upsample_bicubic2d_aa", 2,
                  [](const Tensor&x, IntArrayRef s, Scale f) { _upsample_bicubic2d_aa(x, s, true, f); }},
       }) {
    const auto run = resize.run;
    const Tensor none, flat = ones({3, 4}), x = ones(Dims(resize.dims + 2, 4)), n = ones(x.sizes(), kLong);
    const Tensor empty_x = ones(Dims(resize.dims + 2, 0));
    const Dims size(resize.dims, 2), zero(resize.dims, 0), more(resize.dims + 1, 2);
    rows.push_back(UNDEFINED(resize.name, run(none, size, {})));
    rows.push_back(BAD_INPUT(resize.name, run(flat, size, {}), ShapeError, "x is [3, 4] f32", "[N, C, "));
    rows.push_back(BAD_INPUT(resize.name, run(n, size, {}), DTypeError, "i64", ".to(kFloat)"));
    rows.push_back(BAD_INPUT(resize.name, run(empty_x, size, {}), ShapeError, "at least 1"));
    rows.push_back(BAD_INPUT(resize.name, run(x, zero, {}), ShapeError, "output_size is [0", "at least 1"));
    rows.push_back(BAD_INPUT(resize.name, run(x, more, {}), ShapeError, "output_size is [2", "entries"));
    rows.push_back(BAD_INPUT(resize.name, run(x, size, -1.0), StateError, "a scale is -1", "positive"));
    rows.push_back(BAD_INPUT(resize.name, run(x, size, std::nan("")), StateError, "a scale is nan", "positive"));
    rows.push_back(BAD_INPUT(resize.name, run(x, size, 1e-320), StateError, "too small", "output of 2"));
  }
  return rows;
}

TEST(InterpolateErrors, BadInputIsRefused) { expect_refused(interpolate_bad_input()); }

}  // namespace tandem::testing
