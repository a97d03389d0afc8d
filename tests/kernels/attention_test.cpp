// attention and its backward against plain loops in f64, over the borders of the blocks in which they work.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/simd/attention.h"
#include "kernels/kernels_under_test.h"
#include "kernels/layouts.h"
#include "support/simd_levels.h"
#include "support/tolerance.h"
#include "tandem/math/philox.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class AttentionKernel : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(AttentionKernel);

struct Sizes {
  int64_t batches = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  bool causal = false;
  double dropout = 0;
  double gradient = 1;   ///< factor of gy
  double magnitude = 1;  ///< factor of q and k
  enum { no_mask, boolean, floating } mask = no_mask;
  double level = 0;  ///< unless 0, every entry of the floating mask
};

constexpr double kScale = 0.75;
constexpr PhiloxState kState{.seed = 5, .offset = 3};

/// Operands, results and expected results of one call.
struct Call {
  Call(const Sizes& s, DType dtype, MemoryLayout layout) : s(s), dtype(dtype) {
    const Dims q{s.batches, s.heads, s.queries, s.width}, k{s.batches, s.key_heads, s.keys, s.width};
    const Dims v{s.batches, s.key_heads, s.keys, s.value_width}, y{s.batches, s.heads, s.queries, s.value_width};
    call.q = noise(q, dtype, 1, layout);
    call.k = noise(k, dtype, 2, layout);
    call.v = noise(v, dtype, 3, layout);
    for (const Tensor& x : {call.q, call.k}) multiply(x, s.magnitude);
    call.y = unwritten(y, dtype, layout);
    gy = noise(y, dtype, 4, layout);
    multiply(gy, s.gradient);
    gq = unwritten(q, dtype, layout);
    gk = unwritten(k, wide(dtype), layout);
    gv = unwritten(v, dtype, layout);
    call.max = unwritten({s.batches, s.heads, s.queries}, wide(dtype));
    call.log_sum = unwritten({s.batches, s.heads, s.queries}, wide(dtype));
    if (s.mask != Sizes::no_mask) {
      const Dims weights{s.batches, s.heads, s.queries, s.keys};
      call.mask = unwritten(weights, s.mask == Sizes::boolean ? kBool : wide(dtype), layout);
      Values values = random_values(call.mask.numel(), 5);
      for (double& value : values) value = s.mask == Sizes::boolean ? value > 0 : s.level != 0 ? s.level : value;
      write(call.mask, values);
    }
    call.scale = kScale;
    call.causal = s.causal;
    call.dropout = s.dropout;
    call.state = kState;
    compute();
  }

  void run() const {
    under_test().attention(call);
    under_test().attention_backward(call, gq, gk, gv, gy);
  }
  void check(const std::string& what) const {
    // The backward pass reads y, which is rounded to the dtype.
    auto expect = [&](const Tensor& actual, const Values& expected, int64_t terms, int roundings, const char* which) {
      double scale = 1;
      for (double e : expected) scale = std::max(scale, std::abs(e));
      EXPECT_TRUE(near(actual, expected, tolerance(actual.dtype(), terms, roundings, scale))) << what << ' ' << which;
    };
    const int64_t terms = s.keys + s.width + s.value_width;
    // Products of 16-bit operands round the weights too: on the CPU those of bf16.
    const bool rounds_weights = dtype == kBFloat16 || call.y.is_cuda();
    expect(call.y, want_y, terms, rounds_weights ? 2 : 1, "y");
    expect(call.log_sum, want_log_sum, terms, 1, "log_sum");
    const double rounded_y = unit_roundoff(dtype) * static_cast<double>(s.value_width);
    auto expect_gradient = [&](const Tensor& actual, const Values& expected, int64_t sums, const char* which) {
      double scale = 1;
      for (double e : expected) scale = std::max(scale, std::abs(e));
      Tolerance t = tolerance(actual.dtype(), terms + sums, 2, scale);
      t.atol += rounded_y;
      EXPECT_TRUE(near(actual, expected, t)) << what << ' ' << which;
    };
    expect_gradient(gq, want_gq, s.keys, "gq");
    expect_gradient(gk, want_gk, s.queries * s.heads / s.key_heads, "gk");
    expect_gradient(gv, want_gv, s.queries * s.heads / s.key_heads, "gv");
  }

  void check_forward() const {
    under_test().attention(call);
    EXPECT_TRUE(near(call.y, want_y, Tolerance{0, 8 * unit_roundoff(dtype)})) << name(dtype) << ' ' << s.magnitude;
    EXPECT_TRUE(near(call.log_sum, want_log_sum, Tolerance{1e-6, 0})) << name(dtype) << ' ' << s.magnitude;
  }

  void check_gradient_of_keys() const {
    double scale = 0;
    for (double e : want_gk) scale = std::max(scale, std::abs(e));
    EXPECT_TRUE(near(gk, want_gk, Tolerance{0, 8 * unit_roundoff(dtype) * scale})) << name(dtype) << ' ' << s.gradient;
  }

  Sizes s;
  DType dtype;
  AttentionCall call;
  Tensor gy, gq, gk, gv;

 private:
  static void multiply(const Tensor& x, double factor) {
    if (factor == 1) return;
    Values values = read(x);
    for (double& value : values) value *= factor;
    write(x, values);
  }

  void compute() {
    const Values q = read(call.q), k = read(call.k), v = read(call.v), g = read(gy);
    const Values mask = call.mask.defined() ? read(call.mask) : Values();
    want_y.assign(read(call.y).size(), 0);
    want_gq.assign(q.size(), 0);
    want_gk.assign(k.size(), 0);
    want_gv.assign(v.size(), 0);
    const size_t L = static_cast<size_t>(s.queries), S = static_cast<size_t>(s.keys), E = static_cast<size_t>(s.width);
    const size_t V = static_cast<size_t>(s.value_width), group = static_cast<size_t>(s.heads / s.key_heads);
    for (size_t row = 0; row < static_cast<size_t>(s.batches * s.heads) * L; ++row) {
      const size_t head = row / L, i = row % L, keys = head / group * S;  // heads of a group are next to each other
      Values p(S), drop(S), dp(S);
      double total = 0, dot = 0;
      for (size_t j = 0; j < S; ++j) {
        double score = 0;
        for (size_t e = 0; e < E; ++e) score += q[row * E + e] * k[(keys + j) * E + e];
        score *= kScale;
        if (s.mask == Sizes::floating) score += mask[row * S + j];
        // A large mask absorbs the product.
        if (s.level != 0 && dtype != kDouble) score = static_cast<double>(static_cast<float>(score));
        const bool masked = (s.mask == Sizes::boolean && mask[row * S + j] == 0) || (s.causal && j > i);
        p[j] = masked ? -std::numeric_limits<double>::infinity() : score;
        const uint64_t element = row * ((S + 3) / 4 * 4) + j;
        const uint32_t lane = math::philox(kState.seed, kState.offset + element / 4, 0).lane[element % 4];
        drop[j] = s.dropout == 0                                             ? 1
                  : math::uniform_f32(lane) >= static_cast<float>(s.dropout) ? 1 / (1 - s.dropout)
                                                                             : 0;
      }
      const double max = *std::max_element(p.begin(), p.end());
      for (double& weight : p) total += weight = std::isinf(max) ? 0 : std::exp(weight - max);
      want_log_sum.push_back(total == 0 ? std::numeric_limits<double>::infinity() : std::log(total));
      for (size_t j = 0; j < S; ++j) {
        p[j] = total == 0 ? 0 : p[j] / total;
        for (size_t c = 0; c < V; ++c) {
          want_y[row * V + c] += p[j] * drop[j] * v[(keys + j) * V + c];
          want_gv[(keys + j) * V + c] += p[j] * drop[j] * g[row * V + c];
          dp[j] += drop[j] * g[row * V + c] * v[(keys + j) * V + c];
        }
        dot += p[j] * dp[j];
      }
      for (size_t j = 0; j < S; ++j) {
        const double slope = p[j] * (dp[j] - dot) * kScale;
        for (size_t e = 0; e < E; ++e) {
          want_gq[row * E + e] += slope * k[(keys + j) * E + e];
          want_gk[(keys + j) * E + e] += slope * q[row * E + e];
        }
      }
    }
  }

  Values want_y, want_log_sum, want_gq, want_gk, want_gv;
};

void check(const Sizes& s, DType dtype = kFloat, MemoryLayout layout = MemoryLayout::contiguous) {
  const Call call(s, dtype, layout);
  call.run();
  call.check(std::string(name(dtype)) + " " + name(layout) + " " + std::to_string(s.heads) + " heads, " +
             std::to_string(s.queries) + " x " + std::to_string(s.keys) + ", widths " + std::to_string(s.width) + ", " +
             std::to_string(s.value_width));
}

TEST_P(AttentionKernel, MatchesLoopsInEveryDtype) {
  for (DType dtype : kFloatingTypes) {
    check({.batches = 2, .heads = 2, .key_heads = 2, .queries = 5, .keys = 7, .width = 3, .value_width = 4}, dtype);
    check({.heads = 4, .key_heads = 2, .queries = 19, .keys = 33, .width = 17, .value_width = 16}, dtype);
  }
}

TEST_P(AttentionKernel, MatchesLoopsAtTheBordersOfBlocks) {
  for (int64_t queries : {1, 95, 97}) {
    for (int64_t keys : {1, 255, 257}) {
      check({.queries = queries, .keys = keys, .width = 4, .value_width = 5});
      check({.queries = queries, .keys = keys, .width = 4, .value_width = 5, .causal = true});
    }
  }
  check({.queries = 481, .keys = 513, .width = 2, .value_width = 3, .causal = true});
  check({.queries = 20, .keys = 20, .width = 130, .value_width = 140});
}

TEST_P(AttentionKernel, MatchesLoopsOverSeveralTilesOf16BitOperands) {
  for (DType dtype : {kHalf, kBFloat16}) {
    check({.heads = 2, .key_heads = 1, .queries = 70, .keys = 131, .width = 64, .value_width = 40}, dtype);
    check({.queries = 131, .keys = 131, .width = 24, .value_width = 64, .causal = true, .dropout = 0.25}, dtype);
    check({.queries = 33, .keys = 70, .width = 128, .value_width = 72, .causal = true}, dtype, MemoryLayout::sliced);
    check({.queries = 70, .keys = 33, .width = 50, .value_width = 100}, dtype);
    check({.queries = 40, .keys = 50, .width = 300, .value_width = 270}, dtype);  // more words than are packed at once
  }
}

TEST_P(AttentionKernel, GradientsOfScoresMayLeaveTheRangeOfTheDtype) {
  for (DType dtype : {kHalf, kBFloat16}) {
    for (double gradient : {0x1p-16, 0x1p14}) {
      const Call call(
          {.heads = 2, .key_heads = 1, .queries = 40, .keys = 70, .width = 16, .value_width = 64, .gradient = gradient},
          dtype, MemoryLayout::contiguous);
      call.run();
      call.check_gradient_of_keys();
    }
  }
}

// Scores so far from each other that all weight is on the largest one.
TEST_P(AttentionKernel, HugeScores) {
  for (DType dtype : {kFloat, kBFloat16}) {
    for (double magnitude : {3e4, 1e9}) {
      const Sizes s{.queries = 70, .keys = 300, .width = 64, .value_width = 16, .magnitude = magnitude};
      Call(s, dtype, MemoryLayout::contiguous).check_forward();
    }
  }
}

TEST_P(AttentionKernel, Masks) {
  for (auto mask : {Sizes::boolean, Sizes::floating}) {
    for (DType dtype : {kFloat, kHalf, kDouble}) {
      Sizes s{.batches = 2, .heads = 2, .key_heads = 1, .queries = 9, .keys = 11, .width = 3, .value_width = 2};
      s.mask = mask;
      check(s, dtype);
      check(s, dtype, MemoryLayout::sliced);
    }
  }
}

// The mask absorbs the scores, and their maximum would absorb the logarithm of the sum.
TEST_P(AttentionKernel, LargeFiniteMasksKeepTheWeights) {
  for (DType dtype : kFloatingTypes) {
    for (double level : {-1e9, -static_cast<double>(std::numeric_limits<float>::max())}) {
      Sizes s{.heads = 2, .key_heads = 1, .queries = 9, .keys = 300, .width = 8, .value_width = 16};
      s.mask = Sizes::floating;
      s.level = level;
      check(s, dtype);
    }
  }
}

TEST_P(AttentionKernel, FullyMaskedRowsGiveZeros) {
  Sizes s{.queries = 3, .keys = 2, .width = 2, .value_width = 2};
  s.mask = Sizes::floating;
  const Call call(s, kFloat, MemoryLayout::contiguous);
  write(call.call.mask, Values(6, -std::numeric_limits<double>::infinity()));
  call.run();
  EXPECT_EQ(read(call.call.y), Values(6));
  EXPECT_EQ(read(call.gq), Values(6));
  EXPECT_EQ(read(call.gk), Values(4));
  EXPECT_EQ(read(call.gv), Values(4));
}

TEST_P(AttentionKernel, DropoutUsesThePhiloxStream) {
  for (int64_t keys : {6, 259}) {
    check({.batches = 2,
           .heads = 2,
           .key_heads = 2,
           .queries = 5,
           .keys = keys,
           .width = 3,
           .value_width = 4,
           .dropout = 0.25});
  }
}

TEST_P(AttentionKernel, RowsWithGaps) {
  const Sizes s{.batches = 2, .heads = 2, .key_heads = 2, .queries = 5, .keys = 7, .width = 3, .value_width = 4};
  for (DType dtype : {kFloat, kBFloat16}) check(s, dtype, MemoryLayout::sliced);
}

// The exponential of bf16 weights, through the sum of a row with one weight.
TEST_P(AttentionKernel, WeightsOfBf16) {
  const cpu::AttentionBf16Table& steps = cpu::attention_tables().bf16;
  if (!steps.exp_and_sum || !cpu::simd_multiplies_bf16()) GTEST_SKIP() << "no bf16 products at this level";
  constexpr float kInf = std::numeric_limits<float>::infinity(), kFactor = 0.37f;
  const auto weight = [&](float score, float max, BFloat16& rounded) {
    const float row[2] = {score, -kInf};
    uint16_t bits[2];
    const float sum = steps.exp_and_sum(bits, row, 2, kFactor, max);
    EXPECT_EQ(bits[1], 0);
    rounded = BFloat16::from_bits(bits[0]);
    return sum;
  };
  BFloat16 rounded;
  for (float score = -232; score < 1; score += 0.0117f) {
    const double x = static_cast<double>(kFactor) * static_cast<double>(score), want = std::exp(x);
    const float sum = weight(score, 0, rounded);
    // The argument is rounded twice, the formula adds 1.5e-7.
    EXPECT_NEAR(sum, want, want * (1.5e-7 + std::abs(x) * 0x1p-23)) << score;
    EXPECT_EQ(rounded.bits, BFloat16(sum).bits) << score;
    EXPECT_NEAR(weight(score + 50 / kFactor, 50, rounded), want, want * (1.5e-7 + (100 + std::abs(x)) * 0x1p-23));
  }
  for (const float score : {0.0f, 1e4f, -3e5f, 2.5e6f}) {  // the largest score of a row
    EXPECT_NEAR(weight(score, kFactor * score, rounded), 1, 1.5e-7 + std::abs(score) * kFactor * 0x1p-23) << score;
  }
  EXPECT_EQ(weight(-300, 0, rounded), 0);
  EXPECT_EQ(weight(-kInf, 0, rounded), 0);
  EXPECT_EQ(weight(-3e38f, 3e38f, rounded), 0);
  EXPECT_TRUE(std::isnan(weight(std::numeric_limits<float>::quiet_NaN(), 0, rounded)));
  EXPECT_TRUE(std::isnan(static_cast<float>(rounded)));
}

TEST_P(AttentionKernel, DoesNotDependOnTheNumberOfThreads) {
  const Sizes s{.heads = 3, .key_heads = 3, .queries = 500, .keys = 300, .width = 4, .value_width = 4};
  const int threads = get_num_threads();
  const Call one(s, kFloat, MemoryLayout::contiguous), two(s, kFloat, MemoryLayout::contiguous);
  set_num_threads(1);
  one.run();
  set_num_threads(2);
  two.run();
  set_num_threads(threads);
  for (auto result : {&Call::gq, &Call::gk, &Call::gv}) EXPECT_EQ(read(one.*result), read(two.*result));
  EXPECT_EQ(read(one.call.y), read(two.call.y));
}

}  // namespace
}  // namespace tandem
