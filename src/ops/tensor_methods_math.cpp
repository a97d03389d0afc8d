// Tensor methods that forward to the ops of math_functions.h, arithmetic.h, activation.h and statistics.h.
#include "tandem/ops/activation.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/covariance.h"
#include "tandem/ops/math_functions.h"
#include "tandem/ops/statistics.h"

namespace tandem {

#define TANDEM_UNARY_METHOD(NAME) \
  Tensor Tensor::NAME() const { return tandem::NAME(*this); }
#define TANDEM_UNARY_IN_PLACE_METHOD(NAME)
#define TANDEM_BINARY_METHOD(NAME, TYPE) \
  Tensor Tensor::NAME(TYPE other) const { return tandem::NAME(*this, other); }
#define TANDEM_BINARY_IN_PLACE_METHOD(NAME, TYPE)
#include "tandem/tensor/method_lists.inc"

Tensor Tensor::logit(std::optional<double> eps) const { return tandem::logit(*this, eps); }
Tensor Tensor::round(int64_t decimals) const { return tandem::round(*this, decimals); }
Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) const {
  return tandem::nan_to_num(*this, nan, posinf, neginf);
}
Tensor Tensor::positive() const { return tandem::positive(*this); }
Tensor Tensor::signbit() const { return tandem::signbit(*this); }
Tensor Tensor::isposinf() const { return tandem::isposinf(*this); }
Tensor Tensor::isneginf() const { return tandem::isneginf(*this); }
Tensor Tensor::isreal() const { return tandem::isreal(*this); }
Tensor Tensor::hardshrink(Scalar lambda) const { return tandem::hardshrink(*this, lambda); }
Tensor Tensor::prelu(const Tensor& weight) const { return tandem::prelu(*this, weight); }
Tensor Tensor::div(const Tensor& other, std::optional<std::string> rounding_mode) const {
  return tandem::div(*this, other, rounding_mode);
}
Tensor Tensor::div(Scalar other, std::optional<std::string> rounding_mode) const {
  return tandem::div(*this, other, rounding_mode);
}
Tensor Tensor::subtract(const Tensor& other, Scalar alpha) const { return tandem::subtract(*this, other, alpha); }
Tensor Tensor::subtract(Scalar other, Scalar alpha) const { return tandem::subtract(*this, other, alpha); }
Tensor Tensor::clamp(std::optional<Tensor> min, std::optional<Tensor> max) const {
  return tandem::clamp(*this, min, max);
}
Tensor Tensor::clip(std::optional<Scalar> min, std::optional<Scalar> max) const {
  return tandem::clip(*this, min, max);
}
Tensor Tensor::lerp(const Tensor& end, Scalar weight) const { return tandem::lerp(*this, end, weight); }
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const { return tandem::lerp(*this, end, weight); }
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, Scalar value) const {
  return tandem::addcmul(*this, a, b, value);
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, Scalar value) const {
  return tandem::addcdiv(*this, a, b, value);
}
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tandem::isclose(*this, other, rtol, atol, equal_nan);
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  return tandem::allclose(*this, other, rtol, atol, equal_nan);
}
bool Tensor::equal(const Tensor& other) const { return tandem::equal(*this, other); }
std::tuple<Tensor, Tensor> Tensor::frexp() const { return tandem::frexp(*this); }
Tensor Tensor::sum_to_size(IntArrayRef sizes) const { return tandem::sum_to_size(*this, sizes); }
Tensor Tensor::cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const {
  return tandem::cov(*this, correction, fweights, aweights);
}
Tensor Tensor::corrcoef() const { return tandem::corrcoef(*this); }
Tensor Tensor::prod(std::optional<DType> dtype) const { return tandem::prod(*this, dtype); }
Tensor Tensor::prod(int64_t dim, bool keepdim, std::optional<DType> dtype) const {
  return tandem::prod(*this, dim, keepdim, dtype);
}
Tensor Tensor::std(IntArrayRef dims, std::optional<Scalar> correction, bool keepdim) const {
  return tandem::std(*this, dims, correction, keepdim);
}
Tensor Tensor::std() const { return tandem::std(*this); }
Tensor Tensor::amax(IntArrayRef dims, bool keepdim) const { return tandem::amax(*this, dims, keepdim); }
Tensor Tensor::amin(IntArrayRef dims, bool keepdim) const { return tandem::amin(*this, dims, keepdim); }
std::tuple<Tensor, Tensor> Tensor::aminmax(std::optional<int64_t> dim, bool keepdim) const {
  return tandem::aminmax(*this, dim, keepdim);
}
Tensor Tensor::logsumexp(IntArrayRef dims, bool keepdim) const { return tandem::logsumexp(*this, dims, keepdim); }
Tensor Tensor::nansum(IntArrayRef dims, bool keepdim, std::optional<DType> dtype) const {
  return tandem::nansum(*this, dims, keepdim, dtype);
}
Tensor Tensor::nanmean(IntArrayRef dims, bool keepdim, std::optional<DType> dtype) const {
  return tandem::nanmean(*this, dims, keepdim, dtype);
}
Tensor Tensor::count_nonzero(IntArrayRef dims) const { return tandem::count_nonzero(*this, dims); }
Tensor Tensor::any(int64_t dim, bool keepdim) const { return tandem::any(*this, dim, keepdim); }
Tensor Tensor::any(IntArrayRef dims, bool keepdim) const { return tandem::any(*this, dims, keepdim); }
Tensor Tensor::all(int64_t dim, bool keepdim) const { return tandem::all(*this, dim, keepdim); }
Tensor Tensor::all(IntArrayRef dims, bool keepdim) const { return tandem::all(*this, dims, keepdim); }

}  // namespace tandem
