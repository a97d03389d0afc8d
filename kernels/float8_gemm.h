#pragma once
// Products of float8 codes for both backends, by products of wider numbers. Codes of float8 are exact in f16 and bf16,
// and their products with powers of two in bf16 (apart from the ends of its range), so only the sums round.
#include "tandem/backend.h"
#include "tandem/math/binary.h"
#include "tandem/math/ternary.h"
#include "tandem/math/unary.h"
#include "tandem/tensor/factories.h"

namespace tandem::kernels {
namespace float8_gemm {

/// A view with other sizes and strides.
inline Tensor viewed(const Tensor& x, const Dims& sizes, const Dims& strides) {
  return make_view(x, sizes, strides, x.storage_offset());
}
inline Tensor transposed(const Tensor& x) { return viewed(x, {x.size(1), x.size(0)}, {x.stride(1), x.stride(0)}); }
/// One number, or one for each column, as a matrix.
inline Tensor over_rows(const Tensor& x, const Dims& sizes) {
  return viewed(x, sizes, {0, x.numel() == 1 ? 0 : x.stride(0)});
}

/// `count` columns of a matrix.
inline Tensor columns_of(const Tensor& x, int64_t first, int64_t count) {
  return make_view(x, {x.size(0), count}, {x.stride(0), x.stride(1)}, x.storage_offset() + first * x.stride(1));
}

inline Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const Tensor y = empty(x.sizes(), x.options());
  backend(x).copy(y, x);
  return y;
}

}  // namespace float8_gemm

/// The scales of the transposed matrix. Its inverse is not contiguous if there are several.
inline Float8Scales transposed(const Float8Scales& s) {
  if (s.rows == 0) return s;
  return {float8_gemm::transposed(s.inverse), s.columns, s.rows, s.power_of_two};
}

namespace float8_gemm {

/// The codes, or with `scales` the values, in `dtype`: in the order of the codes, by rows or by columns.
inline Tensor widened(const Tensor& codes, DType dtype, const Float8Scales* scales) {
  if (!codes.is_contiguous() && codes.stride(0) == 1) {
    if (!scales) return transposed(widened(transposed(codes), dtype, nullptr));
    const Float8Scales turned = kernels::transposed(*scales);
    return transposed(widened(transposed(codes), dtype, &turned));
  }
  const Tensor values = empty(codes.sizes(), codes.options().dtype(dtype));
  if (scales) {
    const Float8Scales own{contiguous(scales->inverse), scales->rows, scales->columns, scales->power_of_two};
    backend(codes).dequantize_float8(values, contiguous(codes), own);
  } else {
    backend(codes).copy(values, codes);
  }
  return values;
}

/// A number of each block along a dimension of `n` elements, repeated for each of the block's elements.
inline Tensor repeated(const Tensor& per_block, int64_t size, int64_t n) {
  const int64_t blocks = per_block.size(0);
  const Tensor y = empty({blocks, size}, per_block.options().dtype(kFloat));
  backend(y).copy(y, viewed(per_block, {blocks, size}, {per_block.stride(0), 0}));
  return viewed(y, {n}, {1});
}

/// d = sums + bias; the activation follows.
inline void finish(const Tensor& d, const Tensor& sums, const GemmCall& call) {
  if (call.bias.defined() && !call.accumulate) {
    backend(d).binary(d, Binary::add, sums, over_rows(call.bias, d.sizes()), 1);
  } else if (!d.is_same(sums)) {
    backend(d).copy(d, sums);
  }
}

/// One scale for each operand: the product of the codes, then one pass for the scales and the bias.
inline void by_tensor(const GemmCall& call, DType dtype) {
  const Tensor &d = call.d, &a = call.a;
  const Tensor factor = empty({1}, a.options().dtype(kFloat));
  backend(a).binary(factor, Binary::mul, call.scales_a.inverse, call.scales_b.inverse, 1);
  const bool in_place = d.dtype() == kFloat && !call.accumulate;
  const Tensor p = in_place ? d : empty(d.sizes(), d.options().dtype(kFloat));
  backend(a).gemm({.d = p, .a = widened(a, dtype, nullptr), .b = widened(call.b, dtype, nullptr), .bias = {}});
  const Tensor spread = over_rows(factor, d.sizes());
  if (call.accumulate) {
    backend(d).ternary(d, Ternary::addcmul, d, p, spread, 1);
  } else if (call.bias.defined()) {
    backend(d).ternary(d, Ternary::addcmul, over_rows(call.bias, d.sizes()), p, spread, 1);
  } else {
    backend(d).binary(d, Binary::mul, p, spread, 1);
  }
}

/// Scales of blocks that are any numbers: the product of the codes of each block of the summed dimension, multiplied by
/// the scales and added in f32.
inline void by_blocks(const GemmCall& call, DType dtype) {
  const Tensor &d = call.d, &a = call.a, b = transposed(call.b);
  const int64_t m = a.size(0), n = b.size(0), k = a.size(1), step = call.scales_a.columns;
  const Tensor inverse_b = transposed(call.scales_b.inverse);
  const TensorOptions f32 = a.options().dtype(kFloat);
  const Tensor sums = d.dtype() == kFloat ? d : empty({m, n}, f32), p = empty({m, n}, f32);
  if (call.accumulate && !sums.is_same(d)) backend(d).copy(sums, d);
  for (int64_t block = 0; block * step < k; ++block) {
    const int64_t first = block * step, count = k - first < step ? k - first : step;
    const Tensor left = widened(columns_of(a, first, count), dtype, nullptr);
    const Tensor right = widened(columns_of(b, first, count), dtype, nullptr);
    backend(a).gemm({.d = p, .a = left, .b = transposed(right), .bias = {}});
    const Tensor of_rows = repeated(viewed(columns_of(call.scales_a.inverse, block, 1), {call.scales_a.inverse.size(0)},
                                           {call.scales_a.inverse.stride(0)}),
                                    call.scales_a.rows, m);
    const Tensor of_columns = repeated(
        viewed(columns_of(inverse_b, block, 1), {inverse_b.size(0)}, {inverse_b.stride(0)}), call.scales_b.columns, n);
    backend(a).binary(p, Binary::mul, p, viewed(of_rows, {m, n}, {1, 0}), 1);
    if (block == 0 && !call.accumulate) {
      backend(a).binary(sums, Binary::mul, p, over_rows(of_columns, {m, n}), 1);
    } else {
      backend(a).ternary(sums, Ternary::addcmul, sums, p, over_rows(of_columns, {m, n}), 1);
    }
  }
  finish(d, sums, call);
}

}  // namespace float8_gemm

/// GemmCall for float8 codes that are matrices; `dtype`: bf16, or f16 or f32 if the device does not multiply that. Both
/// factors have one scale for the tensor, or both have blocks.
inline void multiply_float8(const GemmCall& call, DType dtype) {
  const Float8Scales &a = call.scales_a, &b = call.scales_b;
  const auto exact = [](const Float8Scales& s) { return s.power_of_two || s.inverse.dtype() == kFloat8_e8m0fnu; };
  if (a.rows == 0 && b.rows == 0) {
    float8_gemm::by_tensor(call, dtype);
  } else if (exact(a) && exact(b) && dtype != kHalf) {
    GemmCall wide = call;
    wide.a = float8_gemm::widened(call.a, dtype, &a);
    wide.b = float8_gemm::widened(call.b, dtype, &b);
    if (call.bias.defined() && call.bias.dtype() != dtype && call.bias.dtype() != kFloat) {
      wide.bias = empty(call.bias.sizes(), call.bias.options().dtype(kFloat));
      backend(call.bias).copy(wide.bias, call.bias);
    }
    const bool writable = call.d.dtype() == kFloat || call.d.dtype() == dtype;
    if (!writable) wide.d = empty(call.d.sizes(), call.d.options().dtype(kFloat));
    if (!writable && call.accumulate) backend(call.d).copy(wide.d, call.d);
    wide.scales_a = wide.scales_b = {};
    backend(call.d).gemm(wide);
    if (!writable) backend(call.d).copy(call.d, wide.d);
    return;
  } else {
    float8_gemm::by_blocks(call, dtype);
  }
  if (call.activation == Activation::relu && !call.accumulate) {
    backend(call.d).unary(call.d, Unary::relu, call.d, 0, 0);
  }
}

}  // namespace tandem::kernels
