#pragma once
// Table of random numbers by the rules of math/philox.h, over runs of lanes that start at a counter's first lane.
#include "kernels/cpu/simd/dispatch.h"

namespace tandem::cpu {

struct RandomTable {
  /// lanes[4 j + l] = lane l of counter + j, for j < counters; block: see math::philox.
  void (*lanes)(uint32_t* lanes, uint64_t seed, uint64_t counter, uint32_t block, int64_t counters);
  /// y_i = from + u_i (to - from), at most `last`.
  void (*uniform_f32)(float* y, const uint32_t* lanes, int64_t n, float from, float to, float last);
  void (*uniform_f64)(double* y, const uint32_t* lanes, const uint32_t* further, int64_t n, double from, double to,
                      double last);
  /// y_i = mean + std z_i; n is a multiple of 4.
  void (*normal_f32)(float* y, const uint32_t* lanes, int64_t n, float mean, float std);
  void (*normal_f64)(double* y, const uint32_t* lanes, const uint32_t* further, int64_t n, double mean, double std);
  void (*integers)(int64_t* y, const uint32_t* lanes, const uint32_t* further, int64_t n, int64_t low, uint64_t range);
  /// kept_i = (lane_i >> 8) >= threshold.
  void (*keep)(bool* kept, const uint32_t* lanes, int64_t n, uint32_t threshold);
  /// y_i = kept_i ? x_i scale : 0.
  void (*mask_f32)(float* y, const float* x, const bool* kept, int64_t n, float scale);
  void (*mask_f64)(double* y, const double* x, const bool* kept, int64_t n, double scale);
};
TANDEM_SIMD_TABLE(RandomTable, random_table)

}  // namespace tandem::cpu
