// Tensor's in-place methods: each combines an out-of-place op with a kernel that writes directly into self.
#include <cmath>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/math/ternary.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/activation_in_place.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/dropout.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/elementwise_forms-inl.h"
#include "tandem/ops/index_forms-inl.h"
#include "tandem/ops/math_functions.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/overlap.h"
#include "tandem/ops/promotion.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scan.h"
#include "tandem/tensor/factories.h"

namespace tandem {

using kernels::Ternary;

namespace {

/// Throws DTypeError if a result of dtype `result` cannot be stored in self: an integer tensor cannot hold fractions.
void check_result(const Tensor& self, DType result) {
  TANDEM_CHECK(can_cast(result, self.dtype()), DTypeError,
               "the result is {}, which self of {} cannot hold; use the op without the underscore",
               tandem::name(result), checks::show(self));
}

void check_broadcast(const Tensor& self, const Tensor& other) {
  TANDEM_CHECK(broadcast_shapes(self.sizes(), other.sizes()) == self.impl().sizes, ShapeError,
               "other {} does not broadcast to self {}", checks::show(other), checks::show(self));
}

/// self = op(self, other); `recorded` is the same op for autograd.
const Tensor& binary_(const OpScope& op, const Tensor& self, const Tensor& other, Binary kernel, double alpha,
                      const std::function<Tensor(const Tensor&)>& recorded) {
  checks::defined("self", self);
  checks::defined("other", other);
  check_result(self, detail::dtype_of_result(kernel, result_type(self, other)));
  check_broadcast(self, other);
  detail::check_devices({&self, &other});
  return apply_in_place(
      op, self, {&other, 1},
      [&](const Tensor& y) { backend(y).binary(y, kernel, y, detail::operand_beside(y, other), alpha); }, recorded);
}

/// self = op(self)
const Tensor& unary_(const OpScope& op, const Tensor& self, Unary kernel,
                     const std::function<Tensor(const Tensor&)>& recorded) {
  checks::defined("self", self);
  if (detail::refuses_bool(kernel)) checks::not_bool(self);
  check_result(self, detail::dtype_of_result(kernel, self.dtype()));
  return apply_in_place(
      op, self, {}, [&](const Tensor& y) { backend(y).unary(y, kernel, y, 0, 0); }, recorded);
}

/// Replaces `old` by `source`, for autograd: no gradient flows into the overwritten values.
Tensor overwrite(const Tensor& old, const Tensor& source);

/// self = f(self), through a temporary tensor.
const Tensor& assign_(const OpScope& op, const Tensor& self, ArrayRef<Tensor> others,
                      const std::function<Tensor(const Tensor&)>& f) {
  checks::defined("self", self);
  for (const Tensor& other : others) {
    checks::defined("other", other);
    check_broadcast(self, other);
    detail::check_devices({&self, &other});
  }
  auto fitting = [&](const Tensor& x) {
    Tensor y = f(x);
    check_result(self, y.dtype());
    return y;
  };
  return apply_in_place(
      op, self, others, [&](const Tensor& y) { backend(y).copy(y, fitting(y)); },
      [&](const Tensor& old) {
        Tensor y = fitting(old);
        // The result of a comparison, say: the overwritten values get no gradient.
        return y.requires_grad() ? y : overwrite(old, y.to(old.dtype()));
      });
}

/// self = op(self, a, b); `recorded` is the same op for autograd.
const Tensor& ternary_(const OpScope& op, const Tensor& self, const Tensor& a, const Tensor& b, Ternary kernel,
                       Scalar value, const std::function<Tensor(const Tensor&)>& recorded) {
  checks::defined("self", self);
  checks::defined("a", a);
  checks::defined("b", b);
  const Tensor operands[] = {a, b};
  for (const Tensor& other : operands) {
    check_broadcast(self, other);
    detail::check_devices({&self, &other});
  }
  const DType result = result_type({self, a, b});
  check_result(self, result);
  if (!is_floating_point(result)) return assign_(op, self, {operands, 2}, recorded);
  return apply_in_place(
      op, self, {operands, 2},
      [&](const Tensor& y) {
        backend(y).ternary(y, kernel, y, detail::operand_beside(y, a), detail::operand_beside(y, b), value.to_double());
      },
      recorded);
}

/// self = op(self, number)
const Tensor& scalar_(const OpScope& op, const Tensor& self, Unary kernel, Scalar number,
                      const std::function<Tensor(const Tensor&)>& recorded) {
  checks::defined("self", self);
  check_result(self, detail::dtype_of_result(kernel, result_type(self, number)));
  return apply_in_place(
      op, self, {}, [&](const Tensor& y) { detail::scalar_kernel(y, kernel, y, number); }, recorded);
}

}  // namespace

const Tensor& Tensor::add_(const Tensor& other, Scalar alpha) const {
  const OpScope op("add_");
  if (detail::needs_exact_alpha(*this, other, alpha)) return add_(detail::exact_multiple(*this, other, alpha));
  return binary_(op, *this, other, Binary::add, alpha.to_double(),
                 [&](const Tensor& x) { return tandem::add(x, other, alpha); });
}
const Tensor& Tensor::sub_(const Tensor& other, Scalar alpha) const {
  const OpScope op("sub_");
  checks::difference(*this, other);
  if (detail::needs_exact_alpha(*this, other, alpha)) return sub_(detail::exact_multiple(*this, other, alpha));
  return binary_(op, *this, other, Binary::sub, alpha.to_double(),
                 [&](const Tensor& x) { return tandem::sub(x, other, alpha); });
}
const Tensor& Tensor::mul_(const Tensor& other) const {
  const OpScope op("mul_");
  return binary_(op, *this, other, Binary::mul, 1, [&](const Tensor& x) { return tandem::mul(x, other); });
}
const Tensor& Tensor::div_(const Tensor& other) const {
  const OpScope op("div_");
  return binary_(op, *this, other, Binary::div, 1, [&](const Tensor& x) { return tandem::div(x, other); });
}
const Tensor& Tensor::pow_(const Tensor& exponent) const {
  const OpScope op("pow_");
  return binary_(op, *this, exponent, Binary::pow, 1, [&](const Tensor& x) { return tandem::pow(x, exponent); });
}

const Tensor& Tensor::add_(Scalar other, Scalar alpha) const {
  const OpScope op("add_");
  const Scalar term = detail::scalar_product(other, alpha);
  return scalar_(op, *this, Unary::add_scalar, term, [&](const Tensor& x) { return tandem::add(x, term); });
}
const Tensor& Tensor::sub_(Scalar other, Scalar alpha) const {
  const OpScope op("sub_");
  checks::difference(*this, other);
  const Scalar term = detail::scalar_product(detail::scalar_product(other, alpha), -1);
  return scalar_(op, *this, Unary::add_scalar, term, [&](const Tensor& x) { return tandem::add(x, term); });
}
const Tensor& Tensor::mul_(Scalar other) const {
  const OpScope op("mul_");
  return scalar_(op, *this, Unary::mul_scalar, other, [&](const Tensor& x) { return tandem::mul(x, other); });
}
const Tensor& Tensor::div_(Scalar other) const {
  const OpScope op("div_");
  return scalar_(op, *this, Unary::div_scalar, other, [&](const Tensor& x) { return tandem::div(x, other); });
}
const Tensor& Tensor::pow_(Scalar exponent) const {
  const OpScope op("pow_");
  if (defined()) checks::exponent(*this, exponent);
  return scalar_(op, *this, Unary::pow_scalar, exponent, [&](const Tensor& x) { return tandem::pow(x, exponent); });
}
const Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, Scalar value) const {
  const OpScope op("addcmul_");
  return ternary_(op, *this, a, b, Ternary::addcmul, value,
                  [&](const Tensor& x) { return tandem::addcmul(x, a, b, value); });
}
const Tensor& Tensor::addmm_(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) const {
  const OpScope op("addmm_");
  checks::defined("self", *this);
  checks::defined("a", a);
  checks::defined("b", b);
  TANDEM_CHECK(dim() == 2 && a.dim() == 2 && b.dim() == 2 && size(0) == a.size(0) && size(1) == b.size(1), ShapeError,
               "self is {}, a is {}, b is {}; self must have the sizes of the product of two matrices",
               checks::show(*this), checks::show(a), checks::show(b));
  const Tensor operands[] = {a, b};
  auto product = [&](const Tensor& x) { return tandem::addmm(x, a, b, beta, alpha); };
  return apply_in_place(
      op, *this, {operands, 2}, [&](const Tensor& y) { backend(y).copy(y, product(y)); }, product);
}

const Tensor& Tensor::clamp_(std::optional<Scalar> min, std::optional<Scalar> max) const {
  const OpScope op("clamp_");
  checks::defined("self", *this);
  TANDEM_CHECK(min || max, StateError, "no bounds; give min, max or both");
  checks::not_bool(*this);
  for (const auto& bound : {min, max}) {
    if (bound) check_result(*this, result_type(*this, *bound));
  }
  auto clamped = [&](const Tensor& x) { return tandem::clamp(x, min, max); };
  auto direct = [&](const Tensor& y) {
    if (is_floating_point() || (detail::fits_double(min.value_or(0)) && detail::fits_double(max.value_or(0)))) {
      backend(y).unary(y, Unary::clamp, y, min ? min->to_double() : -INFINITY, max ? max->to_double() : INFINITY);
    } else {
      backend(y).copy(y, clamped(y));
    }
  };
  return apply_in_place(op, *this, {}, direct, clamped);
}

namespace {

/// Checks the arguments of a scan in place. Returns the wrapped dimension.
int64_t check_scan(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  checks::defined("self", self);
  checks::not_bool(self);
  TANDEM_CHECK(!dtype || *dtype == self.dtype(), DTypeError,
               "dtype is {}, but self is {}; use the op without the underscore", tandem::name(*dtype),
               checks::show(self));
  return wrap_dim(dim, self.dim());
}

}  // namespace

const Tensor& Tensor::cumsum_(int64_t dim, std::optional<DType> dtype) const {
  const OpScope op("cumsum_");
  const int64_t d = check_scan(*this, dim, dtype);
  return apply_in_place(
      op, *this, {}, [&](const Tensor& y) { backend(y).cumsum(y, y, d, false); },
      [&](const Tensor& old) { return tandem::cumsum(old, d, old.dtype()); });
}
const Tensor& Tensor::cumprod_(int64_t dim, std::optional<DType> dtype) const {
  const OpScope op("cumprod_");
  const int64_t d = check_scan(*this, dim, dtype);
  return apply_in_place(
      op, *this, {}, [&](const Tensor& y) { backend(y).scan(y, Tensor(), kernels::Scan::prod, y, d, false); },
      [&](const Tensor& old) { return tandem::cumprod(old, d, old.dtype()); });
}

#define TANDEM_IN_PLACE(NAME)                                                                               \
  const Tensor& Tensor::NAME##_() const {                                                                   \
    return unary_(OpScope(#NAME "_"), *this, Unary::NAME, [](const Tensor& x) { return tandem::NAME(x); }); \
  }
TANDEM_IN_PLACE(neg)
TANDEM_IN_PLACE(abs)
TANDEM_IN_PLACE(relu)
TANDEM_IN_PLACE(reciprocal)
TANDEM_IN_PLACE(sqrt)
TANDEM_IN_PLACE(rsqrt)
TANDEM_IN_PLACE(exp)
TANDEM_IN_PLACE(log)
TANDEM_IN_PLACE(sigmoid)
TANDEM_IN_PLACE(tanh)
#undef TANDEM_IN_PLACE

// ---- the methods of method_lists.inc

namespace {

/// By the op's kernel, if it is a formula.
const Tensor& formula_(const OpScope& op, const Tensor& self, std::optional<Unary> kernel,
                       const std::function<Tensor(const Tensor&)>& f) {
  return kernel && !is_predicate(*kernel) && *kernel != Unary::bitwise_not ? unary_(op, self, *kernel, f)
                                                                           : assign_(op, self, {}, f);
}
ArrayRef<Tensor> operands_of(const Tensor& other) { return {&other, 1}; }
ArrayRef<Tensor> operands_of(Scalar) { return {}; }

}  // namespace

#define TANDEM_UNARY_METHOD(NAME)                                                                             \
  const Tensor& Tensor::NAME##_() const {                                                                     \
    const OpScope op(#NAME "_");                                                                              \
    return formula_(op, *this, kernels::unary_named(#NAME), [](const Tensor& x) { return tandem::NAME(x); }); \
  }
#define TANDEM_UNARY_IN_PLACE_METHOD(NAME) TANDEM_UNARY_METHOD(NAME)
#define TANDEM_BINARY_METHOD(NAME, TYPE)                                                                    \
  const Tensor& Tensor::NAME##_(TYPE other) const {                                                         \
    const OpScope op(#NAME "_");                                                                            \
    return assign_(op, *this, operands_of(other), [&](const Tensor& x) { return tandem::NAME(x, other); }); \
  }
#define TANDEM_BINARY_IN_PLACE_METHOD(NAME, TYPE) TANDEM_BINARY_METHOD(NAME, TYPE)
#include "tandem/tensor/method_lists.inc"

const Tensor& Tensor::logit_(std::optional<double> eps) const {
  const OpScope op("logit_");
  return assign_(op, *this, {}, [&](const Tensor& x) { return tandem::logit(x, eps); });
}
const Tensor& Tensor::round_(int64_t decimals) const {
  const OpScope op("round_");
  return assign_(op, *this, {}, [&](const Tensor& x) { return tandem::round(x, decimals); });
}
const Tensor& Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf,
                                  std::optional<double> neginf) const {
  const OpScope op("nan_to_num_");
  return assign_(op, *this, {}, [&](const Tensor& x) { return tandem::nan_to_num(x, nan, posinf, neginf); });
}
const Tensor& Tensor::div_(const Tensor& other, std::optional<std::string> rounding_mode) const {
  const OpScope op("div_");
  return assign_(op, *this, {&other, 1}, [&](const Tensor& x) { return tandem::div(x, other, rounding_mode); });
}
const Tensor& Tensor::div_(Scalar other, std::optional<std::string> rounding_mode) const {
  const OpScope op("div_");
  return assign_(op, *this, {}, [&](const Tensor& x) { return tandem::div(x, other, rounding_mode); });
}
const Tensor& Tensor::subtract_(const Tensor& other, Scalar alpha) const {
  const OpScope op("subtract_");
  return sub_(other, alpha);
}
const Tensor& Tensor::subtract_(Scalar other, Scalar alpha) const {
  const OpScope op("subtract_");
  return sub_(other, alpha);
}
const Tensor& Tensor::clamp_(std::optional<Tensor> min, std::optional<Tensor> max) const {
  const OpScope op("clamp_");
  std::vector<Tensor> bounds;
  for (const auto& bound : {min, max}) {
    if (bound) bounds.push_back(*bound);
  }
  return assign_(op, *this, bounds, [&](const Tensor& x) { return tandem::clamp(x, min, max); });
}
const Tensor& Tensor::clip_(std::optional<Scalar> min, std::optional<Scalar> max) const {
  const OpScope op("clip_");
  return clamp_(min, max);
}
const Tensor& Tensor::lerp_(const Tensor& end, Scalar weight) const {
  const OpScope op("lerp_");
  checks::defined("self", *this);
  checks::floating("end", end);
  checks::same_dtype("self", *this, "end", end);
  return binary_(op, *this, end, Binary::lerp, weight.to_double(),
                 [&](const Tensor& x) { return tandem::lerp(x, end, weight); });
}
const Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight) const {
  const OpScope op("lerp_");
  checks::defined("self", *this);
  checks::floating("end", end);
  checks::floating("the weight", weight);
  checks::same_dtype("self", *this, "end", end);
  if (weight.dim() > 0) checks::same_dtype("self", *this, "the weight", weight);
  return ternary_(op, *this, end, weight, Ternary::lerp, 0,
                  [&](const Tensor& x) { return tandem::lerp(x, end, weight); });
}
const Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, Scalar value) const {
  const OpScope op("addcdiv_");
  return ternary_(op, *this, a, b, Ternary::addcdiv, value,
                  [&](const Tensor& x) { return tandem::addcdiv(x, a, b, value); });
}

// ---- activations in place (ops/activation_in_place.h)

#define TANDEM_ACTIVATION(NAME, PARAMETERS, ...)                                                            \
  const Tensor& NAME##_ PARAMETERS {                                                                        \
    const OpScope op(#NAME "_");                                                                            \
    return assign_(op, x, {}, [&](const Tensor& x) { return tandem::NAME(x __VA_OPT__(, ) __VA_ARGS__); }); \
  }
TANDEM_ACTIVATION(silu, (const Tensor& x))
TANDEM_ACTIVATION(mish, (const Tensor& x))
TANDEM_ACTIVATION(selu, (const Tensor& x))
TANDEM_ACTIVATION(relu6, (const Tensor& x))
TANDEM_ACTIVATION(hardsigmoid, (const Tensor& x))
TANDEM_ACTIVATION(hardswish, (const Tensor& x))
TANDEM_ACTIVATION(elu, (const Tensor& x, Scalar alpha, Scalar scale, Scalar input_scale), alpha, scale, input_scale)
TANDEM_ACTIVATION(celu, (const Tensor& x, Scalar alpha), alpha)
TANDEM_ACTIVATION(leaky_relu, (const Tensor& x, Scalar negative_slope), negative_slope)
TANDEM_ACTIVATION(rrelu, (const Tensor& x, Scalar lower, Scalar upper, bool training), lower, upper, training)
TANDEM_ACTIVATION(hardtanh, (const Tensor& x, Scalar min_val, Scalar max_val), min_val, max_val)
TANDEM_ACTIVATION(threshold, (const Tensor& x, Scalar threshold, Scalar value), threshold, value)
TANDEM_ACTIVATION(gelu, (const Tensor& x, const std::string& approximate), approximate)
TANDEM_ACTIVATION(dropout, (const Tensor& x, double p, bool training), p, training)
TANDEM_ACTIVATION(alpha_dropout, (const Tensor& x, double p, bool training), p, training)
TANDEM_ACTIVATION(feature_dropout, (const Tensor& x, double p, bool training), p, training)
TANDEM_ACTIVATION(feature_alpha_dropout, (const Tensor& x, double p, bool training), p, training)
#undef TANDEM_ACTIVATION

namespace {

/// Replaces `old` by `source`, for autograd: no gradient flows into the overwritten values.
Tensor overwrite(const Tensor& old, const Tensor& source) {
  return Op<"copy">().apply(
      [](const Tensor& old, const Tensor& source) {
        Tensor y = empty_like(old);
        backend(y.is_cuda() ? y : source).copy(y, detail::broadcast_view(source, y.sizes()));
        return Result{y, {}, [sizes = source.impl().sizes](const Backward& b) -> Grads {
                        Grads grads(2);
                        if (b.needs(0)) grads[0] = zeros_like(b.grad());
                        if (b.needs(1)) grads[1] = sum_to_size(b.grad(), sizes);
                        return grads;
                      }};
      },
      old, source);
}

}  // namespace

const Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) const {
  const OpScope op("copy_");
  checks::defined("self", *this);
  checks::defined("the source", source);
  check_broadcast(*this, source);
  return apply_in_place(
      op, *this, {&source, 1},
      [&](const Tensor& y) {
        backend(y.is_cuda() ? y : source).copy(y, detail::operand_beside(y, source));
        if (!non_blocking) detail::wait_until_read(source, y);
      },
      [&](const Tensor& old) { return overwrite(old, source.to(old.device(), non_blocking)); });
}

const Tensor& Tensor::fill_(Scalar value) const {
  const OpScope op("fill_");
  checks::defined("self", *this);
  check_fits(value, dtype());
  return apply_in_place(
      op, *this, {}, [&](const Tensor& y) { backend(y).fill(y, value); },
      [&](const Tensor& old) { return overwrite(old, scalar_tensor(value, old.options())); });
}

const Tensor& Tensor::fill_(const Tensor& value) const {
  const OpScope op("fill_");
  checks::defined("self", *this);
  return copy_(detail::number_for(*this, value));
}

const Tensor& Tensor::zero_() const {
  const OpScope op("zero_");
  return fill_(0);
}

}  // namespace tandem
