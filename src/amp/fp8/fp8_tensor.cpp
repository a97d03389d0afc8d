#include "tandem/amp/fp8/fp8_tensor.h"

#include "src/amp/fp8/blocks.h"
#include "src/amp/fp8/check_recipe.h"
#include "src/amp/fp8/delayed.h"
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

/// Rounds x with the kernel for one scale or for blocks, which computes in f32.
Fp8Tensor run(const Tensor& x, DType dtype, const Float8Scales& scales, double least_amax,
              Float8QuantizeCall call = {}) {
  call.x = (x.dtype() == kDouble ? x.to(kFloat) : x).contiguous();
  call.codes = empty(x.sizes(), x.options().dtype(dtype));
  call.scales = scales;
  call.least_amax = least_amax;
  backend(x).quantize_float8(call);
  return {call.codes, call.scales};
}

/// Rounds x in blocks that share a scale of this dtype.
Fp8Tensor quantize_blocks(const Tensor& x, DType dtype, Float8Scales scales, DType dtype_of_scales, double least_amax) {
  const auto blocks = [](int64_t n, int64_t size) { return (n + size - 1) / size; };
  Dims sizes = x.sizes();
  sizes.back() = blocks(sizes.back(), scales.columns);
  if (sizes.size() > 1) sizes[sizes.size() - 2] = blocks(sizes[sizes.size() - 2], scales.rows);
  scales.inverse = empty(sizes, x.options().dtype(dtype_of_scales));
  return run(x, dtype, scales, least_amax);
}

void check_blocks(const Tensor& x, int64_t dim, int64_t least_rank) {
  checks::floating("x", x);
  TANDEM_CHECK(dim == -1 || dim == -2, IndexError, "dim = {}; it must be -1 or -2", dim);
  TANDEM_CHECK(x.dim() >= least_rank, ShapeError, "x is {}; blocks need rank {} or more", checks::show(x), least_rank);
}

}  // namespace

Tensor Fp8Tensor::dequantize(DType dtype) const {
  const OpScope op("dequantize");
  TANDEM_CHECK(is_differentiable(dtype), DTypeError, "the dtype is {}; it must be f32, f64, f16 or bf16", name(dtype));
  const Unrecorded modes;
  if (scales.rows == 0) return mul(codes.to(kFloat), scales.inverse).to(dtype);
  Tensor y = empty(codes.sizes(), codes.options().dtype(dtype));
  backend(codes).dequantize_float8(y, codes, scales);
  return y;
}

DelayedScales::DelayedScales(const DelayedScaling& recipe, const std::vector<DType>& dtypes, Device device)
    : recipe_(recipe), dtypes_(dtypes) {
  const OpScope op("DelayedScales");
  detail::check_recipe(recipe);
  TANDEM_CHECK(!dtypes.empty(), StateError, "there are no dtypes; give one for each tensor");
  for (const DType dtype : dtypes) fp8_max(dtype);  // throws for other dtypes
  state_ =
      zeros({static_cast<int64_t>(dtypes.size()), 1 + recipe.amax_history_len()}, TensorOptions(kFloat).device(device));
  state_.select(1, 0).fill_(1);
}

void DelayedScales::check_rows(int64_t first, int64_t count) const {
  const int64_t rows = static_cast<int64_t>(dtypes_.size());
  TANDEM_CHECK(first >= 0 && count >= 0 && first <= rows - count, IndexError,
               "rows [{}, {}) are not among the {} rows; give one of those", first, first + count, rows);
}

Fp8Tensor DelayedScales::quantize(const Tensor& x, int64_t i) const {
  const OpScope op("DelayedScales::quantize");
  check_rows(i, 1);
  checks::floating("x", x);
  const NoGradGuard no_grad;
  const Tensor row = state_.select(0, i);
  return detail::quantize_delayed(x, dtypes_[static_cast<size_t>(i)], row.slice(0, 0, 1), row.slice(0, 1, 2));
}

void DelayedScales::update(int64_t first, int64_t count) const {
  const OpScope op("DelayedScales::update");
  check_rows(first, count);
  const auto begin = dtypes_.begin() + first;
  backend(state_).update_delayed_scales(detail::delayed_update(recipe_, {state_}, first, {begin, begin + count}));
  state_.impl().storage->bump_version();
}

Fp8Tensor detail::quantize_delayed(const Tensor& x, DType dtype, const Tensor& scale, const Tensor& amax) {
  const Unrecorded modes;
  Float8QuantizeCall call;
  call.scale = scale;
  call.noted = amax;
  const Fp8Tensor y = run(x, dtype, {.inverse = empty({1}, scale.options())}, 0, call);
  if (amax.defined()) amax.impl().storage->bump_version();
  return y;
}

Fp8Tensor quantize(const Tensor& x, DType dtype, const Float8CurrentScaling& recipe) {
  const OpScope op("quantize");
  detail::check_recipe(recipe);
  checks::floating("x", x);
  fp8_max(dtype);  // throws for other dtypes
  const Unrecorded modes;
  Float8Scales scales = detail::blocks_of(recipe, Fp8Role::input, -1);
  scales.inverse = empty({1}, x.options().dtype(kFloat));
  return run(x, dtype, scales, recipe.amax_epsilon());
}

Fp8Tensor quantize(const Tensor& x, Fp8Role role, const Float8BlockScaling& recipe, int64_t dim) {
  const OpScope op("quantize");
  detail::check_recipe(recipe);
  check_blocks(x, dim, 2);
  const Unrecorded modes;
  return quantize_blocks(x, fp8_dtype(recipe.fp8_format(), role), detail::blocks_of(recipe, role, dim), kFloat,
                         recipe.amax_epsilon());
}

Fp8Tensor quantize(const Tensor& x, Fp8Role role, const MXFP8BlockScaling& recipe, int64_t dim) {
  const OpScope op("quantize");
  check_blocks(x, dim, dim == -2 ? 2 : 1);
  const Unrecorded modes;
  return quantize_blocks(x, fp8_dtype(recipe.fp8_format(), role), detail::blocks_of(recipe, role, dim), kFloat8_e8m0fnu,
                         0);
}

}  // namespace tandem::amp
