// tril_, triu_ and fill_diagonal_.
#include "tandem/autograd/apply.h"
#include "tandem/ops/diagonal.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/triangle-inl.h"

namespace tandem {
namespace {

/// Fills the elements with equal indices of x; with `wrap`, of each part of a tall matrix.
void fill_equal_indices(const Tensor& x, Scalar value, bool wrap) {
  if (x.numel() == 0) return;
  int64_t step = 0, length = x.size(0);
  for (int64_t d = 0; d < x.dim(); ++d) {
    step += x.stride(d);
    length = std::min(length, x.size(d));
  }
  const int64_t rows = x.size(0), part = x.size(1) + 1;
  for (int64_t row = 0; row < rows; row += part) {
    backend(x).fill(make_view(x, {std::min(length, rows - row)}, {step}, x.storage_offset() + row * x.stride(0)),
                    value);
    if (!wrap || x.dim() != 2) break;
  }
}

}  // namespace

const Tensor& Tensor::tril_(int64_t diagonal) const {
  const OpScope op("tril_");
  detail::check_matrices(*this);
  return apply_in_place(
      op, *this, {}, [&](const Tensor& y) { detail::keep_triangle(y, y, diagonal, true); },
      [&](const Tensor& old) { return tandem::tril(old, diagonal); });
}
const Tensor& Tensor::triu_(int64_t diagonal) const {
  const OpScope op("triu_");
  detail::check_matrices(*this);
  return apply_in_place(
      op, *this, {}, [&](const Tensor& y) { detail::keep_triangle(y, y, diagonal, false); },
      [&](const Tensor& old) { return tandem::triu(old, diagonal); });
}

const Tensor& Tensor::fill_diagonal_(Scalar value, bool wrap) const {
  const OpScope op("fill_diagonal_");
  detail::check_matrices(*this);
  bool is_cube = true;
  for (const int64_t size : sizes()) is_cube = is_cube && size == sizes()[0];
  TANDEM_CHECK(dim() == 2 || is_cube, ShapeError, "self is {}; with more than two dimensions, all sizes must be equal",
               checks::show(*this));
  check_fits(value, dtype());
  return apply_in_place(
      op, *this, {}, [&](const Tensor& y) { fill_equal_indices(y, value, wrap); },
      [&](const Tensor& old) {
        const Tensor keeps = ones(old.sizes(), old.options().dtype(kBool));
        fill_equal_indices(keeps, false, wrap);
        return tandem::where(keeps, old, full({}, value, old.options()));
      });
}

}  // namespace tandem
