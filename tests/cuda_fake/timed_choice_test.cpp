// cuda::set_autotune and cuda::set_benchmark with the fakes: invented times decide which algorithm is kept. Also when
// no algorithm may be measured.
#include <gtest/gtest.h>

#include "cuda_fake/fake_driver.h"
#include "cuda_fake/fake_vendors.h"
#include "support/throws.h"
#include "tandem/backend.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/cuda/memory.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

using tandem::testing::mismatch;

/// Restores the fakes and switches after each test. Plans live as long as the process, so each test uses other sizes.
class TimedChoice : public ::testing::Test {
 protected:
  ~TimedChoice() override {
    vendors() = {};
    set_launch_time(0);
    set_capturing(false);
    set_autotune(false);
    set_benchmark(false);
    set_deterministic(false);
  }
  /// Returns the algorithm of the single product that `run` makes; fails if it waits or makes more.
  template <class F>
  size_t algorithm_of(F&& run) {
    vendors().products.clear();
    Calls::instance().reset();
    run();
    EXPECT_EQ(vendors().products.size(), 1U);
    EXPECT_EQ(Calls::instance().waits(), 0);
    return vendors().products.back().algorithm;
  }
  template <class F>
  size_t engine_of(F&& run) {
    vendors().convolutions.clear();
    Calls::instance().reset();
    run();
    EXPECT_EQ(vendors().convolutions.size(), 1U);
    EXPECT_EQ(Calls::instance().waits(), 0);
    return vendors().convolutions.back().engine;
  }
};

Tensor half(IntArrayRef sizes) { return empty(sizes, TensorOptions(kHalf).device(kCUDA)); }

TEST_F(TimedChoice, KeepsTheFastestWhileEnabled) {
  vendors().algorithms = {3, 1, 2};
  const Tensor a = half({64, 65}), b = half({65, 66});
  const auto product = [&] { mm(a, b); };
  EXPECT_EQ(algorithm_of(product), 0U) << "disabled: the heuristic's first choice";
  set_autotune(true);
  product();
  EXPECT_GT(Calls::instance().waits(), 0);
  EXPECT_EQ(algorithm_of(product), 1U);
  vendors().algorithms = {1, 2, 3};
  EXPECT_EQ(algorithm_of(product), 1U) << "timed once";
  set_autotune(false);
  EXPECT_EQ(algorithm_of(product), 0U);
  set_autotune(true);
  EXPECT_EQ(algorithm_of(product), 1U) << "not timed again";
}

TEST_F(TimedChoice, ComparesMediansAndPrefersTheFirst) {
  vendors().algorithms = {2, 2, 5};
  const Tensor a = half({64, 67}), b = half({67, 66});
  set_autotune(true);
  mm(a, b);
  const size_t runs = vendors().products.size();
  EXPECT_EQ(runs, 3 * 6 + 1U) << "one to warm up and five timed, for each of three; then the product itself";
  EXPECT_EQ(algorithm_of([&] { mm(a, b); }), 0U);
}

TEST_F(TimedChoice, SkipsFailingAlgorithms) {
  vendors().algorithms = {-1, 3, 2};
  const Tensor a = half({64, 68}), b = half({68, 66});
  set_autotune(true);
  mm(a, b);
  EXPECT_EQ(algorithm_of([&] { mm(a, b); }), 2U);
  vendors().algorithms = {-1, -1};
  const Tensor c = half({64, 69}), d = half({69, 66});
  EXPECT_THROWS(mm(c, d), BackendError, "mm: ", "cublasLtMatmul", "f16");
}

TEST_F(TimedChoice, AccumulatesIntoTheDestinationOnce) {
  vendors().algorithms = {2, 1};
  const Tensor a = half({64, 70}), b = half({70, 66});
  const Tensor d = empty({64, 66}, TensorOptions(kFloat).device(kCUDA));
  set_autotune(true);
  backend(kCUDA).gemm({.d = d, .a = a, .b = b, .bias = {}, .accumulate = true});
  ASSERT_GT(vendors().products.size(), 2U);
  for (size_t i = 0; i < vendors().products.size(); ++i) {
    const Vendors::Product& p = vendors().products[i];
    EXPECT_EQ(p.beta, 1);
    EXPECT_EQ(p.d == d.raw_bytes(), i + 1 == vendors().products.size()) << i;
  }
}

TEST_F(TimedChoice, UsesTheHeuristicWithoutMemoryForTrials) {
  vendors().algorithms = {2, 1};
  const Tensor a = half({1024, 70}), b = half({70, 4096});
  const Tensor d = empty({1024, 4096}, TensorOptions(kFloat).device(kCUDA));
  empty_cache();
  set_autotune(true);
  fail_next("cudaMalloc", cudaErrorMemoryAllocation, 2);  // fails again after the cache has been emptied
  EXPECT_EQ(algorithm_of([&] { backend(kCUDA).gemm({.d = d, .a = a, .b = b, .bias = {}, .accumulate = true}); }), 0U);
  EXPECT_EQ(vendors().products.back().d, d.raw_bytes());
}

TEST_F(TimedChoice, TimesNothingDuringACapture) {
  vendors().algorithms = {3, 1};
  vendors().engines = {3, 1};
  const Tensor a = half({64, 71}), b = half({71, 66}), x = half({2, 8, 9, 9}), w = half({8, 8, 3, 3});
  set_autotune(true);
  set_benchmark(true);
  set_capturing(true);
  EXPECT_EQ(algorithm_of([&] { mm(a, b); }), 0U);
  EXPECT_EQ(engine_of([&] { conv2d(x, w); }), 0U);
  set_capturing(false);
  mm(a, b);
  conv2d(x, w);
  EXPECT_EQ(algorithm_of([&] { mm(a, b); }), 1U);
  EXPECT_EQ(engine_of([&] { conv2d(x, w); }), 1U);
  set_capturing(true);
  EXPECT_EQ(algorithm_of([&] { mm(a, b); }), 1U) << "earlier timings are used in a capture too";
  EXPECT_EQ(engine_of([&] { conv2d(x, w); }), 1U);
}

TEST_F(TimedChoice, DeterministicModeTimesNothing) {
  vendors().algorithms = {3, 1};
  vendors().engines = {3, 1};
  const Tensor a = half({64, 72}), b = half({72, 66}), x = half({2, 8, 10, 9}), w = half({8, 8, 3, 3});
  set_autotune(true);
  set_benchmark(true);
  set_deterministic(true);
  EXPECT_EQ(algorithm_of([&] { mm(a, b); }), 0U);
  EXPECT_EQ(engine_of([&] { conv2d(x, w); }), 0U);
}

TEST_F(TimedChoice, ComparesFusedAndSeparateEpilogues) {
  const auto epilogue_of = [&](const Tensor& x, const Tensor& w, const Tensor& b) {
    linear(x, w, b);
    vendors().products.clear();
    linear(x, w, b);
    EXPECT_EQ(vendors().products.size(), 1U);
    return vendors().products.back().epilogue;
  };
  set_autotune(true);
  vendors().algorithms = {4, 3};
  set_launch_time(2);
  vendors().epilogue_time = 1;
  const Tensor bias = half({66});
  EXPECT_EQ(epilogue_of(half({64, 73}), half({66, 73}), bias), CUBLASLT_EPILOGUE_BIAS);
  vendors().epilogue_time = 100;
  EXPECT_EQ(epilogue_of(half({64, 74}), half({66, 74}), bias), CUBLASLT_EPILOGUE_DEFAULT) << "bias in its own kernel";
}

TEST_F(TimedChoice, AvoidsSplitKThatRoundsBeforeTheBias) {
  const auto reductions_of = [](auto&& run) {
    vendors().reductions = ~0u;
    run();
    return vendors().reductions;
  };
  const uint32_t all = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const Tensor x = half({64, 79}), w = half({66, 79}), bias = half({66});
  EXPECT_EQ(reductions_of([&] { mm(x, w.t()); }), all);
  EXPECT_EQ(reductions_of([&] { linear(x, w, bias); }), uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  const auto f32 = [](const Tensor& t) { return empty(t.sizes(), TensorOptions(kFloat).device(kCUDA)); };
  EXPECT_EQ(reductions_of([&] { linear(f32(x), f32(w), f32(bias)); }), all);
  EXPECT_EQ(reductions_of([&] {
              backend(kCUDA).linear_backward_weight(half({66, 79}), half({66}), half({64, 66}), x);
            }),
            all);
}

/// cuBLASLt is not told how a vector is aligned, and some of its kernels require 16 bytes.
TEST_F(TimedChoice, AlignsEpilogueVectors) {
  const Tensor x = half({64, 78}), w = half({66, 78}), gy = half({64, 66}), gw = half({66, 78});
  size_t fused = 0;
  for (const int64_t begin : {0, 1, 4, 8}) {
    vendors().products.clear();
    linear(x, w, half({80}).narrow(0, begin, 66));
    backend(kCUDA).linear_backward_weight(gw, half({80}).narrow(0, begin, 66), gy, x);
    EXPECT_EQ(vendors().products.size(), 2U);
    for (const Vendors::Product& p : vendors().products) {
      if (p.epilogue == CUBLASLT_EPILOGUE_DEFAULT) continue;
      ++fused;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p.vector) % 16, 0U) << begin;
    }
  }
  EXPECT_EQ(fused, 6U) << "a bias is copied; a bias gradient is summed separately";
}

TEST_F(TimedChoice, ComparesEnginesWithASeparateBias) {
  set_benchmark(true);
  vendors().engines = {3, 2, 4};
  const Tensor x = half({2, 8, 11, 9}), w = half({8, 8, 3, 3}), b = half({8});
  conv2d(x, w, b);
  EXPECT_EQ(engine_of([&] { conv2d(x, w, b); }), 1U);
}

TEST_F(TimedChoice, FusesReluOnlyIfItKeepsNaN) {
  Calls& calls = Calls::instance();
  for (const bool keeps : {false, true}) {
    vendors().relu_keeps_nan = keeps;
    const int64_t size = keeps ? 76 : 75;
    const Tensor x = half({64, size}), w = half({66, size}), b = half({66});
    const Tensor image = half({2, 8, size, 9}), kernel = half({8, 8, 3, 3}), bias = half({8});
    set_capturing(true);
    linear_relu(x, w, b);
    EXPECT_EQ(vendors().products.back().epilogue, CUBLASLT_EPILOGUE_BIAS) << "no trials during a capture";
    set_capturing(false);
    linear_relu(x, w, b);
    vendors().products.clear();
    calls.reset();
    linear_relu(x, w, b);
    ASSERT_EQ(vendors().products.size(), 1U);
    EXPECT_EQ(vendors().products[0].alpha, 1);
    EXPECT_EQ(vendors().products[0].epilogue, keeps ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS);
    EXPECT_EQ(calls.launches(), keeps ? 0 : 1);
    EXPECT_EQ(calls.waits(), 0) << calls.str();
  }
}

TEST_F(TimedChoice, AReluAfterAConvolutionIsALaunchOfItsOwn) {
  const Tensor x = half({2, 8, 75, 9}), w = half({8, 8, 3, 3}), b = half({8});
  conv2d_relu(x, w, b);
  Calls::instance().reset();
  conv2d_relu(x, w, b);
  EXPECT_EQ(Calls::instance()["cudnnBackendExecute"], 1);
  EXPECT_EQ(Calls::instance().launches(), 1);
}

TEST_F(TimedChoice, ReplacesAFailingCandidateForGood) {
  vendors().algorithms = {-1, -1, 2};
  vendors().engines = {-1, 3, 1};
  const Tensor a = half({64, 80}), b = half({80, 66}), x = half({2, 8, 12, 9}), w = half({8, 8, 3, 3});
  mm(a, b);
  conv2d(x, w);
  EXPECT_EQ(vendors().products.size(), 3U);
  EXPECT_EQ(vendors().convolutions.size(), 2U);
  EXPECT_EQ(algorithm_of([&] { mm(a, b); }), 2U);
  EXPECT_EQ(engine_of([&] { conv2d(x, w); }), 1U);
}

TEST_F(TimedChoice, AConvolutionWithoutAWorkingEngineNamesTheFailure) {
  vendors().engines = {-1};
  const Tensor x = half({2, 8, 13, 9}), w = half({8, 8, 3, 3});
  EXPECT_THROWS(conv2d(x, w), BackendError, "conv2d: ", "cudnnBackendExecute", "[2, 8, 13, 9]");
  vendors().engines = {1};
  EXPECT_EQ(engine_of([&] { conv2d(x, w); }), 0U) << "the failure is not kept";
}

TEST_F(TimedChoice, TakesACandidateWhoseWorkspaceFits) {
  vendors().algorithms = vendors().engines = {1, 1, 1};
  vendors().workspaces = {int64_t{1} << 29, int64_t{1} << 29, 1 << 20};
  const auto without_memory = [](auto&& run) {
    fail_next("cudaMalloc", cudaErrorMemoryAllocation, 2);  // fails again after the cache has been emptied
    run();
  };
  const Tensor a = half({64, 81}), b = half({81, 66}), x = half({2, 8, 14, 9}), w = half({8, 8, 3, 3});
  const Tensor product = half({64, 66}), y = half({2, 8, 12, 7});
  const auto multiply = [&] { backend(kCUDA).gemm({.d = product, .a = a, .b = b, .bias = {}}); };
  const auto convolve = [&] { backend(kCUDA).conv(y, x, w, {}, {}, Activation::none); };
  empty_cache();
  without_memory([&] { EXPECT_EQ(algorithm_of(multiply), 2U); });
  empty_cache();
  without_memory([&] { EXPECT_EQ(engine_of(convolve), 2U); });
  EXPECT_EQ(algorithm_of(multiply), 2U) << "kept";

  set_deterministic(true);
  const Tensor other = half({65, 81}), result = half({65, 66});
  empty_cache();
  without_memory([&] {
    EXPECT_THROWS(backend(kCUDA).gemm({.d = result, .a = other, .b = b, .bias = {}}), OutOfMemoryError,
                  "536870912 bytes");
  });
}

TEST_F(TimedChoice, PrefersTensorCoresWhereTheyPay) {
  vendors().engines = {1, 2, 3};
  vendors().tensor_core_engines = {1};
  const auto chosen = [&](int64_t channels, DType dtype) {
    const TensorOptions options = TensorOptions(dtype).device(kCUDA);
    return engine_of([&] { conv2d(empty({2, channels, 15, 9}, options), empty({8, channels, 3, 3}, options)); });
  };
  EXPECT_EQ(chosen(8, kHalf), 1U);
  EXPECT_EQ(chosen(3, kHalf), 0U) << "few channels: the heuristic's order";
  EXPECT_EQ(chosen(8, kFloat), 0U);
}

}  // namespace
}  // namespace tandem::cuda::testing
