#include "kernels/cuda/float8_scales.h"

#include <cublasLt.h>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr int64_t rounded_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/// The scales [rows, columns], with zeros up to larger sizes, contiguous.
Tensor padded(const Tensor& x, int64_t rows, int64_t columns) {
  const Tensor y = empty({rows, columns}, x.options());
  if (rows != x.size(0) || columns != x.size(1)) fill(y, 0);
  copy(make_view(y, x.sizes(), {columns, 1}, 0), x);
  return y;
}

Tensor in_place_or_padded(const Tensor& x, int64_t rows, int64_t columns) {
  const bool fits = x.is_contiguous() && x.size(0) == rows && x.size(1) == columns && alignment_of(x.raw_bytes()) >= 16;
  return fits ? x : padded(x, rows, columns);
}

/// Tiles of 128 rows and 4 columns. In a tile, the four columns of a row are neighbours; row r begins at
/// 16 (r % 32) + 4 (r / 32).
Tensor tiled(const Tensor& x) {
  const int64_t rows = rounded_up(x.size(0), 128), columns = rounded_up(x.size(1), 4);
  const Tensor from = in_place_or_padded(x, rows, columns);
  const Tensor tiles = empty({rows / 128, columns / 4, 32, 4, 4}, x.options());
  copy(tiles, make_view(from, tiles.sizes(), {128 * columns, 4, columns, 32 * columns, 1}, from.storage_offset()));
  return tiles;
}

}  // namespace

std::optional<ScaleForm> scale_form(const Float8Scales& s) {
  if (s.rows == 0) return ScaleForm::tensor;
  if (s.inverse.dtype() == kFloat8_e8m0fnu) {
    return s.rows == 1 && s.columns == 32 ? std::optional(ScaleForm::vec32) : std::nullopt;
  }
  if (s.columns != 128 || (s.rows != 1 && s.rows != 128)) return std::nullopt;
  return s.rows == 1 ? ScaleForm::vec128 : ScaleForm::block128;
}

bool multiplies_scaled(ScaleForm a, ScaleForm b, int capability) {
  if (a == ScaleForm::tensor || b == ScaleForm::tensor) return a == b && capability >= 89;
#if defined(CUBLAS_VERSION) && CUBLAS_VERSION < 120900
  return false;  // these headers do not name the forms
#else
  if (a == ScaleForm::vec32 || b == ScaleForm::vec32) return a == b && capability >= 100;
  return capability == 90 && (a == ScaleForm::vec128 || b == ScaleForm::vec128);
#endif
}

Tensor laid_out(const Tensor& inverse, ScaleForm form) {
  switch (form) {
    case ScaleForm::vec128: {
      const Tensor turned = make_view(inverse, {inverse.size(1), inverse.size(0)},
                                      {inverse.stride(1), inverse.stride(0)}, inverse.storage_offset());
      return in_place_or_padded(turned, turned.size(0), turned.size(1));
    }
    case ScaleForm::block128:
      return in_place_or_padded(inverse, inverse.size(0), rounded_up(inverse.size(1), 4));
    case ScaleForm::vec32:
      return tiled(inverse);
    default:
      return inverse;
  }
}

}  // namespace tandem::cuda
