// adam with moments in bf16 and e4m3fn: equal to f32 moments that are rounded by a plain model after each step.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/kernels_under_test.h"
#include "kernels/parameter_lists.h"
#include "support/simd_levels.h"
#include "tandem/math/optim_state.h"
#include "tandem/math/philox.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class OptimStates : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(OptimStates);

// ---- the model, written from the documentation of math/optim_state.h

/// The 16 random bits of element i in step t, in the upper half.
uint32_t random_of(int t, size_t i) {
  const size_t block = i / 128, element = i % 128, counter = 16 * block + element % 64 / 4;
  const uint32_t lane = math::philox(static_cast<uint64_t>(t), counter, 2).lane[element % 4];
  return element < 64 ? lane << 16 : lane >> 16 << 16;
}

/// Rounds x to one of the neighbours of |x|: away from 0 with the probability of the part that is lost.
double rounded(double x, double below, double above, uint32_t random) {
  const double part = above == below ? 0 : (std::abs(x) - below) / (above - below);
  return std::copysign(random * 0x1p-32 + part >= 1 ? above : below, x);
}

double round_to_bf16(double x, uint32_t random) {
  if (x == 0) return x;
  const double step = std::exp2(std::max(std::floor(std::log2(std::abs(x))), -126.0) - 7);
  const double below = std::floor(std::abs(x) / step) * step;
  return rounded(x, below, below + step, random);
}

/// The scale of a block and its values as multiples of it.
void round_block(Values& x, double& inverse, size_t begin, size_t end, int t) {
  double amax = 0;
  for (size_t i = begin; i < end; ++i) amax = std::max(amax, std::abs(x[i]));
  inverse = 1;
  if (amax > 0) {
    while (amax / inverse > 448) inverse *= 2;
    while (amax / inverse * 2 <= 448) inverse /= 2;
  }
  Values grid;
  for (int code = 0; code <= 126; ++code) {
    grid.push_back(static_cast<double>(static_cast<float>(Float8_e4m3fn::from_bits(static_cast<uint8_t>(code)))));
  }
  for (size_t i = begin; i < end; ++i) {
    const double magnitude = std::abs(x[i]) / inverse;
    const auto above = std::upper_bound(grid.begin(), grid.end(), magnitude);
    const double high = above == grid.end() ? grid.back() : *above;
    x[i] = rounded(x[i] / inverse, *(above - 1), high, random_of(t, i)) * inverse;
  }
}

/// Rounds a moment; `inverse` receives the inverse scales of e4m3fn.
void round_moment(Values& x, DType dtype, int t, Values& inverse) {
  if (dtype == kBFloat16) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = round_to_bf16(x[i], random_of(t, i));
  }
  if (dtype != kFloat8_e4m3fn) return;
  for (size_t begin = 0, block = 0; begin < x.size(); begin += 128, ++block) {
    round_block(x, inverse[block], begin, std::min(begin + 128, x.size()), t);
  }
}

// ---- lists of parameters

const std::vector<int64_t> kStateSizes = {1, 43, 128, 700, 1500};  // a third of the elements

struct StateCase {
  DType first, second, param;
  bool shadow, amsgrad;
};
const StateCase kStateCases[] = {{kFloat8_e4m3fn, kBFloat16, kFloat, true, false},
                                 {kFloat8_e4m3fn, kFloat, kBFloat16, false, true},
                                 {kBFloat16, kBFloat16, kFloat, false, true},
                                 {kFloat, kBFloat16, kHalf, false, false},
                                 {kBFloat16, kFloat, kFloat, true, false}};

Tensor zero(const Tensor& t) {
  write(t, Values(static_cast<size_t>(t.numel()), 0));
  return t;
}

AdamCall make_call(const StateCase& c, ListLayout layout, const std::vector<int64_t>& sizes = kStateSizes) {
  AdamCall call;
  call.lr = 0.01;
  call.beta1 = 0.9;
  call.beta2 = 0.99;
  call.eps = 1e-8;
  call.amsgrad = c.amsgrad;
  const bool t = layout == ListLayout::transposed;
  for (const int64_t n : sizes) {
    call.params.push_back(list_tensor(n, c.param, t));
    write(call.params.back(), random_values(3 * n, static_cast<uint32_t>(n)));
    call.grads.push_back(list_gradient(n, kFloat, layout));
    call.shadows.push_back(c.shadow ? list_tensor(n, kBFloat16, t) : Tensor());
    // Moments of the compute type have the parameter's strides, others are contiguous.
    call.exp_avgs.push_back(zero(list_tensor(n, c.first, t && c.first == kFloat)));
    call.exp_avg_scales.push_back(c.first == kFloat8_e4m3fn ? zero(empty({(3 * n + 127) / 128}, kFloat)) : Tensor());
    call.exp_avg_sqs.push_back(zero(list_tensor(n, c.second, t && c.second == kFloat)));
    if (c.amsgrad) call.max_exp_avg_sqs.push_back(zero(list_tensor(n, c.second, t && c.second == kFloat)));
    call.steps.push_back(scalar_of(0));
  }
  return call;
}

Values widened(const Tensor& moment, const Tensor& inverse) {
  Values x = read(moment);
  if (!inverse.defined() || moment.dtype() != kFloat8_e4m3fn) return x;
  const Values scales = read(inverse);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= scales[i / 128];
  return x;
}

TEST_P(OptimStates, EqualF32MomentsThatAreRoundedAfterEachStep) {
  for (const StateCase& c : kStateCases) {
    for (ListLayout layout : {ListLayout::contiguous, ListLayout::transposed, ListLayout::strided_grad}) {
      AdamCall call = make_call(c, layout);
      AdamCall model = make_call({kFloat, kFloat, c.param, c.shadow, c.amsgrad}, layout);
      for (int t = 1; t <= 4; ++t) {
        for (size_t k = 0; k < call.params.size(); ++k) {
          // Magnitudes from 1e-6 to 1, so that some codes of a block are subnormal, and some 0.
          Values g = random_values(call.params[k].numel(), static_cast<uint32_t>(100 * t) + static_cast<uint32_t>(k));
          for (size_t i = 0; i < g.size(); ++i) g[i] *= std::pow(10, -static_cast<double>(i % 7));
          write(call.grads[k], g);
          write(model.grads[k], g);
        }
        under_test().adam(call);
        under_test().adam(model);
        for (size_t k = 0; k < call.params.size(); ++k) {
          ASSERT_EQ(read(call.params[k]), read(model.params[k])) << "step " << t << " of " << k;
          if (c.shadow) {
            ASSERT_EQ(read(call.shadows[k]), read(model.shadows[k]));
          }
          const auto expect_rounded = [&](const Tensor& f32, const Tensor& own, DType dtype) {
            Values x = read(f32), inverse;
            if (dtype == kFloat8_e4m3fn) inverse = read(call.exp_avg_scales[k]);
            const Values scales = inverse;
            round_moment(x, dtype, t, inverse);
            EXPECT_EQ(inverse, scales);
            ASSERT_EQ(widened(own, call.exp_avg_scales[k]), x) << name(dtype) << " step " << t << " of " << k;
            write(f32, x);
          };
          expect_rounded(model.exp_avgs[k], call.exp_avgs[k], c.first);
          expect_rounded(model.exp_avg_sqs[k], call.exp_avg_sqs[k], c.second);
          if (c.amsgrad) expect_rounded(model.max_exp_avg_sqs[k], call.max_exp_avg_sqs[k], c.second);
        }
      }
    }
  }
}

std::vector<std::vector<char>> snapshot(const AdamCall& call) {
  std::vector<std::vector<char>> all;
  for (const auto* list : {&call.params, &call.shadows, &call.exp_avgs, &call.exp_avg_scales, &call.exp_avg_sqs,
                           &call.max_exp_avg_sqs, &call.steps}) {
    for (const Tensor& t : *list) all.push_back(t.defined() ? bytes_of(t) : std::vector<char>());
  }
  return all;
}

TEST_P(OptimStates, OverflowChangesNoByte) {
  for (const StateCase& c : kStateCases) {
    AdamCall call = make_call(c, ListLayout::contiguous);
    for (const Tensor& g : call.grads) write(g, random_values(g.numel(), 3));
    under_test().adam(call);
    call.scaling = {scalar_of(0.5), scalar_of(1)};
    const auto before = snapshot(call);
    under_test().adam(call);
    EXPECT_EQ(snapshot(call), before);
  }
}

TEST_P(OptimStates, DoNotDependOnThreads) {
  const int threads = get_num_threads();
  std::vector<std::vector<char>> results[2];
  for (int run = 0; run < 2; ++run) {
    set_num_threads(run == 0 ? 1 : 3);
    AdamCall call = make_call(kStateCases[0], ListLayout::contiguous, {40001, 33, 0, 20000});
    for (const Tensor& g : call.grads) write(g, random_values(g.numel(), 5));
    for (int t = 0; t < 2; ++t) under_test().adam(call);
    results[run] = snapshot(call);
  }
  set_num_threads(threads);
  EXPECT_EQ(results[0], results[1]);
}

// A gradient of 0 shrinks the second moment by 1/1000, a quarter of the step between bf16 numbers at most. Rounded to
// nearest, it would stay as it is.
TEST_P(OptimStates, ChangesBelowHalfAUnitInTheLastPlaceAccumulate) {
  AdamCall call = make_call(kStateCases[0], ListLayout::contiguous, {2000});
  call.beta2 = 0.999;
  write(call.exp_avg_sqs[0], Values(6000, 1));
  write(call.grads[0], Values(6000, 0));
  for (int t = 0; t < 100; ++t) under_test().adam(call);
  double sum = 0;
  for (const double v : read(call.exp_avg_sqs[0])) sum += v;
  EXPECT_NEAR(sum / 6000, std::pow(0.999, 100), 0.003);
}

TEST_P(OptimStates, InfAndNaNStayWhereTheyAre) {
  AdamCall call = make_call(kStateCases[0], ListLayout::contiguous, {100});
  Values g(300, 0.5);
  g[3] = std::numeric_limits<double>::infinity();
  g[140] = NAN;
  write(call.grads[0], g);
  under_test().adam(call);
  const Values m = widened(call.exp_avgs[0], call.exp_avg_scales[0]), v = read(call.exp_avg_sqs[0]);
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(std::isfinite(m[i]), i != 3 && i != 140) << i;
    EXPECT_EQ(std::isfinite(v[i]), i != 3 && i != 140) << i;
  }
}

TEST_P(OptimStates, EmptyTensors) {
  AdamCall call = make_call(kStateCases[0], ListLayout::contiguous, {0});
  under_test().adam(call);
  EXPECT_EQ(read(call.steps[0])[0], 1);
}

}  // namespace
}  // namespace tandem
