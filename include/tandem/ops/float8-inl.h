#pragma once
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/apply.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/float8.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace detail {

inline void check_one_f32(const char* which, const Tensor& t, const Tensor& x) {
  if (!t.defined()) return;
  TANDEM_CHECK(t.dtype() == kFloat, DTypeError, "{} is {}; it must be f32", which, checks::show(t));
  TANDEM_CHECK(t.numel() == 1, ShapeError, "{} is {}; it must have one element", which, checks::show(t));
  TANDEM_CHECK(t.device() == x.device(), DeviceError, "{} is on {}, but x is on {}; move it with .to(device)", which,
               t.device().str(), x.device().str());
}

}  // namespace detail

TANDEM_OPS Tensor cast_float8(const Tensor& x, DType dtype, const Float8CastOptions& options) {
  const OpScope op("cast_float8");
  checks::floating("x", x);
  TANDEM_CHECK(dtype == kFloat8_e4m3fn || dtype == kFloat8_e5m2, DTypeError,
               "the dtype is {}; it must be kFloat8_e4m3fn or kFloat8_e5m2", name(dtype));
  detail::check_one_f32("scale", options.scale(), x);
  detail::check_one_f32("amax", options.amax(), x);
  TANDEM_CHECK(!options.amax().defined() || !options.amax().requires_grad(), AutogradError,
               "amax {} requires grad and would be overwritten; use detach()", checks::show(options.amax()));
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  Float8CastCall call;
  call.y = empty_like(x, dtype);
  call.x = x;
  call.scale = options.scale();
  call.amax = options.amax();
  call.overflow = options.overflow().value_or(dtype == kFloat8_e4m3fn ? detail::E4m3fn::kTorch : detail::E5m2::kTorch);
  call.stochastic = options.stochastic();
  if (call.stochastic) {
    std::optional<Generator> generator = options.generator();
    call.state = (generator ? *generator : default_generator()).reserve(x.numel(), x.device().type());
  }
  if (x.numel() > 0) backend(x).cast_float8(call);
  if (call.amax.defined()) call.amax.impl().storage->bump_version();
  return call.y;
}

}  // namespace tandem
