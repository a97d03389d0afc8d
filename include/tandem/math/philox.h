#pragma once
// Philox 4x32-10: counter-based random numbers, the same on host and device. Source: Salmon, Moraes, Dror, Shaw,
// Parallel random numbers: as easy as 1, 2, 3, SC 2011.
//
// Element i of a stream {seed, offset} uses lane i % 4 of the counter offset + i / 4, as follows.
// - Uniform, f32 and narrower: the upper 24 bits of the lane, / 2^24.
// - Uniform, f64: 53 bits, / 2^53: the lane, then the same lane of a second block. The upper 24 bits are those of f32.
// - Integers in [low, high): low + floor(u (high - low)), where u is the 64 bits of both blocks, / 2^64. The bias is
//   below 2^-64 (high - low).
// - Normal: Box-Muller. Lanes 0 and 1 give elements 0 and 1; lanes 2 and 3 give elements 2 and 3.
// - Bernoulli and dropout: uniform (f32), compared with p.
#include "tandem/math/trig.h"

#pragma GCC visibility push(default)
namespace tandem::math {

/// Four 32-bit numbers: a counter as input, random numbers as output.
struct PhiloxBlock {
  uint32_t lane[4];
};

/// One of the ten rounds.
TANDEM_MATH PhiloxBlock philox_round(PhiloxBlock c, uint32_t key0, uint32_t key1) {
  const uint64_t p0 = uint64_t{0xd2511f53u} * c.lane[0];
  const uint64_t p1 = uint64_t{0xcd9e8d57u} * c.lane[2];
  return {{static_cast<uint32_t>(p1 >> 32) ^ c.lane[1] ^ key0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c.lane[3] ^ key1, static_cast<uint32_t>(p0)}};
}
/// The increments of the keys from round to round.
inline constexpr uint32_t kPhiloxKey0Step = 0x9e3779b9u, kPhiloxKey1Step = 0xbb67ae85u;

TANDEM_MATH PhiloxBlock philox_4x32_10(PhiloxBlock c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    c = philox_round(c, key0, key1);
    key0 += kPhiloxKey0Step;
    key1 += kPhiloxKey1Step;
  }
  return c;
}

/// The counter of a position in a stream. Block 1 has the additional bits for 64-bit results.
TANDEM_MATH PhiloxBlock philox_counter(uint64_t position, uint32_t block) {
  return {{static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), block, 0}};
}
/// The random numbers at a position of a stream.
TANDEM_MATH PhiloxBlock philox(uint64_t seed, uint64_t position, uint32_t block) {
  return philox_4x32_10(philox_counter(position, block), static_cast<uint32_t>(seed),
                        static_cast<uint32_t>(seed >> 32));
}

/// [0, 1) in steps of 2^-24.
TANDEM_MATH float uniform_f32(uint32_t lane) { return static_cast<float>(static_cast<int32_t>(lane >> 8)) * 0x1p-24f; }

/// [0, 1) in steps of 2^-53.
TANDEM_MATH double uniform_f64(uint32_t lane, uint32_t further) {
  const uint64_t bits = (uint64_t{lane} << 32 | further) >> 11;
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-53;
}

/// The t for which uniform_f32(lane) >= p is equivalent to (lane >> 8) >= t; p in [0, 1].
TANDEM_MATH uint32_t bernoulli_threshold(double p) {
  const double scaled = p * 0x1p24;
  const uint32_t t = static_cast<uint32_t>(scaled);
  return t + (static_cast<double>(t) < scaled ? 1u : 0u);
}

/// Upper half of the product of two 64-bit numbers.
TANDEM_MATH uint64_t multiply_high(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32);
  return a1 * b1 + (cross >> 32) + ((a0 * b1 + (cross & 0xffffffffu)) >> 32);
#endif
}

/// Uniform in [low, low + range).
TANDEM_MATH int64_t random_integer(uint32_t lane, uint32_t further, int64_t low, uint64_t range) {
  return static_cast<int64_t>(static_cast<uint64_t>(low) + multiply_high(uint64_t{lane} << 32 | further, range));
}

/// Makes two standard normal numbers. u0 must be in (0, 1], so that its logarithm is finite. Source: Box and Muller
/// 1958.
template <class T>
TANDEM_MATH void box_muller(T u0, T u1, T& z0, T& z1) {
  const T radius = sqrt(T(-2) * log(u0));
  T s, c;
  sincos_turns(u1, s, c);
  z0 = radius * c;
  z1 = radius * s;
}
TANDEM_MATH void normal_f32(uint32_t lane0, uint32_t lane1, float& z0, float& z1) {
  // 31 bits, because every processor can convert signed integers. Half a step is added, so u0 is never 0.
  const float u0 = static_cast<float>(static_cast<int32_t>(lane0 >> 1)) * 0x1p-31f + 0x1p-32f;
  box_muller(u0, uniform_f32(lane1), z0, z1);
}
TANDEM_MATH void normal_f64(uint32_t lane0, uint32_t lane1, uint32_t further0, uint32_t further1, double& z0,
                            double& z1) {
  box_muller(uniform_f64(lane0, further0) + 0x1p-54, uniform_f64(lane1, further1), z0, z1);
}

}  // namespace tandem::math
#pragma GCC visibility pop
