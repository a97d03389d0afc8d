// Factories whose elements follow a formula: logspace, range, windows. Elements are computed on the host, in f64.
#include <cmath>

#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

/// f(0), f(1), ..., f(n - 1)
template <class F>
Tensor from_formula(int64_t n, const TensorOptions& options, const F& f) {
  const Tensor host = empty({n}, TensorOptions(kDouble).device(kCPU)), y = empty({n}, options);
  for (int64_t i = 0; i < n; ++i) host.raw<double>()[i] = f(static_cast<double>(i));
  if (n > 0) backend(y).copy(y, host);
  return y;
}

/// A window of n numbers f(t) for t from 0 to 1.
template <class F>
Tensor window(int64_t n, bool periodic, const TensorOptions& options, const F& f) {
  TANDEM_CHECK(n >= 0, StateError, "n = {} is negative; it must be at least 0", n);
  TANDEM_CHECK(!options.has_dtype() || is_differentiable(options.dtype()), DTypeError,
               "{} cannot hold a window; use a floating dtype", name(options.dtype()));
  if (n == 1) return from_formula(1, options, [](double) { return 1.0; });
  const double steps = static_cast<double>(periodic ? n : n - 1);
  return from_formula(n, options, [&](double i) { return f(i / steps); });
}

/// The modified Bessel function of order 0, by its power series.
double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (double k = 1; term > 0x1p-54 * sum; k += 1) {
    term *= x / (2 * k) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

}  // namespace

Tensor logspace(Scalar start, Scalar end, int64_t steps, double base, const TensorOptions& options) {
  const OpScope op("logspace");
  TANDEM_CHECK(steps >= 0, StateError, "steps = {} is negative; it must be at least 0", steps);
  const double a = start.to_double(), b = end.to_double();
  const double step = steps > 1 ? (b - a) / static_cast<double>(steps - 1) : 0;
  const DType t = options.dtype();
  if (steps > 0) check_fits(std::pow(base, a), t);
  if (steps > 1) check_fits(std::pow(base, b), t);
  const double half = static_cast<double>(steps / 2);
  return from_formula(steps, options, [&](double i) {
    return std::pow(base, i < half || steps == 1 ? a + step * i : b - step * (static_cast<double>(steps - 1) - i));
  });
}

Tensor range(Scalar start, Scalar end, Scalar step, const TensorOptions& options) {
  const OpScope op("range");
  const double a = start.to_double(), b = end.to_double(), s = step.to_double();
  TANDEM_CHECK(std::isfinite(a) && std::isfinite(b) && std::isfinite(s), StateError,
               "start = {}, end = {} and step = {} must be finite", a, b, s);
  TANDEM_CHECK(s != 0, StateError, "step is 0; it must go from start = {} to end = {}", a, b);
  TANDEM_CHECK(a == b || (a < b) == (s > 0), StateError,
               "step = {} leads away from end = {} (start = {}); change its sign", s, b, a);
  TANDEM_CHECK((b - a) / s < 0x1p60, ShapeError, "from {} to {} by {} has more elements than memory can hold", a, b, s);
  const TensorOptions o = options.has_dtype() ? options : options.dtype(get_default_dtype());
  TANDEM_CHECK(o.dtype() != kBool, DTypeError, "bool cannot hold a range; use an integer or floating dtype");
  const int64_t count = static_cast<int64_t>(std::floor((b - a) / s)) + 1;
  check_fits(start, o.dtype());
  check_fits(a + s * static_cast<double>(count - 1), o.dtype());
  const Tensor y = empty({count}, o);
  backend(y).arange(y, start, step);
  return y;
}

Tensor hann_window(int64_t n, bool periodic, const TensorOptions& options) {
  const OpScope op("hann_window");
  return hamming_window(n, periodic, 0.5, 0.5, options);
}
Tensor hamming_window(int64_t n, bool periodic, double alpha, double beta, const TensorOptions& options) {
  const OpScope op("hamming_window");
  return window(n, periodic, options, [&](double t) { return alpha - beta * std::cos(2 * M_PI * t); });
}
Tensor blackman_window(int64_t n, bool periodic, const TensorOptions& options) {
  const OpScope op("blackman_window");
  return window(n, periodic, options,
                [](double t) { return 0.42 - 0.5 * std::cos(2 * M_PI * t) + 0.08 * std::cos(4 * M_PI * t); });
}
Tensor bartlett_window(int64_t n, bool periodic, const TensorOptions& options) {
  const OpScope op("bartlett_window");
  return window(n, periodic, options, [](double t) { return 1 - std::abs(2 * t - 1); });
}
Tensor kaiser_window(int64_t n, bool periodic, double beta, const TensorOptions& options) {
  const OpScope op("kaiser_window");
  TANDEM_CHECK(std::isfinite(beta) && std::abs(beta) <= 700, StateError, "beta = {}; it must be in [-700, 700]", beta);
  return window(n, periodic, options, [&](double t) {
    const double u = 2 * t - 1;
    return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - u * u))) / bessel_i0(beta);
  });
}

}  // namespace tandem
