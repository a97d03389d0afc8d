// Random calls of grids, unpooling, windows at random places and resizing that averages. The Python side is
// differential_sampling.py.
#include "soak/random_call_ops.h"

namespace tandem::testing {
namespace {

Tensor unpooled_2d(const Tensor& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& sizes) {
  const auto [y, indices] = max_pool2d_with_indices(x, kernel, kernel);
  return max_unpool2d(y, indices, sizes);
}
Tensor unpooled_3d(const Tensor& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& sizes) {
  const auto [y, indices] = max_pool3d_with_indices(x, kernel, kernel);
  return max_unpool3d(y, indices, sizes);
}

}  // namespace

void add_sampling_ops(Ops& ops) {
  TANDEM_OP("grid_sampler", grid_sampler(x[0], x[1], a.i("mode"), a.i("padding"), a.flag("align")));
  TANDEM_OP("grid_sampler.volume", grid_sampler(x[0], x[1], a.i("mode"), a.i("padding"), a.flag("align")));
  TANDEM_OP("affine_grid_generator", affine_grid_generator(x[0], a.list("sizes"), a.flag("align")));
  TANDEM_OP("max_unpool2d", unpooled_2d(x[0], a.list("kernel"), a.list("sizes")));
  TANDEM_OP("max_unpool3d", unpooled_3d(x[0], a.list("kernel"), a.list("sizes")));
  TANDEM_OP("fractional_max_pool2d", fractional_max_pool2d(x[0], a.list("kernel"), a.list("sizes"), x[1]));
  TANDEM_OP("fractional_max_pool3d", fractional_max_pool3d(x[0], a.list("kernel"), a.list("sizes"), x[1]));
  TANDEM_OP("_upsample_bilinear2d_aa", _upsample_bilinear2d_aa(x[0], a.list("sizes"), a.flag("align"),
                                                               a.maybe_real("scale"), a.maybe_real("scale")));
  TANDEM_OP("_upsample_bicubic2d_aa", _upsample_bicubic2d_aa(x[0], a.list("sizes"), a.flag("align"),
                                                             a.maybe_real("scale"), a.maybe_real("scale")));
}

}  // namespace tandem::testing
