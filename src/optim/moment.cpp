#include "src/optim/moment.h"

#include "src/optim/multi_tensor.h"
#include "src/tensor/float8_blocks.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

DType moment_dtype(const Tensor& p, DType wanted) { return p.dtype() == kDouble ? kDouble : wanted; }

bool is_scaled(const Tensor& value) { return value.dtype() == kFloat8_e4m3fn; }

bool is_scale_of(const Tensor& scale, const Tensor& value) {
  return scale.defined() && scale.dtype() == kFloat && scale.device() == value.device() && scale.is_contiguous() &&
         scale.dim() == 1 && scale.size(0) == detail::float8_block_count(value.numel());
}

}  // namespace

Moment zero_moment(const Tensor& p, DType wanted) {
  const DType dtype = moment_dtype(p, wanted);
  Moment m{zero_state(p, dtype), {}};
  if (dtype != compute_dtype(p)) m.value = m.value.contiguous();
  if (is_scaled(m.value)) m.scale = zeros({detail::float8_block_count(p.numel())}, p.options().dtype(kFloat));
  return m;
}

Moment refitted(const Tensor& p, DType wanted, const Tensor& value, const Tensor& scale) {
  if (!value.defined()) return {value, scale};
  if (value.dtype() == moment_dtype(p, wanted)) return {value, is_scaled(value) ? scale : Tensor()};
  const bool kept =
      value.dtype() == kFloat || value.dtype() == kBFloat16 || (is_scaled(value) && is_scale_of(scale, value));
  const bool of_p = p.dtype() != kDouble && value.sizes() == p.sizes() && value.device() == p.device();
  if (!kept || !of_p) return {value, scale};
  const Tensor given = is_scaled(value) ? detail::widen_float8_blocks(value, scale) : value;
  Moment m = zero_moment(p, wanted);
  if (is_scaled(m.value)) {
    detail::round_to_float8_blocks(m.value, m.scale, given);
  } else {
    m.value.copy_(given);
  }
  return m;
}

void check_moment(const char* name, const Tensor& p, DType wanted, const Moment& moment) {
  const Tensor& value = moment.value;
  check_state(name, value, p, moment_dtype(p, wanted));
  TANDEM_CHECK(value.dtype() == compute_dtype(p) || value.is_contiguous(), StateError,
               "{} of a {} parameter is {} with strides {}; it must be contiguous", name, to_string(p.sizes()),
               tandem::name(value.dtype()), to_string(value.strides()));
  TANDEM_CHECK(!is_scaled(value) || is_scale_of(moment.scale, value), StateError,
               "{} of a {} parameter is in float8, so {}_scale must be an f32 tensor of size {} on {}; replace it, or "
               "erase the state",
               name, to_string(p.sizes()), name, detail::float8_block_count(p.numel()), p.device().str());
}

}  // namespace tandem::optim
