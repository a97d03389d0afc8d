#pragma once
#include <array>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/index.h"
#include "tandem/ops/loss_forms-inl.h"
#include "tandem/ops/pool_forms-inl.h"
#include "tandem/ops/scatter.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/unpool.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

/// max_unpool of n dimensions.
template <FixedString Name>
Tensor max_unpool_op(const Op<Name>& op, const Tensor& x, const Tensor& indices, IntArrayRef output_size, size_t n) {
  check_pooled(x, n);
  checks::defined("indices", indices);
  TANDEM_CHECK(indices.dtype() == kLong, DTypeError, "indices is {}, but must be i64; pass what max pooling returned",
               checks::show(indices));
  checks::sizes("indices", indices, x.sizes());
  TANDEM_CHECK(output_size.size() == n, ShapeError, "output_size = {}, but must have {} entries",
               to_string(output_size), n);
  const int64_t outer = x.dim() - static_cast<int64_t>(n);
  Dims sizes;
  for (int64_t d = 0; d < outer; ++d) sizes.push_back(x.size(d));
  Dims flat = sizes, from = sizes;
  int64_t count = 1;
  for (int64_t d = outer; d < x.dim(); ++d) count *= x.size(d);
  for (int64_t s : output_size) {
    TANDEM_CHECK(s > 0, ShapeError, "output_size = {}; the sizes must be at least 1", to_string(output_size));
    sizes.push_back(s);
  }
  flat.push_back(numel_of(output_size));
  from.push_back(count);
  const Tensor values = cast_inputs(op, {x})[0];
  const Tensor y = zeros(flat, values.options());
  return reshape(scatter(y, -1, reshape(indices, from), reshape(values, from)), sizes);
}

/// The index in its channel of the largest element of each window. x: [N, C, D, H, W], samples: [N, C, 3].
inline Tensor fractional_argmax(const Tensor& x, const Tensor& samples, const std::array<int64_t, 3>& kernel,
                                const Dims& sizes) {
  return Op<"fractional_argmax">().apply(
      [&](const Tensor& x, const Tensor& samples) {
        const Tensor index = empty(sizes, x.options().dtype(kLong));
        if (index.numel() > 0) backend(x).fractional_argmax(index, contiguous(x), contiguous(samples), kernel);
        return Result{index};
      },
      x, samples);
}

/// fractional_max_pool of n dimensions.
template <FixedString Name>
std::tuple<Tensor, Tensor> fractional_max_pool(const Op<Name>& op, const Tensor& input, IntArrayRef kernel_size,
                                               IntArrayRef output_size, const Tensor& random_samples, size_t n) {
  check_pooled(input, n);
  checks::floating("random_samples", random_samples);
  const auto kernel = checks::entries("kernel_size", kernel_size, n, 1);
  const auto out = checks::entries("output_size", output_size, n, 1);
  const int64_t outer = input.dim() - static_cast<int64_t>(n);
  const int64_t batch = outer == 1 ? 1 : input.size(0), channels = input.size(outer - 1);
  checks::sizes("random_samples", random_samples, {batch, channels, static_cast<int64_t>(n)});
  const std::vector<Tensor> cast = cast_inputs(op, {input, random_samples});
  const Tensor &x = cast[0], &samples = cast[1];
  checks::same_dtype("x", x, "random_samples", samples);
  std::array<int64_t, 3> kernel3{1, 1, 1};
  Dims in{batch, channels}, result{batch, channels}, sizes;
  for (int64_t d = 0; d < outer; ++d) sizes.push_back(x.size(d));
  Dims rows = sizes, flat = sizes;
  int64_t count = 1;
  if (n == 2) in.push_back(1), result.push_back(1);
  for (size_t k = 0; k < n; ++k) {
    const int64_t size = x.size(outer + static_cast<int64_t>(k));
    TANDEM_CHECK(Checked(out[k]) + kernel[k] - 1 <= size, ShapeError,
                 "output_size = {} with kernel_size = {} needs {} elements, but dimension {} of x {} has {}",
                 to_string(output_size), to_string(kernel_size), out[k] + kernel[k] - 1,
                 outer + static_cast<int64_t>(k), checks::show(x), size);
    kernel3[3 - n + k] = kernel[k];
    count *= size;
    in.push_back(size);
    result.push_back(out[k]);
    sizes.push_back(out[k]);
  }
  // The kernel's samples are for depth, height, width; those of two dimensions are for width, height.
  Tensor in_order = samples;
  if (n == 2) {
    const Tensor width = narrow(samples, 2, 0, 1), height = narrow(samples, 2, 1, 1);
    in_order = cat({width, height, width}, 2);
  }
  const Tensor index = fractional_argmax(reshape(x, in), in_order, kernel3, result);
  rows.push_back(count);
  flat.push_back(numel_of(out));
  return {reshape(gather(reshape(x, rows), -1, reshape(index, flat)), sizes), reshape(index, sizes)};
}

}  // namespace detail

TANDEM_OPS Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  const Op<"max_unpool2d"> op;
  return detail::max_unpool_op(op, x, indices, output_size, 2);
}

TANDEM_OPS Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef /*stride*/,
                               IntArrayRef /*padding*/) {
  const Op<"max_unpool3d"> op;
  return detail::max_unpool_op(op, x, indices, output_size, 3);
}

TANDEM_OPS std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, IntArrayRef kernel_size,
                                                            IntArrayRef output_size, const Tensor& random_samples) {
  const Op<"fractional_max_pool2d"> op;
  return detail::fractional_max_pool(op, x, kernel_size, output_size, random_samples, 2);
}

TANDEM_OPS std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, IntArrayRef kernel_size,
                                                            IntArrayRef output_size, const Tensor& random_samples) {
  const Op<"fractional_max_pool3d"> op;
  return detail::fractional_max_pool(op, x, kernel_size, output_size, random_samples, 3);
}

}  // namespace tandem
