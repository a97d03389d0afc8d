// cross_entropy and cross_entropy_backward against plain loops in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"
#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class CrossEntropyKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(CrossEntropyKernels);

constexpr int64_t kIgnored = -7;

/// Logits of [N, C, inner...] or [C] in row-major order, their targets and the class weights.
struct Problem {
  Dims sizes;
  Values x, target, weight;

  size_t dim() const { return sizes.size() > 1 ? 1 : 0; }
  size_t classes() const { return static_cast<size_t>(sizes[dim()]); }
  size_t inner() const {
    size_t n = 1;
    for (size_t d = dim() + 1; d < sizes.size(); ++d) n *= static_cast<size_t>(sizes[d]);
    return n;
  }
  size_t at(size_t row, size_t c) const { return (row / inner() * classes() + c) * inner() + row % inner(); }
  bool ignored(size_t row) const { return target[row] == static_cast<double>(kIgnored); }
  double weight_of(size_t row) const { return ignored(row) ? 0 : weight[static_cast<size_t>(target[row])]; }
  /// Returns the row's maximum, and the log of its sum.
  std::pair<double, double> normaliser(size_t row) const {
    double max = -INFINITY, sum = 0;
    for (size_t c = 0; c < classes(); ++c) max = std::isnan(x[at(row, c)]) ? NAN : std::fmax(max, x[at(row, c)]);
    for (size_t c = 0; c < classes(); ++c) sum += std::exp(x[at(row, c)] - max);
    return {max, std::log(sum)};
  }
  double log_p(size_t row, size_t c) const {
    const auto [max, log_sum] = normaliser(row);
    return x[at(row, c)] - max - log_sum;
  }
  Values losses() const {
    Values y;
    for (size_t r = 0; r < target.size(); ++r) {
      y.push_back(ignored(r) ? 0 : -weight_of(r) * log_p(r, static_cast<size_t>(target[r])));
    }
    return y;
  }
  Values row_weights() const {
    Values y;
    for (size_t r = 0; r < target.size(); ++r) y.push_back(weight_of(r));
    return y;
  }
  Values gradient(const Values& gy) const {
    Values gx(x.size());
    for (size_t r = 0; r < target.size(); ++r) {
      const double s = ignored(r) ? 0 : gy[gy.size() > 1 ? r : 0] * weight_of(r);
      const auto [max, log_sum] = normaliser(r);
      for (size_t c = 0; c < classes(); ++c) {
        const double p = std::exp(x[at(r, c)] - max - log_sum);
        gx[at(r, c)] = p * s - (static_cast<double>(c) == target[r] ? s : 0);
      }
    }
    return gx;
  }
};

/// Makes logits in [-8, 8), as rounded by `x`; every fifth row is ignored if `ignores`.
Problem make_problem(const Tensor& x, bool ignores, bool weighs) {
  write(x, random_values(x.numel(), 1, -8, 8));
  Problem p;
  p.sizes = Dims(x.sizes());
  p.x = read(x);
  const size_t rows = p.x.size() / p.classes();
  p.target = random_values(static_cast<int64_t>(rows), 2, 0, static_cast<double>(p.classes()));
  for (double& t : p.target) t = std::floor(t);
  for (size_t r = 3; ignores && r < rows; r += 5) p.target[r] = static_cast<double>(kIgnored);
  p.weight = Values(p.classes(), 1);
  if (weighs) {
    p.weight = read(tensor_of(random_values(static_cast<int64_t>(p.classes()), 3, 0.25, 2), kFloat));
  }
  return p;
}

/// The kernels' outputs for a problem with the logits in `x`.
struct Results {
  Tensor loss, row_weight, max, log_sum, gx;

  Results(const Problem& p, const Tensor& x, DType index, DType gx_type, const Values& gy, bool weighs = true) {
    const Dims rows{static_cast<int64_t>(p.target.size())};
    const DType t = wide(x.dtype());
    loss = unwritten(rows, t), row_weight = unwritten(rows, t), max = unwritten(rows, t), log_sum = unwritten(rows, t);
    Dims target_sizes = p.sizes;
    target_sizes.erase(p.dim());
    const Tensor target = empty(target_sizes, index), weight = weighs ? tensor_of(p.weight, t) : Tensor();
    write(target, p.target);
    under_test().cross_entropy(loss, row_weight, max, log_sum, x, target, weight, kIgnored);
    gx = empty_like(x, gx_type);
    under_test().cross_entropy_backward(gx, tensor_of(gy, t), x, max, log_sum, target, weight, kIgnored);
  }
};

void check(const Dims& sizes, DType dtype, DType gx_type, MemoryLayout layout, DType index = kLong) {
  for (bool plain : {true, false}) {
    const std::string what = to_string(sizes) + " " + std::string(name(dtype)) + " " + name(layout) +
                             (plain ? " plain" : " weights, some ignored");
    const Tensor x = unwritten(sizes, dtype, layout);
    const Problem p = make_problem(x, !plain, !plain);
    const Values gy = plain ? Values{0.75} : random_values(static_cast<int64_t>(p.target.size()), 4);
    const DType t = wide(dtype);
    const Values rounded = read(tensor_of(gy, t));
    const Results run(p, x, index, gx_type, gy, !plain);
    const Values losses = p.losses(), gradient = p.gradient(rounded);
    EXPECT_TRUE(near(run.loss, losses, tolerance(t, 64, 1, scale_of(losses)))) << what;
    EXPECT_TRUE(near(run.row_weight, p.row_weights(), tolerance(t))) << what;
    EXPECT_TRUE(near(run.gx, gradient, tolerance(gx_type, 64, 1, scale_of(gradient)))) << what << " backward";
  }
}

TEST_P(CrossEntropyKernels, DtypesAndSizes) {
  for (const Dims& sizes : {Dims{1}, Dims{10}, Dims{7, 1}, Dims{64, 10}, Dims{9, 33, 5}, Dims{2, 3, 4, 17}}) {
    for (DType dtype : kFloatingTypes) {
      for (DType index : {kLong, kInt}) check(sizes, dtype, dtype, MemoryLayout::contiguous, index);
      check(sizes, dtype, wide(dtype), MemoryLayout::contiguous);
    }
  }
}

TEST_P(CrossEntropyKernels, RowLengths) {
  for (int64_t classes : {1, 8, 33, 1000, 5000, 9001}) {
    for (DType dtype : kFloatingTypes) check({6, classes}, dtype, dtype, MemoryLayout::contiguous);
    check({2, classes, 3}, kHalf, kFloat, MemoryLayout::contiguous);
  }
  for (DType dtype : kFloatingTypes) check({0, 10}, dtype, dtype, MemoryLayout::contiguous);
}

TEST_P(CrossEntropyKernels, Layouts) {
  for (MemoryLayout layout :
       {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
    for (const Dims& sizes : {Dims{21, 40}, Dims{3, 33, 4, 5}}) {
      for (DType dtype : {kFloat, kHalf}) check(sizes, dtype, kFloat, layout);
    }
  }
}

TEST_P(CrossEntropyKernels, ComputesLossesAlone) {
  const Tensor x = unwritten({4, 10}, kFloat), loss = unwritten({4}, kFloat);
  const Problem p = make_problem(x, false, false);
  const Tensor max = unwritten({4}, kFloat), log_sum = unwritten({4}, kFloat);
  under_test().cross_entropy(loss, Tensor(), max, log_sum, x, tensor_of(p.target, kLong), Tensor(), kIgnored);
  EXPECT_TRUE(near(loss, p.losses(), tolerance(kFloat, 16, 1, 16)));
}

TEST_P(CrossEntropyKernels, LargeLogitsLoseNoPrecision) {
  const Tensor x = unwritten({5, 10}, kFloat);
  Problem p = make_problem(x, false, false);
  for (double& v : p.x) v = std::round(v) + 1e6;
  write(x, p.x);
  const Results run(p, x, kLong, kFloat, {1.0});
  EXPECT_TRUE(near(run.loss, p.losses(), tolerance(kFloat, 16, 1, 16)));
  EXPECT_TRUE(near(run.gx, p.gradient({1.0}), tolerance(kFloat, 16)));
}

TEST_P(CrossEntropyKernels, InfinitiesAndNaN) {
  const double largest = std::numeric_limits<float>::max();
  Problem p{{7, 3}, {}, {0, 2, 1, 0, 0, 2, 1}, {1, 1, 1}};
  p.x = {1000,      999,       -INFINITY,  // far above the others, and a probability of 0
         -INFINITY, 0,         1,          // the same
         0,         -INFINITY, 1,          // impossible target: loss inf
         INFINITY,  0,         1,          // NaN
         -INFINITY, -INFINITY, -INFINITY,  // NaN
         0,         NAN,       1,          // NaN
         largest,   -largest,  0};         // the difference overflows: loss inf
  const Tensor x = empty({7, 3}, kFloat);
  write(x, p.x);
  const Results run(p, x, kLong, kFloat, {1.0});
  const Values loss = read(run.loss), gx = read(run.gx);
  EXPECT_NEAR(loss[0], std::log1p(std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(loss[1], std::log1p(std::exp(-1.0)), 1e-6);
  EXPECT_EQ(loss[2], INFINITY);
  for (size_t r : {3, 4, 5}) EXPECT_TRUE(std::isnan(loss[r])) << r;
  EXPECT_EQ(loss[6], INFINITY);
  EXPECT_EQ(gx[2], 0);
  EXPECT_EQ(gx[3], 0);
  EXPECT_EQ(gx[7], -1) << "the target of probability 0 still has its gradient";
  for (size_t i = 9; i < 18; ++i) EXPECT_TRUE(std::isnan(gx[i])) << i;
  EXPECT_EQ(Values(gx.begin() + 18, gx.end()), (Values{1, -1, 0}));
}

/// An ignored row contributes nothing, except the NaN of 0 times NaN, as in PyTorch.
TEST_P(CrossEntropyKernels, IgnoredRows) {
  constexpr auto ignored = static_cast<double>(kIgnored);
  const Problem p{{3, 2}, {1, 2, -INFINITY, 3, NAN, 1}, {ignored, ignored, ignored}, {1, 1}};
  const Tensor x = empty({3, 2}, kFloat);
  write(x, p.x);
  const Results run(p, x, kLong, kFloat, {INFINITY});  // as for a mean over no rows
  EXPECT_EQ(read(run.loss), (Values{0, 0, 0}));
  EXPECT_EQ(read(run.row_weight), (Values{0, 0, 0}));
  const Values gx = read(run.gx);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(gx[i], 0) << i;
  EXPECT_TRUE(std::isnan(gx[4]) && std::isnan(gx[5]));
}

TEST_P(CrossEntropyKernels, ClassOutOfRangeThrows) {
  SKIP_ON_CUDA("the kernel stops: tests/cuda_emulated/device/traps_test.cpp");
  const Tensor x = noise({40000, 10}, kFloat, 1);
  for (double bad : {-1.0, 10.0, 1e9}) {
    for (DType index : {kLong, kInt}) {
      Values target(40000, 3);
      target[30000] = bad;
      const Tensor rows[] = {empty({40000}), empty({40000}), empty({40000})};
      try {
        const OpScope running("my_loss");  // kernel errors name the calling op
        under_test().cross_entropy(rows[0], Tensor(), rows[1], rows[2], x, tensor_of(target, index), Tensor(),
                                   kIgnored);
        FAIL() << bad;
      } catch (const IndexError& e) {
        EXPECT_EQ(std::string(e.what()), "my_loss: index " + std::to_string(static_cast<int64_t>(bad)) +
                                             " is out of range for dimension 1 of size 10; indices start at 0 and may "
                                             "be at most 9");
      }
    }
  }
}

}  // namespace
}  // namespace tandem
