// Tests of the kernel emulator: what it runs like a GPU, and what it rejects.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "cuda_emulated/emulator.h"
#include "kernels/cuda/launch_shape.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda {
namespace {

/// Runs the kernel immediately: streams play no role here.
template <class... P, class... A>
void run_now(void (*kernel)(P...), const Launch& shape, A... arguments) {
  emulated::check_launch(reinterpret_cast<const void*>(kernel), shape.grid, shape.block, shape.shared_bytes);
  emulated::run(shape.grid, shape.block, [&] { kernel(arguments...); });
}

unsigned thread_of_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

void visit(int* visits) {
  const unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  ++visits[b * blockDim.x * blockDim.y * blockDim.z + thread_of_block()];
}

TEST(Emulator, EveryThreadRunsOnce) {
  std::vector<int> visits(2 * 3 * 4 * 5 * 6 * 7);
  run_now(visit, Launch{dim3(2, 3, 4), dim3(5, 6, 7), 0}, visits.data());
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

/// Sums over the block in rounds in which every value crosses between threads; threads from `live` on return at once.
void sum_in_rounds(int live, int64_t* result) {
  __shared__ int64_t values[2][96];
  const int t = static_cast<int>(threadIdx.x);
  if (t >= live) return;
  int64_t value = t;
  for (int round = 0; round < 10; ++round) {
    values[round % 2][t] = value;
    __syncthreads();
    value = values[round % 2][(t + 1) % live];
  }
  result[t] = value;
}

TEST(Emulator, BarriersWaitForRunningThreads) {
  for (int live : {96, 70, 1}) {
    for (int order = 0; order < 2; ++order) {
      std::vector<int64_t> result(96, -1);
      run_now(sum_in_rounds, Launch{dim3(1), dim3(96), 0}, live, result.data());
      for (int t = 0; t < 96; ++t) EXPECT_EQ(result[t], t < live ? (t + 10) % live : -1);
    }
  }
}

void vote(int* results) {
  const int t = static_cast<int>(threadIdx.x);
  const bool right = __syncthreads_or(t == 5) == 1 && __syncthreads_or(0) == 0 && __syncthreads_and(1) == 1 &&
                     __syncthreads_and(t != 5) == 0 && __syncthreads_count(t % 2) == 32 &&
                     __ballot_sync(0xffffffffu, t % 4 == 0) == 0x11111111u &&
                     __any_sync(0xffffffffu, t == 33) == t / 32 && __all_sync(0xffffffffu, t < 32) == 1 - t / 32;
  results[t] = right;
}

TEST(Emulator, Votes) {
  std::vector<int> results(64);
  run_now(vote, Launch{dim3(1), dim3(64), 0}, results.data());
  EXPECT_EQ(results, std::vector<int>(64, 1));
}

void shuffle(int* results) {
  constexpr unsigned kAll = 0xffffffffu;
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, first = t - lane;
  bool right = __shfl_sync(kAll, t, 3) == first + 3 && __shfl_sync(kAll, t, 3, 8) == t / 8 * 8 + 3 &&
               __shfl_xor_sync(kAll, t, 5) == (t ^ 5) && __shfl_up_sync(kAll, t, 2) == (lane < 2 ? t : t - 2) &&
               __shfl_down_sync(kAll, t, 3, 16) == (t % 16 < 13 ? t + 3 : t) &&
               __shfl_xor_sync(kAll, static_cast<double>(t), 1) == (t ^ 1);
  // The halves of a warp diverge.
  const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  if (lane < 16) {
    right &= __shfl_xor_sync(half, t, 8) == (t ^ 8);
  } else {
    for (int i = 0; i < 3; ++i) right &= __shfl_xor_sync(half, t, 1) == (t ^ 1);
  }
  __syncwarp();
  results[t] = right;
}

TEST(Emulator, Shuffles) {
  std::vector<int> results(64);
  run_now(shuffle, Launch{dim3(1), dim3(64), 0}, results.data());
  EXPECT_EQ(results, std::vector<int>(64, 1));
}

void neighbours_without_barrier(int* result) {
  __shared__ int values[64];
  values[threadIdx.x] = 0;
  __syncthreads();
  values[threadIdx.x] = 1;
  result[threadIdx.x] = values[(threadIdx.x + 1) % 64];  // a race
}

TEST(Emulator, RacesShowInOneOfTwoOrders) {
  std::vector<int> sums;
  for (int order = 0; order < 2; ++order) {
    std::vector<int> result(64);
    run_now(neighbours_without_barrier, Launch{dim3(1), dim3(64), 0}, result.data());
    sums.push_back(std::accumulate(result.begin(), result.end(), 0));
  }
  EXPECT_NE(sums[0], sums[1]);
}

/// Thread 0's warp writes again before others have read.
void write_after_read(int* result) {
  __shared__ int value;
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) value = round;
    __syncthreads();
    result[threadIdx.x] += value == round;
    __syncwarp();  // not a block barrier before the next round
  }
}

TEST(Emulator, RevealsMissingBarriers) {
  std::vector<int> sums;
  for (int order = 0; order < 2; ++order) {
    std::vector<int> result(64);
    run_now(write_after_read, Launch{dim3(1), dim3(64), 0}, result.data());
    sums.push_back(std::accumulate(result.begin(), result.end(), 0));
  }
  EXPECT_LT(std::min(sums[0], sums[1]), 128);
}

void half_at_a_barrier() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
void barrier_and_shuffle() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}
void shuffle_from_a_lane_that_returned() {
  if (threadIdx.x % 32 == 31) return;
  __shfl_sync(0xffffffffu, 1, 31);
}
void mask_of_others() { __syncwarp(1); }
void nothing() {}

TEST(Emulator, RefusesUndefinedBehaviour) {
  const Launch shape{dim3(2), dim3(64), 0};
  EXPECT_THROW(run_now(half_at_a_barrier, shape), emulated::Misuse);
  EXPECT_THROW(run_now(barrier_and_shuffle, shape), emulated::Misuse);
  EXPECT_THROW(run_now(shuffle_from_a_lane_that_returned, shape), emulated::Misuse);
  EXPECT_THROW(run_now(mask_of_others, shape), emulated::Misuse);
  EXPECT_THROW(run_now(nothing, Launch{dim3(0), dim3(1), 0}), emulated::Misuse);
  EXPECT_THROW(run_now(nothing, Launch{dim3(1), dim3(1025), 0}), emulated::Misuse);
  EXPECT_THROW(run_now(nothing, Launch{dim3(1, 1 << 16), dim3(1), 0}), emulated::Misuse);
  EXPECT_THROW(run_now(nothing, Launch{dim3(1), dim3(1), (48 << 10) + 1}), emulated::Misuse);
}

void __launch_bounds__(64) at_most_64() {}
constexpr int times_32(int warps) { return 32 * warps; }
template <int kWarps>
void __launch_bounds__(times_32(kWarps), 2) at_most_warps() {}

TEST(Emulator, EnforcesLaunchBounds) {
#if defined(__clang__)
  GTEST_SKIP() << "Clang's attribute cannot hold them";
#endif
  const auto check = [](void (*kernel)(), unsigned most) {
    EXPECT_NO_THROW(run_now(kernel, Launch{dim3(1), dim3(most), 0})) << most;
    EXPECT_NO_THROW(run_now(kernel, Launch{dim3(1), dim3(1, most), 0})) << most;
    EXPECT_THROW(run_now(kernel, Launch{dim3(1), dim3(most + 1), 0}), emulated::Misuse) << most;
    EXPECT_THROW(run_now(kernel, Launch{dim3(1), dim3(most / 2 + 1, 2), 0}), emulated::Misuse) << most;
  };
  check(nothing, 1024);
  check(at_most_64, 64);
  check(at_most_warps<1>, 32);
  check(at_most_warps<12>, 384);
  check(at_most_warps<32>, 1024);
}

TEST(Emulator, CountsParametersAsTheDeviceDoes) {
  struct Odd {
    char bytes[5];
  };
  EXPECT_EQ((parameter_bytes<>()), 0U);
  EXPECT_EQ((parameter_bytes<char, double, char, int>()), 24U);
  EXPECT_EQ((parameter_bytes<double, Odd, Odd>()), 18U);
}

/// One product of 16 x 16 and 16 x 8 elements. a: row-major; b: row-major if kTransposed, else column-major.
template <bool kTransposed>
void multiply_tiles(const Half* a, const Half* b, float* c) {
  alignas(16) __shared__ Half left[16][16], right[16][16];
  const int lane = static_cast<int>(threadIdx.x);
  copy_async(&left[lane / 2][lane % 2 * 8], a + 8 * lane, true);
  copy_async(&right[lane / 2][lane % 2 * 8], b + 8 * lane, kTransposed || lane < 16);
  commit_copies();
  wait_for_copies<0>();
  __syncwarp();
  uint32_t of_a[4], of_b[4];
  load_matrices(of_a, &left[lane % 16][lane / 16 * 8]);
  float sums[4] = {1, 1, 1, 1};
  if (kTransposed) {
    load_matrices_transposed(of_b, &right[lane % 16][lane / 16 * 8]);
  } else {
    load_matrices(of_b, &right[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]);
  }
  multiply_add<Half>(sums, of_a, of_b[0], of_b[1]);
  for (int e = 0; e < 4; ++e) c[(lane / 4 + e / 2 * 8) * 8 + lane % 4 * 2 + e % 2] = sums[e];
}

TEST(Emulator, MultipliesMatricesAsTensorCoresDo) {
  if (!is_bf16_supported()) GTEST_SKIP() << "the device lacks these instructions";
  std::vector<Half> a(256), b(256);
  for (size_t i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5);
  }
  for (const bool transposed : {false, true}) {
    std::vector<float> c(128), expected(128, 1);
    for (size_t i = 0; i < 16; ++i) {
      for (size_t j = 0; j < 8; ++j) {
        for (size_t k = 0; k < 16; ++k) {
          expected[8 * i + j] += a[16 * i + k] * (transposed ? b[16 * k + j] : b[16 * j + k]);
        }
      }
    }
    const auto kernel = transposed ? multiply_tiles<true> : multiply_tiles<false>;
    run_now(kernel, Launch{dim3(1), dim3(32), 0}, a.data(), b.data(), c.data());
    EXPECT_EQ(c, expected);
  }
}

void read_before_the_copy(const float* from, float* to) {
  alignas(16) __shared__ float values[4];
  copy_async(values, from, true);
  commit_copies();
  wait_for_copies<1>();  // of the groups before
  to[0] = values[0];
  wait_for_copies<0>();
  to[1] = values[0];
}
void unfinished_copy(const float* from) {
  alignas(16) __shared__ float values[4];
  copy_async(values, from, true);
}

TEST(Emulator, AsynchronousCopiesArriveWhenTheThreadWaits) {
  if (!is_bf16_supported()) GTEST_SKIP() << "the device lacks these instructions";
  alignas(16) const float from[4] = {1, 2, 3, 4};
  float to[2];
  const Launch one{dim3(1), dim3(1), 0};
  run_now(read_before_the_copy, one, +from, +to);
  EXPECT_TRUE(std::isnan(to[0]));
  EXPECT_EQ(to[1], 1);
  EXPECT_THROW(run_now(unfinished_copy, one, +from), emulated::Misuse);
  EXPECT_THROW(run_now(read_before_the_copy, one, from + 1, +to), emulated::Misuse) << "not aligned";
}

void trap_in_the_middle() {
  __syncthreads();
  if (threadIdx.x == 7) __trap();
  __syncthreads();
}

TEST(Emulator, TrapEndsTheLaunch) {
  EXPECT_THROW(run_now(trap_in_the_middle, Launch{}), emulated::Trap);
  std::vector<int> visits(256);
  run_now(visit, Launch{}, visits.data());
  EXPECT_EQ(visits, std::vector<int>(256, 1)) << "the next launch works";
}

}  // namespace
}  // namespace tandem::cuda
