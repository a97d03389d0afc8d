// Factories that fill tensors: constants, ranges, random numbers. Geometry is in empty.cpp, data in from_data.cpp.
#include "tandem/tensor/factories.h"

#include <cmath>
#include <utility>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/math/arithmetic.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

void fill(const Tensor& y, Scalar value) {
  check_fits(value, y.dtype());
  if (y.numel() > 0) backend(y).fill(y, value);
}

// The dtype inferred from a number.
DType dtype_of_kind(Scalar value) {
  return value.is_boolean() ? kBool : value.is_integral() ? kLong : get_default_dtype();
}

TensorOptions with_default(const TensorOptions& options, DType t) {
  return options.has_dtype() ? options : options.dtype(t);
}

// Draws random values into the new tensor. requires_grad is off meanwhile, so that a leaf does not fail the write
// check.
template <class Draw>
Tensor drawn(const Tensor& y, const Draw& draw) {
  const bool grad = std::exchange(y.impl().requires_grad, false);
  draw(y);
  y.impl().requires_grad = grad;
  return y;
}

}  // namespace

Tensor full(IntArrayRef sizes, Scalar value, const TensorOptions& options) {
  const OpScope op("full");
  Tensor y = empty(sizes, with_default(options, dtype_of_kind(value)));
  fill(y, value);
  return y;
}

Tensor full_like(const Tensor& x, Scalar value, const TensorOptions& options) {
  const OpScope op("full_like");
  Tensor y = empty_like(x, options);
  fill(y, value);
  return y;
}

Tensor zeros(IntArrayRef sizes, const TensorOptions& options) {
  const OpScope op("zeros");
  return full(sizes, 0, with_default(options, get_default_dtype()));
}
Tensor ones(IntArrayRef sizes, const TensorOptions& options) {
  const OpScope op("ones");
  return full(sizes, 1, with_default(options, get_default_dtype()));
}
Tensor zeros_like(const Tensor& x, const TensorOptions& options) {
  const OpScope op("zeros_like");
  return full_like(x, 0, options);
}
Tensor ones_like(const Tensor& x, const TensorOptions& options) {
  const OpScope op("ones_like");
  return full_like(x, 1, options);
}
Tensor scalar_tensor(Scalar value, const TensorOptions& options) {
  const OpScope op("scalar_tensor");
  return full({}, value, with_default(options, get_default_dtype()));
}

Tensor eye(int64_t n, const TensorOptions& options) { return eye(n, n, options); }

Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  const OpScope op("eye");
  Tensor y = zeros({n, m}, options);
  fill(make_view(y, {n < m ? n : m}, {m + 1}, 0), 1);
  return y;
}

Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& options) {
  const OpScope op("arange");
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  TANDEM_CHECK(std::isfinite(a) && std::isfinite(b) && std::isfinite(s), StateError,
               "start = {}, end = {} and step = {} must be finite", a, b, s);
  TANDEM_CHECK(s != 0, StateError, "step is 0; it must go from start = {} to end = {}", a, b);
  TANDEM_CHECK(a == b || (a < b) == (s > 0), StateError,
               "step = {} leads away from end = {} (start = {}); change its sign", s, b, a);
  TANDEM_CHECK((b - a) / s < 0x1p60, ShapeError, "from {} to {} by {} has more elements than memory can hold", a, b, s);
  const bool integral = !start.is_floating_point() && !end.is_floating_point() && !step.is_floating_point();
  const TensorOptions o = with_default(options, integral ? kLong : get_default_dtype());
  if (is_storage_only(o.dtype())) detail::throw_storage_only_arithmetic(o.dtype());
  TANDEM_CHECK(o.dtype() != kBool, DTypeError, "bool cannot hold a range; use an integer or floating dtype");
  int64_t count = 0;
  if (integral) {  // integer arithmetic: a double loses counts above 2^53
    const uint64_t from = static_cast<uint64_t>(start.to_int64()), to = static_cast<uint64_t>(end.to_int64());
    const uint64_t by = static_cast<uint64_t>(step.to_int64());
    const uint64_t span = s > 0 ? to - from : from - to, stride = s > 0 ? by : 0 - by;
    count = static_cast<int64_t>(span / stride + (span % stride != 0));
  } else {
    count = static_cast<int64_t>(std::ceil((b - a) / s));
  }
  if (count > 0) {
    check_fits(start, o.dtype());
    // The last integer is between start and end; only its distance from start may overflow.
    check_fits(integral ? Scalar(math::add(start.to_int64(), math::mul(count - 1, step.to_int64())))
                        : Scalar(a + s * static_cast<double>(count - 1)),
               o.dtype());
  }
  Tensor y = empty({count}, o);
  if (count > 0) backend(y).arange(y, start, step);
  return y;
}

Tensor arange(Scalar start, Scalar end, const TensorOptions& options) { return arange(start, end, 1, options); }
Tensor arange(Scalar end, const TensorOptions& options) { return arange(0, end, 1, options); }

Tensor linspace(Scalar start, Scalar end, int64_t steps, const TensorOptions& options) {
  const OpScope op("linspace");
  TANDEM_CHECK(steps >= 0, StateError, "steps = {} is negative; it must be at least 0", steps);
  const Tensor host = empty({steps}, with_default(options, get_default_dtype()).device(kCPU).requires_grad(false));
  if (steps > 0) check_fits(start, host.dtype());
  if (steps > 1) check_fits(end, host.dtype());
  visit_dtype(host.dtype(), [&](auto zero) {
    // Counts from the nearer end, in the dtype's compute type, so that both ends are exact. Source: torch.linspace.
    using T = decltype(zero);
    using C = std::conditional_t<std::is_same_v<T, float> || sizeof(T) == 2, float, double>;
    const C a = start.to<C>(), b = end.to<C>(), step = steps > 1 ? (b - a) / static_cast<C>(steps - 1) : C(0);
    T* y = host.raw<T>();
    for (int64_t i = 0; i < steps; ++i) {
      const C v = i < steps / 2 || steps == 1 ? a + step * static_cast<C>(i) : b - step * static_cast<C>(steps - 1 - i);
      y[i] = static_cast<T>(v);
    }
  });
  Tensor y = empty({steps}, with_default(options, get_default_dtype()));
  if (y.is_cpu()) {
    host.impl().requires_grad = options.requires_grad();
    return host;
  }
  if (steps > 0) backend(y).copy(y, host);
  return y;
}

Tensor rand(IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options) {
  const OpScope op("rand");
  return drawn(empty(sizes, options), [&](const Tensor& y) { y.uniform_(0, 1, generator); });
}
Tensor rand(IntArrayRef sizes, const TensorOptions& options) { return rand(sizes, std::nullopt, options); }

Tensor randn(IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options) {
  const OpScope op("randn");
  return drawn(empty(sizes, options), [&](const Tensor& y) { y.normal_(0, 1, generator); });
}
Tensor randn(IntArrayRef sizes, const TensorOptions& options) { return randn(sizes, std::nullopt, options); }

Tensor rand_like(const Tensor& x, const TensorOptions& options) {
  const OpScope op("rand_like");
  return drawn(empty_like(x, options), [](const Tensor& y) { y.uniform_(); });
}

Tensor randn_like(const Tensor& x, const TensorOptions& options) {
  const OpScope op("randn_like");
  return drawn(empty_like(x, options), [](const Tensor& y) { y.normal_(); });
}

Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, std::optional<Generator> generator,
               const TensorOptions& options) {
  const OpScope op("randint");
  return drawn(empty(sizes, with_default(options, kLong)), [&](const Tensor& y) { y.random_(low, high, generator); });
}
Tensor randint(int64_t low, int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  return randint(low, high, sizes, std::nullopt, options);
}
Tensor randint(int64_t high, IntArrayRef sizes, std::optional<Generator> generator, const TensorOptions& options) {
  return randint(0, high, sizes, std::move(generator), options);
}
Tensor randint(int64_t high, IntArrayRef sizes, const TensorOptions& options) {
  return randint(0, high, sizes, std::nullopt, options);
}

Tensor randint_like(const Tensor& x, int64_t low, int64_t high, const TensorOptions& options) {
  const OpScope op("randint_like");
  return drawn(empty_like(x, options), [&](const Tensor& y) { y.random_(low, high); });
}
Tensor randint_like(const Tensor& x, int64_t high, const TensorOptions& options) {
  return randint_like(x, 0, high, options);
}

Tensor randperm(int64_t n, const TensorOptions& options) { return randperm(n, std::nullopt, options); }

Tensor randperm(int64_t n, std::optional<Generator> generator, const TensorOptions& options) {
  const OpScope op("randperm");
  TANDEM_CHECK(n >= 0, StateError, "n = {} is negative; it must be at least 0", n);
  const TensorOptions o = with_default(options, kLong);
  if (n > 0) check_fits(n - 1, o.dtype());
  // Computed on the CPU for every device, so that the order is the same. Fisher-Yates; the draws have 62 bits, so the
  // remainder biases no place by more than n / 2^62.
  const Tensor draws = randint(int64_t{1} << 62, {n}, std::move(generator), kCPU);
  const Tensor order = arange(n, TensorOptions(kLong).device(kCPU));
  int64_t* p = order.raw<int64_t>();
  const int64_t* r = draws.raw<int64_t>();
  for (int64_t i = 0; i + 1 < n; ++i) std::swap(p[i], p[i + r[i] % (n - i)]);
  Tensor y = empty({n}, o);
  if (n > 0) backend(y).copy(y, order);
  return y;
}

}  // namespace tandem
