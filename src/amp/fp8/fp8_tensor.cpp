#include "tandem/amp/fp8/fp8_tensor.h"

#include <limits>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

/// The modes in which scales are computed.
struct Unrecorded {
  NoGradGuard no_grad;
  AutocastOff no_autocast;
};

constexpr double kMostScale = std::numeric_limits<float>::max();

/// The sign and exponent bits of f32 numbers: rounds normal ones towards 0 to powers of two.
Tensor powers_of_two(const Tensor& x) {
  return bitwise_and(x.view(kInt), static_cast<int32_t>(0xff800000u)).view(kFloat);
}

/// fp8_max / amax for each element of `amax`.
Tensor scales_of(const Tensor& amax, DType dtype, bool use_power_2_scales, double epsilon) {
  const Tensor least = epsilon > 0 ? where(lt(amax, epsilon), full_like(amax, epsilon), amax) : amax;
  Tensor scale = div(full_like(least, fp8_max(dtype)), least).clamp_max(kMostScale);
  if (use_power_2_scales) scale = powers_of_two(scale);
  return where(logical_and(gt(least, 0), isfinite(least)), scale, ones_like(scale));
}

/// Blocks of the matrices in the last two dimensions of a tensor of any rank but 0.
class Blocks {
 public:
  Blocks(const Tensor& x, int64_t rows, int64_t columns)
      : sizes_(x.sizes()),
        height_(x.dim() > 1 ? x.size(-2) : 1),
        width_(x.size(-1)),
        rows_(rows),
        columns_(columns),
        down_((height_ + rows - 1) / rows),
        across_((width_ + columns - 1) / columns) {
    for (size_t d = 0; d + 2 < sizes_.size(); ++d) count_ *= sizes_[d];
  }

  /// x as [.., block rows, rows, block columns, columns], with zeros beyond its edges.
  Tensor split(const Tensor& x) const {
    const Tensor matrices = x.reshape({count_, height_, width_});
    const Tensor padded = constant_pad_nd(matrices, {0, across_ * columns_ - width_, 0, down_ * rows_ - height_});
    return padded.reshape({count_, down_, rows_, across_, columns_});
  }
  /// The reverse of split.
  Tensor join(const Tensor& blocks) const {
    const Tensor padded = blocks.reshape({count_, down_ * rows_, across_ * columns_});
    return padded.slice(1, 0, height_).slice(2, 0, width_).reshape(sizes_);
  }
  /// A number for each block, as [.., block rows, block columns].
  Tensor per_block(const Tensor& x) const {
    Dims sizes = sizes_;
    sizes.back() = across_;
    if (sizes.size() > 1) sizes[sizes.size() - 2] = down_;
    return x.reshape(sizes);
  }
  /// A number for each block, as [.., block rows, 1, block columns, 1].
  Tensor spread(const Tensor& per_block) const { return per_block.reshape({count_, down_, 1, across_, 1}); }

 private:
  Dims sizes_;
  int64_t height_, width_, rows_, columns_, down_, across_, count_ = 1;
};

/// max |x| of each block, as [.., block rows, 1, block columns, 1].
Tensor amax_of(const Tensor& blocks) { return amax(abs(blocks), {2, 4}, true); }

Float8CastOptions saturating() { return Float8CastOptions().overflow(Float8Overflow::saturate); }

/// What the numbers of each block are multiplied by before they are rounded, and its inverse.
struct BlockScales {
  Tensor factor, inverse;
};

/// Rounds x in blocks of rows x columns. scales(amax) returns the blocks' scales.
template <class F>
Fp8Tensor quantize_blocks(const Tensor& x, DType dtype, int64_t rows, int64_t columns, const F& scales) {
  const Blocks blocks(x, rows, columns);
  const Tensor split = blocks.split(x.to(kFloat));
  const BlockScales s = scales(amax_of(split));
  Fp8Tensor y;
  y.codes = blocks.join(cast_float8(mul(split, s.factor), dtype, saturating()));
  y.inverse_scale = blocks.per_block(s.inverse);
  y.block_rows = rows;
  y.block_columns = columns;
  return y;
}

/// The least powers of two that are not below x >= 0, in e8m0fnu: from 2^-127 to 2^127, and NaN for NaN.
Tensor e8m0_above(const Tensor& x) {
  const Tensor bits = x.view(kInt), exponent = bitwise_right_shift(bits, 23), mantissa = bitwise_and(bits, 0x7fffff);
  const Tensor up = logical_and(gt(mantissa, 0), lt(exponent, 254));
  const Tensor beyond = logical_or(gt(exponent, 0), gt(mantissa, 0x400000));  // subnormal: 2^-127 is enough, or not
  const Tensor biased = add(exponent, logical_and(up, beyond).to(kInt)).clamp_max(254);
  return where(isnan(x), full_like(biased, 255), biased).to(kByte).view(kFloat8_e8m0fnu);
}

}  // namespace

Tensor Fp8Tensor::dequantize(DType dtype) const {
  const Unrecorded modes;
  const Tensor values = codes.to(kFloat), factor = inverse_scale.to(kFloat);
  if (block_rows == 0) return mul(values, factor).to(dtype);
  const Blocks blocks(codes, block_rows, block_columns);
  return blocks.join(mul(blocks.split(values), blocks.spread(factor))).to(dtype);
}

DelayedScales::DelayedScales(const DelayedScaling& recipe, const std::vector<DType>& dtypes, Device device)
    : recipe_(recipe), dtypes_(dtypes) {
  const OpScope op("DelayedScales");
  TANDEM_CHECK(recipe.amax_history_len() > 0, StateError, "amax_history_len = {}; it must be at least 1",
               recipe.amax_history_len());
  TANDEM_CHECK(!dtypes.empty(), StateError, "there are no dtypes; give one for each tensor");
  const int64_t rows = static_cast<int64_t>(dtypes.size());
  const TensorOptions options = TensorOptions(kFloat).device(device);
  state_ = zeros({rows, 1 + recipe.amax_history_len()}, options);
  state_.select(1, 0).fill_(1);
  std::vector<double> largest;
  for (const DType dtype : dtypes) largest.push_back(fp8_max(dtype));
  largest_ = tensor(largest, options).reshape({rows, 1});
}

void DelayedScales::check_rows(int64_t first, int64_t count) const {
  const int64_t rows = static_cast<int64_t>(dtypes_.size());
  TANDEM_CHECK(first >= 0 && count >= 0 && first <= rows - count, IndexError,
               "rows [{}, {}) are not among the {} rows; give one of those", first, first + count, rows);
}

Fp8Tensor DelayedScales::quantize(const Tensor& x, int64_t i) const {
  const OpScope op("DelayedScales::quantize");
  check_rows(i, 1);
  const Unrecorded modes;
  const Tensor row = state_.select(0, i), scale = row.slice(0, 0, 1);
  Fp8Tensor y;
  y.codes = cast_float8(x, dtypes_[static_cast<size_t>(i)], saturating().scale(scale).amax(row.slice(0, 1, 2)));
  y.inverse_scale = reciprocal(scale);
  return y;
}

void DelayedScales::update(int64_t first, int64_t count) const {
  const OpScope op("DelayedScales::update");
  check_rows(first, count);
  const Unrecorded modes;
  const Tensor rows = state_.slice(0, first, first + count), scale = rows.slice(1, 0, 1), history = rows.slice(1, 1);
  const Tensor amax =
      recipe_.amax_compute_algo() == Fp8AmaxAlgorithm::max ? tandem::amax(history, {1}, true) : history.slice(1, 0, 1);
  const Tensor largest = largest_.slice(0, first, first + count);
  const Tensor next = mul(div(largest, amax), std::ldexp(1.0, -recipe_.margin())).clamp_max(kMostScale);
  scale.copy_(where(logical_and(gt(amax, 0), isfinite(amax)), next, scale));
  history.copy_(history.roll(-1, 1));
  history.slice(1, 0, 1).zero_();
}

Fp8Tensor quantize(const Tensor& x, DType dtype, const Float8CurrentScaling& recipe) {
  const OpScope op("quantize");
  checks::floating("x", x);
  const Unrecorded modes;
  const Tensor amax = x.numel() > 0 ? tandem::amax(abs(x)).to(kFloat).reshape({1})
                                    : zeros({1}, TensorOptions(kFloat).device(x.device()));
  const Tensor scale = scales_of(amax, dtype, recipe.use_power_2_scales(), recipe.amax_epsilon());
  Fp8Tensor y;
  y.codes = cast_float8(x, dtype, saturating().scale(scale));
  y.inverse_scale = reciprocal(scale);
  return y;
}

Fp8Tensor quantize(const Tensor& x, Fp8Role role, const Float8BlockScaling& recipe) {
  const OpScope op("quantize");
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 2, ShapeError, "x is {}; blocks need rank 2 or more", checks::show(x));
  const Unrecorded modes;
  const DType dtype = fp8_dtype(recipe.fp8_format(), role);
  return quantize_blocks(x, dtype, role == Fp8Role::weight ? 128 : 1, 128, [&](const Tensor& amax) -> BlockScales {
    const Tensor scale = scales_of(amax, dtype, recipe.use_power_2_scales(), recipe.amax_epsilon());
    return {scale, reciprocal(scale)};
  });
}

Fp8Tensor quantize(const Tensor& x, Fp8Role role, const MXFP8BlockScaling& recipe) {
  const OpScope op("quantize");
  checks::floating("x", x);
  TANDEM_CHECK(x.dim() >= 1, ShapeError, "x is {}; blocks need rank 1 or more", checks::show(x));
  const Unrecorded modes;
  const DType dtype = fp8_dtype(recipe.fp8_format(), role);
  return quantize_blocks(x, dtype, 1, 32, [&](const Tensor& amax) -> BlockScales {
    const Tensor inverse = e8m0_above(div(amax, fp8_max(dtype)));
    return {reciprocal(inverse.to(kFloat)), inverse};
  });
}

}  // namespace tandem::amp
