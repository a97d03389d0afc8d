#include "peak.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "statistics.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace bench {
namespace {

// Stores results, so that no loop is optimised away.
std::atomic<uint64_t> sink{0};

constexpr int kAccumulators = 12;  // a latency of 4 times two pipes, and a few more

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float fma_avx512(int64_t rounds) {
  __m512 a[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) a[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 b = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(1e-6f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kAccumulators; ++i) a[i] = _mm512_fmadd_ps(a[i], b, c);
  }
  for (int i = 1; i < kAccumulators; ++i) a[0] = _mm512_add_ps(a[0], a[i]);
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, a[0]);
  return lanes[0];
}

__attribute__((target("avx2,fma"))) float fma_avx2(int64_t rounds) {
  __m256 a[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) a[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 b = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(1e-6f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kAccumulators; ++i) a[i] = _mm256_fmadd_ps(a[i], b, c);
  }
  for (int i = 1; i < kAccumulators; ++i) a[0] = _mm256_add_ps(a[0], a[i]);
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, a[0]);
  return lanes[0];
}
#endif

float fma_portable(int64_t rounds) {
  constexpr int kWidth = 4;
  float a[kAccumulators][kWidth] = {};
  for (int64_t r = 0; r < rounds; ++r) {
    for (auto& vector : a) {
      for (float& lane : vector) lane = lane * 0.999f + 1e-6f;
    }
  }
  return a[0][0];
}

struct FmaLoop {
  float (*run)(int64_t rounds);
  int width;
};

FmaLoop best_loop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {fma_avx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {fma_avx2, 8};
#endif
  return {fma_portable, 4};
}

double measure_peak() {
  constexpr int64_t kRounds = 2'000'000;
  const FmaLoop loop = best_loop();
  double best = 1e9;
  int threads = 1;
  for (int repetition = 0; repetition < 8; ++repetition) {
    const double start = now();
#pragma omp parallel
    {
#if defined(_OPENMP)
#pragma omp single
      threads = omp_get_num_threads();
#endif
      sink += static_cast<uint64_t>(loop.run(kRounds));
    }
    best = std::min(best, now() - start);
  }
  return static_cast<double>(kRounds) * kAccumulators * loop.width * 2 * threads / best * 1e-9;
}

constexpr size_t kChunk = size_t{1} << 20;

/// Copies whole chunks with stores that bypass the caches.
void copy_past_caches(char* to, const char* from, size_t bytes) {
#if defined(__x86_64__)
  for (size_t i = 0; i < bytes; i += 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from + i);
    auto* target = reinterpret_cast<__m128i*>(to + i);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(target + k, _mm_loadu_si128(source + k));
  }
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace

double fma_peak_gflops() {
  static const double peak = measure_peak();
  return peak;
}

void stream_copy(void* to, const void* from, size_t bytes) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  constexpr size_t kCached = size_t{16} << 20;  // larger copies are evicted from the caches before they are read again
  if (bytes <= kChunk) {
    std::memcpy(target, source, bytes);
    return;
  }
  const auto chunks = static_cast<int64_t>((bytes + kChunk - 1) / kChunk);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < chunks; ++i) {
    const size_t begin = static_cast<size_t>(i) * kChunk, size = std::min(kChunk, bytes - begin);
    if (bytes > kCached && size == kChunk) {
      copy_past_caches(target + begin, source + begin, size);
    } else {
      std::memcpy(target + begin, source + begin, size);
    }
  }
}

void stream_read(const void* from, size_t bytes) {
  const auto* words = static_cast<const uint64_t*>(from);
  const auto count = static_cast<int64_t>(bytes / sizeof(uint64_t));
  uint64_t all = 0;
#pragma omp parallel for simd schedule(static) reduction(^ : all)
  for (int64_t i = 0; i < count; ++i) all ^= words[i];
  sink += all;
}

}  // namespace bench
