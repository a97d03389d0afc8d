// Random numbers from Philox lanes. Contract: math/philox.h. The lanes have the same bits at every SIMD level; normal
// numbers may differ in the last place between levels.
#include "kernels/cpu/simd/random.h"

#include "tandem/math/philox.h"

namespace tandem::cpu::TANDEM_SIMD {
namespace {

/// math::philox for a group of counters at a time, lane by lane and round by round, so that it vectorises.
void lanes(uint32_t* lanes, uint64_t seed, uint64_t counter, uint32_t block, int64_t counters) {
  constexpr int kGroup = 32;
  for (int64_t first = 0; first < counters; first += kGroup) {
    uint32_t c[4][kGroup];
    for (int j = 0; j < kGroup; ++j) {
      const math::PhiloxBlock b = math::philox_counter(counter + static_cast<uint64_t>(first + j), block);
      for (int l = 0; l < 4; ++l) c[l][j] = b.lane[l];
    }
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      for (int j = 0; j < kGroup; ++j) {
        const math::PhiloxBlock b = math::philox_round({{c[0][j], c[1][j], c[2][j], c[3][j]}}, key0, key1);
        for (int l = 0; l < 4; ++l) c[l][j] = b.lane[l];
      }
      key0 += math::kPhiloxKey0Step;
      key1 += math::kPhiloxKey1Step;
    }
    const int64_t count = counters - first < kGroup ? counters - first : kGroup;
    for (int64_t j = 0; j < count; ++j) {
      for (int l = 0; l < 4; ++l) lanes[4 * (first + j) + l] = c[l][j];
    }
  }
}

void uniform_f32(float* y, const uint32_t* lanes, int64_t n, float from, float to, float last) {
  const float range = to - from;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = math::minimum(from + math::uniform_f32(lanes[i]) * range, last);
}

void uniform_f64(double* y, const uint32_t* lanes, const uint32_t* further, int64_t n, double from, double to,
                 double last) {
  const double range = to - from;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = math::minimum(from + math::uniform_f64(lanes[i], further[i]) * range, last);
  }
}

void normal_f32(float* y, const uint32_t* lanes, int64_t n, float mean, float std) {
#pragma omp simd
  for (int64_t i = 0; i < n; i += 2) {
    float z0, z1;
    math::normal_f32(lanes[i], lanes[i + 1], z0, z1);
    y[i] = mean + std * z0;
    y[i + 1] = mean + std * z1;
  }
}

void normal_f64(double* y, const uint32_t* lanes, const uint32_t* further, int64_t n, double mean, double std) {
  for (int64_t i = 0; i < n; i += 2) {
    double z0, z1;
    math::normal_f64(lanes[i], lanes[i + 1], further[i], further[i + 1], z0, z1);
    y[i] = mean + std * z0;
    y[i + 1] = mean + std * z1;
  }
}

void integers(int64_t* y, const uint32_t* lanes, const uint32_t* further, int64_t n, int64_t low, uint64_t range) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = math::random_integer(lanes[i], further[i], low, range);
}

void keep(bool* kept, const uint32_t* lanes, int64_t n, uint32_t threshold) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) kept[i] = (lanes[i] >> 8) >= threshold;
}

template <class T>
void mask(T* y, const T* x, const bool* kept, int64_t n, T scale) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = kept[i] ? x[i] * scale : T(0);
}

}  // namespace

const RandomTable random_table = {lanes,    uniform_f32, uniform_f64, normal_f32,  normal_f64,
                                  integers, keep,        mask<float>, mask<double>};

}  // namespace tandem::cpu::TANDEM_SIMD
