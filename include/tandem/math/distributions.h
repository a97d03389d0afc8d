#pragma once
// Random numbers of distributions that are not uniform or normal, from the Philox streams of math/philox.h. The same on
// host and device, except for the rounding of elementary functions.
#include "tandem/math/philox.h"

#pragma GCC visibility push(default)
namespace tandem::kernels {

/// The distributions of the kernel random_from and their parameters.
enum class Distribution : uint8_t {
  exponential,  ///< density a e^(-a x), x > 0
  geometric,    ///< number of trials up to the first success; a = log(1 - p)
  cauchy,       ///< a: median, b: half of the distance between the quartiles
  log_normal    ///< e^z with z of mean a and standard deviation b
};

}  // namespace tandem::kernels

namespace tandem::math {

/// (0, 1), without both ends, in odd multiples of 2^-24 or 2^-53.
TANDEM_MATH float open_uniform(float, uint32_t lane, uint32_t) {
  return static_cast<float>(static_cast<int32_t>(lane >> 9)) * 0x1p-23f + 0x1p-24f;
}
TANDEM_MATH double open_uniform(double, uint32_t lane, uint32_t further) {
  const uint64_t bits = (uint64_t{lane} << 32 | further) >> 12;
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-52 + 0x1p-53;
}

/// The four numbers of a counter. `further` is used only for double.
template <class T>
TANDEM_MATH void draw(kernels::Distribution which, T a, T b, const uint32_t* lanes, const uint32_t* further, T* y) {
  constexpr bool wide = sizeof(T) == 8;
  if (which == kernels::Distribution::log_normal) {
    for (int i = 0; i < 4; i += 2) {
      if constexpr (wide) {
        normal_f64(lanes[i], lanes[i + 1], further[i], further[i + 1], y[i], y[i + 1]);
      } else {
        normal_f32(lanes[i], lanes[i + 1], y[i], y[i + 1]);
      }
    }
    for (int i = 0; i < 4; ++i) y[i] = exp(a + b * y[i]);
    return;
  }
  for (int i = 0; i < 4; ++i) {
    const T u = open_uniform(T(), lanes[i], wide ? further[i] : 0);
    if (which == kernels::Distribution::exponential) {
      y[i] = -log(u) / a;
    } else if (which == kernels::Distribution::geometric) {
      const T trials = ceil(log(u) / a);
      y[i] = trials < T(1) ? T(1) : trials;
    } else {
      T s, c;
      sincos_turns(u * T(0.5), s, c);
      y[i] = a - b * (c / s);  // tan(pi (u - 1/2))
    }
  }
}

/// The uniform numbers of element `at` of a stream, of 32 bits each: its lane of each block of its counter.
struct UniformStream {
  uint64_t seed, offset, at;
  uint32_t block = 0;

  TANDEM_MATH double next() {
    const PhiloxBlock lanes = philox(seed, offset + at / 4, block++);
    const uint64_t i = at % 4;  // selected without an index, which would put the lanes into memory on a device
    const uint32_t lane = i < 2 ? (i == 0 ? lanes.lane[0] : lanes.lane[1]) : (i == 2 ? lanes.lane[2] : lanes.lane[3]);
    return open_uniform(double(), lane, 0);
  }
};

/// log(k!) - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2) for k = 0, 1, 2, ...: Stirling's series, and a product
/// for small k.
TANDEM_MATH double stirling_remainder(double k) {
  const double x = k + 1;
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; i += 1) product *= i;
    return log(product) - ((k + 0.5) * log(x) - x + 0.91893853320467274178);
  }
  const double r = 1 / x, r2 = r * r;
  return r * (1.0 / 12 - r2 * (1.0 / 360 - r2 / 1260));
}

/// log(k!) for k = 0, 1, 2, ...
TANDEM_MATH double log_factorial(double k) {
  return (k + 0.5) * log(k + 1) - (k + 1) + 0.91893853320467274178 + stirling_remainder(k);
}

/// A Poisson number. A product of uniform numbers for a small rate (Knuth), else transformed rejection (Hormann, The
/// transformed rejection method for generating Poisson random variables, 1993). A rate above 2^50 is returned itself.
TANDEM_MATH double poisson(double rate, UniformStream uniform) {
  if (!(rate >= 0)) return kNaN<double>;
  if (rate > 0x1p50) return rate;
  if (rate < 10) {
    const double end = exp(-rate);
    double k = 0;
    for (double product = uniform.next(); product > end; product *= uniform.next()) k += 1;
    return k;
  }
  const double root = sqrt(rate), log_rate = log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = uniform.next() - 0.5, v = uniform.next();
    const double us = 0.5 - abs(u), k = floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= k * log_rate - rate - log_factorial(k)) return k;
  }
}

/// binomial() for p up to 1/2.
TANDEM_MATH double binomial_up_to_half(double n, double p, UniformStream uniform) {
  if (p == 0 || n == 0) return 0;
  if (n > 0x1p50) return floor(n * p);
  if (n * p < 10) {
    const double log_failure = log1p(-p);
    double successes = 0;
    for (double trial = 0;; successes += 1) {
      trial += ceil(log(uniform.next()) / log_failure);
      if (trial > n) return successes;
    }
  }
  const double deviation = sqrt(n * p * (1 - p)), odds = p / (1 - p), mode = floor((n + 1) * p);
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double alpha = (2.83 + 5.1 / b) * deviation, v_r = 0.92 - 4.2 / b;
  const double at_mode = (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1))) + stirling_remainder(mode) +
                         stirling_remainder(n - mode);
  while (true) {
    const double u = uniform.next() - 0.5, v = uniform.next();
    const double us = 0.5 - abs(u), k = floor((2 * a / us + b) * u + n * p + 0.5);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > n) continue;
    // The logarithm of the probability of k over that of the mode
    const double ratio = at_mode + (n + 1) * log((n - mode + 1) / (n - k + 1)) +
                         (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) - stirling_remainder(k) -
                         stirling_remainder(n - k);
    if (log(v * alpha / (a / (us * us) + b)) <= ratio) return k;
  }
}

/// A binomial number. Sums of waiting times, which are geometric, for few expected successes, else transformed
/// rejection (Hormann, The generation of binomial random variates, 1993). For n above 2^50, n p rounded down.
TANDEM_MATH double binomial(double n, double p, UniformStream uniform) {
  if (!(n >= 0) || !(p >= 0) || !(p <= 1)) return kNaN<double>;
  const double whole = floor(n), k = binomial_up_to_half(whole, p > 0.5 ? 1 - p : p, uniform);
  return p > 0.5 ? whole - k : k;
}

/// The distributions of the kernels that draw each element with parameters of its own.
struct Poisson {
  static constexpr int kParameters = 1;
  TANDEM_MATH double operator()(const double* p, UniformStream uniform) const { return poisson(p[0], uniform); }
};
/// The same for binomial(): the number of trials and their probability.
struct Binomial {
  static constexpr int kParameters = 2;
  TANDEM_MATH double operator()(const double* p, UniformStream uniform) const { return binomial(p[0], p[1], uniform); }
};

}  // namespace tandem::math
#pragma GCC visibility pop
