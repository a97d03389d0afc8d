#include "src/optim/moment.h"

#include "src/optim/multi_tensor.h"
#include "src/tensor/float8_blocks.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

bool is_scaled(const Tensor& value) { return value.dtype() == kFloat8_e4m3fn; }

bool fits(const Tensor& scale, const Tensor& value) {
  return scale.defined() && scale.dtype() == kFloat && scale.device() == value.device() && scale.is_contiguous() &&
         scale.dim() == 1 && scale.size(0) == detail::float8_block_count(value.numel());
}

}  // namespace

DType moment_dtype(const Tensor& p, DType wanted) { return p.dtype() == kDouble ? kDouble : wanted; }

void create_moment(const Tensor& p, DType wanted, Tensor& value, Tensor& scale) {
  const DType dtype = moment_dtype(p, wanted);
  value = zero_state(p, dtype);
  if (dtype != compute_dtype(p)) value = value.contiguous();
  scale = is_scaled(value) ? zeros({detail::float8_block_count(p.numel())}, p.options().dtype(kFloat)) : Tensor();
}

void refit_moment(const Tensor& p, DType wanted, Tensor& value, Tensor& scale) {
  if (!value.defined() || value.dtype() == moment_dtype(p, wanted)) return;
  const bool kept = value.dtype() == kFloat || value.dtype() == kBFloat16 || (is_scaled(value) && fits(scale, value));
  const bool of_p = p.dtype() != kDouble && value.sizes() == p.sizes() && value.device() == p.device();
  if (!kept || !of_p) return;  // check_moment() throws
  const Tensor given = is_scaled(value) ? detail::widen_float8_blocks(value, scale) : value;
  create_moment(p, wanted, value, scale);
  if (is_scaled(value)) {
    detail::round_to_float8_blocks(value, scale, given);
  } else {
    value.copy_(given);
  }
}

void check_moment(const char* name, const Tensor& p, DType wanted, const Tensor& value, const Tensor& scale) {
  check_state(name, value, p, moment_dtype(p, wanted));
  TANDEM_CHECK(value.dtype() == compute_dtype(p) || value.is_contiguous(), StateError,
               "{} of a {} parameter is {} with strides {}; it must be contiguous", name, to_string(p.sizes()),
               tandem::name(value.dtype()), to_string(value.strides()));
  TANDEM_CHECK(!is_scaled(value) || fits(scale, value), StateError,
               "{} of a {} parameter is in float8, so {}_scale must be an f32 tensor of size {} on {}; replace it, or "
               "erase the state",
               name, to_string(p.sizes()), name, detail::float8_block_count(p.numel()), p.device().str());
}

}  // namespace tandem::optim
