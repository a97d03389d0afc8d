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

/// log(k!) for k = 0, 1, 2, ...: Stirling's series, and a product for small k.
TANDEM_MATH double log_factorial(double k) {
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; i += 1) product *= i;
    return log(product);
  }
  const double x = k + 1, r = 1 / x, r2 = r * r;
  return (x - 0.5) * log(x) - x + 0.91893853320467274178 + r * (1.0 / 12 - r2 * (1.0 / 360 - r2 / 1260));
}

/// A Poisson number for element `at` of a stream. Each element has a stream of its own: the blocks of its counter. A
/// product of uniform numbers, of 32 bits each, for a small rate (Knuth), else transformed rejection (Hormann, The
/// transformed rejection method for generating Poisson random variables, 1993). A rate above 2^50 is returned itself.
TANDEM_MATH double poisson(double rate, uint64_t seed, uint64_t offset, uint64_t at) {
  if (!(rate >= 0)) return kNaN<double>;
  if (rate > 0x1p50) return rate;
  uint32_t block = 0;
  const auto uniform = [&] {
    const PhiloxBlock lanes = philox(seed, offset + at / 4, block++);
    const uint64_t i = at % 4;  // selected without an index, which would put the lanes into memory on a device
    const uint32_t lane = i < 2 ? (i == 0 ? lanes.lane[0] : lanes.lane[1]) : (i == 2 ? lanes.lane[2] : lanes.lane[3]);
    return open_uniform(double(), lane, 0);
  };
  if (rate < 10) {
    const double end = exp(-rate);
    double k = 0;
    for (double product = uniform(); product > end; product *= uniform()) k += 1;
    return k;
  }
  const double root = sqrt(rate), log_rate = log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = uniform() - 0.5, v = uniform();
    const double us = 0.5 - abs(u), k = floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= k * log_rate - rate - log_factorial(k)) return k;
  }
}

}  // namespace tandem::math
#pragma GCC visibility pop
