#pragma once
// Test data from a counter-based formula, identical to tests/golden/counter.py, so that data sets, inputs and initial
// weights need not be stored. All values are exact in f32, and no step of the arithmetic rounds.
#include <cstdint>
#include <string_view>

namespace tandem::testing {

/// Returns 64 random bits for number `index` of the stream `seed`. Source: splitmix64 (Steele, Lea, Flood 2014).
inline uint64_t counter_bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Uniform in [0, 1): multiples of 2^-24.
inline double counter_unit(uint64_t seed, uint64_t index) {
  return static_cast<double>(counter_bits(seed, index) >> 40) * 0x1p-24;
}

/// Approximately normal, variance 4/3, in [-4, 4): the sum of four uniform numbers.
inline double counter_normal(uint64_t seed, uint64_t index) {
  const uint64_t bits = counter_bits(seed, index);
  int64_t sum = 0;
  for (int shift = 0; shift < 64; shift += 16) sum += static_cast<int64_t>((bits >> shift) & 0xffff);
  return static_cast<double>(sum - 131070) * 0x1p-15;
}

/// Integers in [low, high).
inline int64_t counter_integer(uint64_t seed, uint64_t index, int64_t low, int64_t high) {
  return low + static_cast<int64_t>((counter_bits(seed, index) >> 33) % static_cast<uint64_t>(high - low));
}

/// FNV-1a hash: makes seeds from names, and fingerprints of cases.
inline uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace tandem::testing
