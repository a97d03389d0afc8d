#include "tandem/ops/checks.h"

#include <algorithm>
#include <cmath>

#include "tandem/amp/policy_overrides.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/loss.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/factories.h"

namespace tandem::checks {
namespace {

/// Whether an autocast region would cast both to one dtype for the running op. False inside a region, where ops cast
/// before they check: dtypes that still differ are not cast.
bool region_would_cast(const Tensor& a, const Tensor& b) {
  const int row = amp::policy_row(running_op());
  if (row < 0 || thread_state().autocast[static_cast<size_t>(a.device().type())].enabled) return false;
  const amp::Cast cast = amp::detail::current_policy(row);
  const auto is_cast = [](const Tensor& x) { return is_differentiable(x.dtype()) && x.dtype() != kDouble; };
  return (cast == amp::Cast::lower || cast == amp::Cast::f32 || cast == amp::Cast::promote) && is_cast(a) && is_cast(b);
}

}  // namespace

void defined(const char* which, const Tensor& x) {
  TANDEM_CHECK(x.defined(), StateError, "{} is an undefined tensor; give it a value first", which);
}

void floating(const char* which, const Tensor& x) {
  defined(which, x);
  if (is_storage_only(x.dtype())) detail::throw_storage_only_arithmetic(x.dtype());
  TANDEM_CHECK(x.is_floating_point(), DTypeError, "{} is {}, but must be floating; convert it with .to(kFloat)", which,
               show(x));
}

void defined_at(size_t i, const Tensor& x) {
  TANDEM_CHECK(x.defined(), StateError, "tensor {} of the list is an undefined tensor; give it a value first", i);
}

void not_bool(const Tensor& x) {
  TANDEM_CHECK(x.dtype() != kBool, DTypeError,
               "not defined on bool, but the input is {}; use logical_not(), or convert it with .to()", show(x));
}

void not_two_bools(const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(!a.defined() || !b.defined() || a.dtype() != kBool || b.dtype() != kBool, DTypeError,
               "not defined on two bool tensors, {} and {}; use logical_xor", show(a), show(b));
}

void difference(const Tensor& a, const Tensor& b) {
  not_two_bools(a, b);
  if (a.defined()) not_bool(a);
  if (b.defined()) not_bool(b);
}

void difference(const Tensor& a, Scalar b) {
  if (a.defined()) not_bool(a);
  TANDEM_CHECK(!b.is_boolean(), DTypeError, "the number is a bool; use 0 or 1");
}

void floating_result(const Tensor& x, std::optional<DType> dtype) {
  TANDEM_CHECK(is_differentiable(dtype.value_or(kFloat)), DTypeError,
               "the result of x {} cannot be {}; pass a floating dtype, or convert x with .to(kFloat)", show(x),
               name(*dtype));
}

void not_negative(const char* which, double value) {
  TANDEM_CHECK(std::isfinite(value) && value >= 0, StateError, "{} = {}, but must be finite and at least 0", which,
               value);
}

void reduction(int value) {
  TANDEM_CHECK(value >= Reduction::None && value <= Reduction::Sum, StateError,
               "reduction = {}; it must be None, Mean or Sum", value);
}

void index(const char* which, const Tensor& x) {
  defined(which, x);
  TANDEM_CHECK(x.dtype() == kLong || x.dtype() == kInt, DTypeError,
               "{} is {}, but must hold i64 (or i32) indices; convert it with .to(kLong)", which, show(x));
}

void same_dtype(const char* which_a, const Tensor& a, const char* which_b, const Tensor& b) {
  TANDEM_CHECK(!b.defined() || a.dtype() == b.dtype(), DTypeError, "{} is {}, but {} is {}; convert one with .to(){}",
               which_a, show(a), which_b, show(b),
               region_would_cast(a, b) ? ", or call it in an amp::AutocastGuard region" : "");
}

void parameter_dtype(const Tensor& x, const char* which, const Tensor& parameter) {
  if (!parameter.defined() || parameter.dtype() == x.dtype()) return;
  TANDEM_CHECK(parameter.dtype() == kFloat && is_reduced_floating_point(x.dtype()), DTypeError,
               "{} is {}, but x is {}; it must have x's dtype, or be f32 if x is f16 or bf16: convert it with .to()",
               which, show(parameter), show(x));
}

void alpha(const Tensor& a, const Tensor& b, Scalar alpha) {
  TANDEM_CHECK(!alpha.is_floating_point() || a.is_floating_point() || b.is_floating_point(), DTypeError,
               "alpha = {}, but a is {} and b is {}; use an integer, or convert with .to(kFloat)", alpha.to_double(),
               show(a), show(b));
}

void exponent(const Tensor& base, Scalar exponent) {
  TANDEM_CHECK(base.is_floating_point() || exponent.is_floating_point() || exponent.to_int64() >= 0, StateError,
               "a base of {} with the negative exponent {} has no integer result; convert the base with .to(kFloat)",
               show(base), exponent.to_int64());
}

void sizes(const char* which, const Tensor& x, IntArrayRef expected) {
  TANDEM_CHECK(!x.defined() || x.sizes() == expected, ShapeError, "{} is {}, but must be {}", which, show(x),
               to_string(expected));
}

void per_channel(const char* which, const Tensor& parameter, const Tensor& x) {
  TANDEM_CHECK(!parameter.defined() || parameter.sizes() == IntArrayRef{x.size(1)}, ShapeError,
               "{} is {}, but must be [{}]: x is {}, with {} channels", which, show(parameter), x.size(1), show(x),
               x.size(1));
}

Dims entries(const char* which, IntArrayRef values, size_t dims, int64_t least) {
  constexpr const char* counts[] = {"1 entry", "1 entry, or 2 for height and width",
                                    "1 entry, or 3 for depth, height and width"};
  TANDEM_CHECK(values.size() == 1 || values.size() == dims, ShapeError, "{} = {}, but must have {}", which,
               to_string(values), counts[std::min<size_t>(dims, 3) - 1]);
  for (int64_t v : values) {
    TANDEM_CHECK(v >= least, StateError, "{} = {}, but must be at least {}", which, to_string(values), least);
  }
  return values.size() == dims ? Dims(values) : Dims(dims, values[0]);
}

std::array<int64_t, 2> pair(const char* which, IntArrayRef values, int64_t least) {
  const Dims both = entries(which, values, 2, least);
  return {both[0], both[1]};
}

Pool2dParams windows(IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                     bool ceil_mode) {
  Pool2dParams p;
  p.kernel = pair("kernel_size", kernel, 1);
  p.stride = stride.empty() ? p.kernel : pair("stride", stride, 1);
  p.padding = pair("padding", padding, 0);
  p.dilation = pair("dilation", dilation, 1);
  p.ceil_mode = ceil_mode;
  for (size_t i = 0; i < 2; ++i) {
    TANDEM_CHECK(p.padding[i] <= p.kernel[i] / 2, StateError,
                 "padding = {}, but must be at most half of kernel_size = {}, so that each window meets x",
                 to_string(padding), to_string(kernel));
  }
  return p;
}

MemoryFormat layout(const Tensor& x) {
  if (x.dim() != 4) return MemoryFormat::Contiguous;
  const Dims order = dense_strides(x.sizes(), x.strides());
  // With sizes of 1 both orders can be the same memory; the strides then tell which one was meant.
  return order == channels_last_strides(x.sizes()) && !(order == contiguous_strides(x.sizes()))
             ? MemoryFormat::ChannelsLast
             : MemoryFormat::Contiguous;
}

Tensor dense(const Tensor& x, MemoryFormat format) {
  const Tensor y = contiguous(x, format);
  const Dims strides =
      format == MemoryFormat::ChannelsLast ? channels_last_strides(y.sizes()) : contiguous_strides(y.sizes());
  return y.strides() == IntArrayRef(strides) ? y : make_view(y, y.impl().sizes, strides, y.storage_offset());
}

}  // namespace tandem::checks
