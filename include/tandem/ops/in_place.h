#pragma once
// Free functions for the methods of Tensor that work in place: `relu_(x)` is `x.relu_()`.
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

#define TANDEM_IN_PLACE(NAME) \
  inline const Tensor& NAME(const Tensor& x) { return x.NAME(); }
/// Each calls the method of its name.
TANDEM_IN_PLACE(abs_)
TANDEM_IN_PLACE(acos_)
TANDEM_IN_PLACE(acosh_)
TANDEM_IN_PLACE(arccos_)
TANDEM_IN_PLACE(arccosh_)
TANDEM_IN_PLACE(arcsin_)
TANDEM_IN_PLACE(arcsinh_)
TANDEM_IN_PLACE(arctan_)
TANDEM_IN_PLACE(arctanh_)
TANDEM_IN_PLACE(asin_)
TANDEM_IN_PLACE(asinh_)
TANDEM_IN_PLACE(atan_)
TANDEM_IN_PLACE(atanh_)
TANDEM_IN_PLACE(ceil_)
TANDEM_IN_PLACE(cos_)
TANDEM_IN_PLACE(cosh_)
TANDEM_IN_PLACE(deg2rad_)
TANDEM_IN_PLACE(detach_)
TANDEM_IN_PLACE(erf_)
TANDEM_IN_PLACE(erfc_)
TANDEM_IN_PLACE(exp2_)
TANDEM_IN_PLACE(exp_)
TANDEM_IN_PLACE(expm1_)
TANDEM_IN_PLACE(fix_)
TANDEM_IN_PLACE(floor_)
TANDEM_IN_PLACE(frac_)
TANDEM_IN_PLACE(log10_)
TANDEM_IN_PLACE(log1p_)
TANDEM_IN_PLACE(log2_)
TANDEM_IN_PLACE(log_)
TANDEM_IN_PLACE(neg_)
TANDEM_IN_PLACE(negative_)
TANDEM_IN_PLACE(rad2deg_)
TANDEM_IN_PLACE(reciprocal_)
TANDEM_IN_PLACE(relu_)
TANDEM_IN_PLACE(round_)
TANDEM_IN_PLACE(rsqrt_)
TANDEM_IN_PLACE(sigmoid_)
TANDEM_IN_PLACE(sin_)
TANDEM_IN_PLACE(sinc_)
TANDEM_IN_PLACE(sinh_)
TANDEM_IN_PLACE(sqrt_)
TANDEM_IN_PLACE(square_)
TANDEM_IN_PLACE(tan_)
TANDEM_IN_PLACE(tanh_)
TANDEM_IN_PLACE(trunc_)
TANDEM_IN_PLACE(zero_)
#undef TANDEM_IN_PLACE

/// x.fill_(value)
inline const Tensor& fill_(const Tensor& x, Scalar value) { return x.fill_(value); }
inline const Tensor& fill_(const Tensor& x, const Tensor& value) { return x.fill_(value); }
/// x.round_(decimals)
inline const Tensor& round_(const Tensor& x, int64_t decimals) { return x.round_(decimals); }
/// x.clamp_(min, max)
inline const Tensor& clamp_(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp_(min, max);
}
inline const Tensor& clip_(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {
  return x.clamp_(min, max);
}
#define TANDEM_IN_PLACE_OF_TWO(NAME, TYPE) \
  inline const Tensor& NAME(const Tensor& x, TYPE other) { return x.NAME(other); }
/// Each calls the method of its name.
TANDEM_IN_PLACE_OF_TWO(clamp_max_, Scalar)
TANDEM_IN_PLACE_OF_TWO(clamp_max_, const Tensor&)
TANDEM_IN_PLACE_OF_TWO(clamp_min_, Scalar)
TANDEM_IN_PLACE_OF_TWO(clamp_min_, const Tensor&)
TANDEM_IN_PLACE_OF_TWO(gcd_, const Tensor&)
TANDEM_IN_PLACE_OF_TWO(lcm_, const Tensor&)
TANDEM_IN_PLACE_OF_TWO(ldexp_, const Tensor&)
TANDEM_IN_PLACE_OF_TWO(xlogy_, Scalar)
TANDEM_IN_PLACE_OF_TWO(xlogy_, const Tensor&)
#undef TANDEM_IN_PLACE_OF_TWO
inline const Tensor& logit_(const Tensor& x, std::optional<double> eps = {}) { return x.logit_(eps); }
inline const Tensor& nan_to_num_(const Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                                 std::optional<double> neginf = {}) {
  return x.nan_to_num_(nan, posinf, neginf);
}
inline const Tensor& addmv_(const Tensor& x, const Tensor& matrix, const Tensor& vector, Scalar beta = 1,
                            Scalar alpha = 1) {
  return x.addmv_(matrix, vector, beta, alpha);
}
/// x.resize_as_(other, format)
inline const Tensor& resize_as_(const Tensor& x, const Tensor& other, std::optional<MemoryFormat> format = {}) {
  return x.resize_as_(other, format);
}
/// x.detach()
inline Tensor detach(const Tensor& x) { return x.detach(); }

}  // namespace tandem
#pragma GCC visibility pop
