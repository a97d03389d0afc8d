// Tensor methods that forward to ops.
#include "tandem/base/op_scope.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/histogram.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scan.h"
#include "tandem/ops/search.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/sort.h"

namespace tandem {

// ---- arithmetic (ops/elementwise.h)

Tensor Tensor::add(const Tensor& other, Scalar alpha) const { return tandem::add(*this, other, alpha); }
Tensor Tensor::add(Scalar other, Scalar alpha) const { return tandem::add(*this, other, alpha); }
Tensor Tensor::sub(const Tensor& other, Scalar alpha) const { return tandem::sub(*this, other, alpha); }
Tensor Tensor::sub(Scalar other, Scalar alpha) const { return tandem::sub(*this, other, alpha); }
Tensor Tensor::mul(const Tensor& other) const { return tandem::mul(*this, other); }
Tensor Tensor::mul(Scalar other) const { return tandem::mul(*this, other); }
Tensor Tensor::div(const Tensor& other) const { return tandem::div(*this, other); }
Tensor Tensor::div(Scalar other) const { return tandem::div(*this, other); }
Tensor Tensor::pow(const Tensor& exponent) const { return tandem::pow(*this, exponent); }
Tensor Tensor::pow(Scalar exponent) const { return tandem::pow(*this, exponent); }
Tensor Tensor::neg() const { return tandem::neg(*this); }
Tensor Tensor::abs() const { return tandem::abs(*this); }
Tensor Tensor::sign() const { return tandem::sign(*this); }
Tensor Tensor::reciprocal() const { return tandem::reciprocal(*this); }
Tensor Tensor::square() const { return tandem::square(*this); }
Tensor Tensor::sqrt() const { return tandem::sqrt(*this); }
Tensor Tensor::rsqrt() const { return tandem::rsqrt(*this); }
Tensor Tensor::exp() const { return tandem::exp(*this); }
Tensor Tensor::expm1() const { return tandem::expm1(*this); }
Tensor Tensor::log() const { return tandem::log(*this); }
Tensor Tensor::log1p() const { return tandem::log1p(*this); }
Tensor Tensor::sin() const { return tandem::sin(*this); }
Tensor Tensor::cos() const { return tandem::cos(*this); }
Tensor Tensor::erf() const { return tandem::erf(*this); }
Tensor Tensor::floor() const { return tandem::floor(*this); }
Tensor Tensor::ceil() const { return tandem::ceil(*this); }
Tensor Tensor::round() const { return tandem::round(*this); }
Tensor Tensor::atan2(const Tensor& other) const { return tandem::atan2(*this, other); }
Tensor Tensor::clamp(std::optional<Scalar> min, std::optional<Scalar> max) const {
  return tandem::clamp(*this, min, max);
}
Tensor Tensor::maximum(const Tensor& other) const { return tandem::maximum(*this, other); }
Tensor Tensor::minimum(const Tensor& other) const { return tandem::minimum(*this, other); }
Tensor Tensor::relu() const { return tandem::relu(*this); }
Tensor Tensor::sigmoid() const { return tandem::sigmoid(*this); }
Tensor Tensor::tanh() const { return tandem::tanh(*this); }
Tensor Tensor::eq(const Tensor& other) const { return tandem::eq(*this, other); }
Tensor Tensor::ne(const Tensor& other) const { return tandem::ne(*this, other); }
Tensor Tensor::lt(const Tensor& other) const { return tandem::lt(*this, other); }
Tensor Tensor::le(const Tensor& other) const { return tandem::le(*this, other); }
Tensor Tensor::gt(const Tensor& other) const { return tandem::gt(*this, other); }
Tensor Tensor::ge(const Tensor& other) const { return tandem::ge(*this, other); }
Tensor Tensor::eq(Scalar other) const { return tandem::eq(*this, other); }
Tensor Tensor::ne(Scalar other) const { return tandem::ne(*this, other); }
Tensor Tensor::lt(Scalar other) const { return tandem::lt(*this, other); }
Tensor Tensor::le(Scalar other) const { return tandem::le(*this, other); }
Tensor Tensor::gt(Scalar other) const { return tandem::gt(*this, other); }
Tensor Tensor::ge(Scalar other) const { return tandem::ge(*this, other); }
Tensor Tensor::logical_and(const Tensor& other) const { return tandem::logical_and(*this, other); }
Tensor Tensor::logical_or(const Tensor& other) const { return tandem::logical_or(*this, other); }
Tensor Tensor::logical_xor(const Tensor& other) const { return tandem::logical_xor(*this, other); }
Tensor Tensor::logical_not() const { return tandem::logical_not(*this); }
Tensor Tensor::isfinite() const { return tandem::isfinite(*this); }
Tensor Tensor::isnan() const { return tandem::isnan(*this); }
Tensor Tensor::isinf() const { return tandem::isinf(*this); }

// ---- reductions (ops/reduce.h)

Tensor Tensor::sum(std::optional<DType> dtype) const { return tandem::sum(*this, dtype); }
Tensor Tensor::sum(IntArrayRef dims, bool keepdim, std::optional<DType> dtype) const {
  return tandem::sum(*this, dims, keepdim, dtype);
}
Tensor Tensor::mean(std::optional<DType> dtype) const { return tandem::mean(*this, dtype); }
Tensor Tensor::mean(IntArrayRef dims, bool keepdim, std::optional<DType> dtype) const {
  return tandem::mean(*this, dims, keepdim, dtype);
}
Tensor Tensor::var() const { return tandem::var(*this); }
Tensor Tensor::var(IntArrayRef dims, std::optional<Scalar> correction, bool keepdim) const {
  return tandem::var(*this, dims, correction, keepdim);
}
Tensor Tensor::norm(Scalar p, std::optional<DType> dtype) const { return tandem::norm(*this, p, dtype); }
Tensor Tensor::norm(Scalar p, IntArrayRef dims, bool keepdim, std::optional<DType> dtype) const {
  return tandem::norm(*this, p, dims, keepdim, dtype);
}
Tensor Tensor::max() const { return tandem::max(*this); }
Tensor Tensor::min() const { return tandem::min(*this); }
Tensor Tensor::max(const Tensor& other) const { return tandem::maximum(*this, other); }
Tensor Tensor::min(const Tensor& other) const { return tandem::minimum(*this, other); }
std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return tandem::max(*this, dim, keepdim); }
std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const { return tandem::min(*this, dim, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const { return tandem::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const { return tandem::argmin(*this, dim, keepdim); }
Tensor Tensor::any() const { return tandem::any(*this); }
Tensor Tensor::all() const { return tandem::all(*this); }

// ---- scans, sorting and search (ops/reduce.h, ops/scan.h, ops/sort.h, ops/search.h)

Tensor Tensor::cumsum(int64_t dim, std::optional<DType> dtype) const { return tandem::cumsum(*this, dim, dtype); }
Tensor Tensor::cumprod(int64_t dim, std::optional<DType> dtype) const { return tandem::cumprod(*this, dim, dtype); }
std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return tandem::cummax(*this, dim); }
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return tandem::cummin(*this, dim); }
Tensor Tensor::logcumsumexp(int64_t dim) const { return tandem::logcumsumexp(*this, dim); }
Tensor Tensor::diff(int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) const {
  return tandem::diff(*this, n, dim, prepend, append);
}
std::tuple<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const {
  return tandem::sort(*this, dim, descending);
}
std::tuple<Tensor, Tensor> Tensor::sort(std::optional<bool> stable, int64_t dim, bool descending) const {
  return tandem::sort(*this, stable, dim, descending);
}
Tensor Tensor::argsort(int64_t dim, bool descending) const { return tandem::argsort(*this, dim, descending); }
Tensor Tensor::msort() const { return tandem::msort(*this); }
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
  return tandem::topk(*this, k, dim, largest, sorted);
}
std::tuple<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) const {
  return tandem::kthvalue(*this, k, dim, keepdim);
}
Tensor Tensor::median() const { return tandem::median(*this); }
std::tuple<Tensor, Tensor> Tensor::median(int64_t dim, bool keepdim) const {
  return tandem::median(*this, dim, keepdim);
}
Tensor Tensor::nanmedian() const { return tandem::nanmedian(*this); }
std::tuple<Tensor, Tensor> Tensor::nanmedian(int64_t dim, bool keepdim) const {
  return tandem::nanmedian(*this, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::mode(int64_t dim, bool keepdim) const { return tandem::mode(*this, dim, keepdim); }
Tensor Tensor::quantile(const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                        std::string_view interpolation) const {
  return tandem::quantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::quantile(double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) const {
  return tandem::quantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                           std::string_view interpolation) const {
  return tandem::nanquantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) const {
  return tandem::nanquantile(*this, q, dim, keepdim, interpolation);
}
std::tuple<Tensor, Tensor> Tensor::histogram(const Tensor& edges, const Tensor& weight, bool density) const {
  return tandem::histogram(*this, edges, weight, density);
}
std::tuple<Tensor, Tensor> Tensor::histogram(int64_t bins, std::optional<ArrayRef<double>> range, const Tensor& weight,
                                             bool density) const {
  return tandem::histogram(*this, bins, range, weight, density);
}
Tensor Tensor::histc(int64_t bins, Scalar min, Scalar max) const { return tandem::histc(*this, bins, min, max); }
Tensor Tensor::bincount(const Tensor& weights, int64_t minlength) const {
  return tandem::bincount(*this, weights, minlength);
}

// ---- products (ops/matmul.h)

Tensor Tensor::mm(const Tensor& other) const { return tandem::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return tandem::bmm(*this, other); }
Tensor Tensor::matmul(const Tensor& other) const { return tandem::matmul(*this, other); }
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) const {
  return tandem::addmm(*this, a, b, beta, alpha);
}

// ---- geometry (ops/shape.h)

Tensor Tensor::view(IntArrayRef sizes) const { return tandem::view(*this, sizes); }
Tensor Tensor::view_dtype(DType dtype) const { return tandem::view_dtype(*this, dtype); }
Tensor Tensor::reshape(IntArrayRef sizes) const { return tandem::reshape(*this, sizes); }
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const { return tandem::flatten(*this, start_dim, end_dim); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const { return tandem::transpose(*this, dim0, dim1); }
Tensor Tensor::t() const { return tandem::t(*this); }
Tensor Tensor::permute(IntArrayRef dims) const { return tandem::permute(*this, dims); }
Tensor Tensor::squeeze() const { return tandem::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return tandem::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return tandem::unsqueeze(*this, dim); }
Tensor Tensor::expand(IntArrayRef sizes, bool /*implicit*/) const { return tandem::expand(*this, sizes); }
Tensor Tensor::select(int64_t dim, int64_t index) const { return tandem::select(*this, dim, index); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  return tandem::narrow(*this, dim, start, length);
}
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) const {
  return tandem::slice(*this, dim, start, stop, step);
}
Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides, std::optional<int64_t> offset) const {
  return tandem::as_strided(*this, sizes, strides, offset);
}
Tensor Tensor::as_strided_scatter(const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                                  std::optional<int64_t> offset) const {
  return tandem::as_strided_scatter(*this, source, sizes, strides, offset);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const { return tandem::chunk(*this, chunks, dim); }

Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return tandem::where(condition, *this, other);
}
Tensor Tensor::expand_as(const Tensor& other) const {
  const OpScope op("expand_as");
  return tandem::expand(*this, other.sizes());
}
Tensor Tensor::reshape_as(const Tensor& other) const {
  const OpScope op("reshape_as");
  return tandem::reshape(*this, other.sizes());
}
Tensor Tensor::mT() const {
  const OpScope op("mT");
  return tandem::transpose(*this, -2, -1);
}
Tensor Tensor::view_as(const Tensor& other) const {
  const OpScope op("view_as");
  return tandem::view(*this, other.sizes());
}

// ---- conversion (ops/convert.h)

Tensor Tensor::to(DType dtype, bool, bool copy) const { return tandem::to(*this, dtype, copy); }
Tensor Tensor::to(Device device, bool non_blocking) const {
  const OpScope op("to");
  checks::defined("the input", *this);
  return tandem::to(*this, device, dtype(), non_blocking);
}
Tensor Tensor::cpu() const {
  const OpScope op("cpu");
  return to(Device(kCPU));
}
Tensor Tensor::cuda() const {
  const OpScope op("cuda");
  return to(Device(kCUDA));
}
Tensor Tensor::to(Device device, DType dtype, bool non_blocking, bool copy) const {
  return tandem::to(*this, device, dtype, non_blocking, copy);
}
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy) const {
  const OpScope op("to");
  checks::defined("the input", *this);
  return tandem::to(*this, options.has_device() ? options.device() : device(),
                    options.has_dtype() ? options.dtype() : dtype(), non_blocking, copy,
                    options.memory_format_opt().value_or(MemoryFormat::Preserve));
}
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy,
                  std::optional<MemoryFormat> format) const {
  return to(format ? options.memory_format(*format) : options, non_blocking, copy);
}
Tensor Tensor::to(const Tensor& other, bool non_blocking, bool copy) const {
  const OpScope op("to");
  checks::defined("other", other);
  return tandem::to(*this, other.device(), other.dtype(), non_blocking, copy);
}
Tensor Tensor::type_as(const Tensor& other) const {
  const OpScope op("type_as");
  checks::defined("other", other);
  return tandem::to(*this, other.device(), other.dtype());
}
Tensor Tensor::contiguous(MemoryFormat format) const {
  if (!defined()) return known("contiguous"), *this;
  return tandem::contiguous(*this, format);
}
Tensor Tensor::clone(MemoryFormat format) const { return tandem::clone(*this, format); }

}  // namespace tandem
