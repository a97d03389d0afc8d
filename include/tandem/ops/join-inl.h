#pragma once
#include <algorithm>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/index.h"
#include "tandem/ops/join.h"
#include "tandem/ops/pad.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

inline void check_list(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), StateError, "the list of tensors is empty; give at least one");
  for (size_t i = 0; i < tensors.size(); ++i) checks::defined_at(i, tensors[i]);
}

template <class F>
std::vector<Tensor> for_each_tensor(TensorList tensors, F f) {
  std::vector<Tensor> results;
  for (size_t i = 0; i < tensors.size(); ++i) {
    checks::defined_at(i, tensors[i]);
    results.push_back(f(tensors[i]));
  }
  return results;
}

}  // namespace detail

TANDEM_OPS Tensor concat(TensorList tensors, int64_t dim) {
  const OpScope op("concat");
  return cat(tensors, dim);
}
TANDEM_OPS Tensor concatenate(TensorList tensors, int64_t dim) {
  const OpScope op("concatenate");
  return cat(tensors, dim);
}

TANDEM_OPS Tensor atleast_1d(const Tensor& x) {
  const OpScope op("atleast_1d");
  checks::defined("the input", x);
  return x.dim() == 0 ? unsqueeze(x, 0) : x;
}
TANDEM_OPS Tensor atleast_2d(const Tensor& x) {
  const OpScope op("atleast_2d");
  checks::defined("the input", x);
  return x.dim() == 0 ? reshape(x, {1, 1}) : x.dim() == 1 ? unsqueeze(x, 0) : x;
}
TANDEM_OPS Tensor atleast_3d(const Tensor& x) {
  const OpScope op("atleast_3d");
  checks::defined("the input", x);
  if (x.dim() == 0) return reshape(x, {1, 1, 1});
  return x.dim() == 1 ? unsqueeze(unsqueeze(x, 0), 2) : x.dim() == 2 ? unsqueeze(x, 2) : x;
}
TANDEM_OPS std::vector<Tensor> atleast_1d(TensorList tensors) {
  const OpScope op("atleast_1d");
  return detail::for_each_tensor(tensors, [](const Tensor& x) { return atleast_1d(x); });
}
TANDEM_OPS std::vector<Tensor> atleast_2d(TensorList tensors) {
  const OpScope op("atleast_2d");
  return detail::for_each_tensor(tensors, [](const Tensor& x) { return atleast_2d(x); });
}
TANDEM_OPS std::vector<Tensor> atleast_3d(TensorList tensors) {
  const OpScope op("atleast_3d");
  return detail::for_each_tensor(tensors, [](const Tensor& x) { return atleast_3d(x); });
}

TANDEM_OPS Tensor hstack(TensorList tensors) {
  const OpScope op("hstack");
  const std::vector<Tensor> parts = atleast_1d(tensors);
  return cat(parts, !parts.empty() && parts[0].dim() > 1 ? 1 : 0);
}
TANDEM_OPS Tensor vstack(TensorList tensors) {
  const OpScope op("vstack");
  return cat(atleast_2d(tensors), 0);
}
TANDEM_OPS Tensor row_stack(TensorList tensors) {
  const OpScope op("row_stack");
  return vstack(tensors);
}
TANDEM_OPS Tensor dstack(TensorList tensors) {
  const OpScope op("dstack");
  return cat(atleast_3d(tensors), 2);
}
TANDEM_OPS Tensor column_stack(TensorList tensors) {
  const OpScope op("column_stack");
  const auto column = [](const Tensor& x) { return x.dim() <= 1 ? reshape(x, {x.numel(), 1}) : x; };
  return cat(detail::for_each_tensor(tensors, column), 1);
}

TANDEM_OPS Tensor block_diag(TensorList tensors) {
  const OpScope op("block_diag");
  std::vector<Tensor> blocks;
  Checked width = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    checks::defined_at(i, tensors[i]);
    TANDEM_CHECK(tensors[i].dim() <= 2, ShapeError, "tensor {} is {}, but must have at most rank 2; reshape() it", i,
                 to_string(tensors[i].sizes()));
    blocks.push_back(atleast_2d(tensors[i]));
    width += blocks.back().size(1);
  }
  TANDEM_CHECK(width.fits(), ShapeError, "the blocks have {} columns; use fewer", to_string(width));
  if (blocks.empty()) return empty({1, 0});
  int64_t left = 0;
  for (Tensor& block : blocks) {
    const int64_t columns = block.size(1);
    block = constant_pad_nd(block, {left, *width.value() - left - columns});
    left += columns;
  }
  return cat(blocks, 0);
}

TANDEM_OPS Tensor broadcast_to(const Tensor& x, IntArrayRef sizes) {
  const OpScope op("broadcast_to");
  return expand(x, sizes);
}
TANDEM_OPS std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  const OpScope op("broadcast_tensors");
  Dims sizes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    checks::defined_at(i, tensors[i]);
    sizes = broadcast_shapes(sizes, tensors[i].sizes());
  }
  return detail::for_each_tensor(tensors, [&](const Tensor& x) { return expand(x, sizes); });
}

TANDEM_OPS std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing) {
  const OpScope op("meshgrid");
  detail::check_list(tensors);
  TANDEM_CHECK(indexing == "ij" || indexing == "xy", StateError, "indexing is \"{}\"; it must be \"ij\" or \"xy\"",
               std::string(indexing));
  TANDEM_CHECK(tensors.size() <= kMaxRank, ShapeError, "{} tensors; a grid has at most {} dimensions", tensors.size(),
               kMaxRank);
  Dims sizes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TANDEM_CHECK(tensors[i].dim() <= 1, ShapeError, "tensor {} is {}, but must have rank 0 or 1; flatten() it", i,
                 to_string(tensors[i].sizes()));
    checks::same_dtype("the first tensor", tensors[0], "another tensor", tensors[i]);
    sizes.push_back(tensors[i].numel());
  }
  const bool swaps = indexing == "xy" && tensors.size() >= 2;
  std::vector<Tensor> grids;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims one(tensors.size(), 1);
    one[i] = sizes[i];
    const Tensor grid = expand(reshape(tensors[i], one), sizes);
    grids.push_back(swaps ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

TANDEM_OPS Tensor cartesian_prod(TensorList tensors) {
  const OpScope op("cartesian_prod");
  detail::check_list(tensors);
  for (size_t i = 0; i < tensors.size(); ++i) {
    TANDEM_CHECK(tensors[i].dim() == 1, ShapeError, "tensor {} is {}, but must have rank 1; flatten() it", i,
                 to_string(tensors[i].sizes()));
  }
  if (tensors.size() == 1) return tensors[0];
  return stack(detail::for_each_tensor(meshgrid(tensors), [](const Tensor& x) { return flatten(x); }), 1);
}

namespace detail {

/// The number of ways to choose r of n, for n >= r >= 0.
inline Checked binomial(int64_t n, int64_t r) {
  Checked ways = 1;
  const int64_t fewer = std::min(r, n - r);
  for (int64_t i = 1; i <= fewer && ways.fits(); ++i) {
    ways *= n - fewer + i;
    if (ways.fits()) ways = *ways.value() / i;
  }
  return ways;
}

}  // namespace detail

TANDEM_OPS Tensor combinations(const Tensor& x, int64_t r, bool with_replacement) {
  const OpScope op("combinations");
  checks::defined("the input", x);
  TANDEM_CHECK(x.dim() == 1, ShapeError, "x is {}, but must have rank 1; flatten() it", checks::show(x));
  TANDEM_CHECK(r >= 0, StateError, "r = {} is negative; it must be at least 0", r);
  if (r == 0) return empty({0}, x.options());
  const int64_t n = x.size(0), step = with_replacement ? 0 : 1;
  if (n == 0 || (!with_replacement && r > n)) return reshape(narrow(x, 0, 0, 0), {0, r});
  const Checked choices = with_replacement ? Checked(n) + r - 1 : n;
  const Checked count = choices.fits() ? detail::binomial(*choices.value(), r) : choices;
  TANDEM_CHECK((count * r).fits(), ShapeError, "x is {} and r = {}: there are {} combinations", checks::show(x), r,
               to_string(count));
  const Tensor all = empty({*count.value(), r}, TensorOptions(kLong).device(kCPU));
  // Counts up like an odometer, whose digits must not decrease.
  int64_t* row = all.raw<int64_t>();
  for (int64_t i = 0; i < r; ++i) row[i] = i * step;
  for (int64_t k = 1; k < *count.value(); ++k, row += r) {
    std::copy(row, row + r, row + r);
    int64_t at = r - 1;
    while (row[r + at] == n - 1 - (r - 1 - at) * step) --at;
    for (int64_t next = row[r + at] + 1; at < r; ++at, next += step) row[r + at] = next;
  }
  return reshape(index_select(x, 0, reshape(all.to(x.device()), {-1})), {*count.value(), r});
}

}  // namespace tandem
