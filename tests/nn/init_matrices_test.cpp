// dirac_, orthogonal_ and sparse_.
#include <gtest/gtest.h>

#include <cmath>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/nn/init.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

namespace init = nn::init;

TEST(Dirac, PutsOnesInTheMiddle) {
  // Compares with the definition, element by element.
  for (const Dims& sizes : {Dims{3, 4, 5}, Dims{4, 2, 3, 2}, Dims{2, 3, 1, 3, 4}, Dims{2, 2, 2}}) {
    for (const int64_t groups : {1, 2}) {
      if (sizes[0] % groups != 0) continue;
      const Tensor w = full(sizes, 9).to(kFloat).requires_grad_();
      EXPECT_TRUE(init::dirac_(w, groups).is_same(w));
      EXPECT_TRUE(w.is_leaf());
      const int64_t outputs = sizes[0] / groups;
      double ones = 0;
      for (int64_t o = 0; o < sizes[0]; ++o) {
        if (o % outputs >= sizes[1]) continue;
        Tensor at = w[o][o % outputs];
        while (at.dim() > 0) at = at[at.size(0) / 2];
        EXPECT_EQ(at.item<float>(), 1) << to_string(sizes) << " " << groups << " " << o;
        ++ones;
      }
      EXPECT_EQ(w.sum().item<float>(), ones);
      EXPECT_EQ(w.ne(0).sum().item<double>(), ones);
    }
  }
}

TEST(Dirac, ConvolutionReturnsItsInput) {
  const Tensor x = randn({2, 3, 5, 5});
  const Tensor w = init::dirac_(empty({3, 3, 3, 3}, kChannelsLast));
  EXPECT_TRUE(same_bits(conv2d(x, w, {}, 1, 1), x));
  EXPECT_EQ(init::dirac_(empty({2, 2, 3}, kHalf)).sum().item<float>(), 2);
  EXPECT_EQ(init::dirac_(empty({2, 2, 0})).numel(), 0);
}

TEST(Dirac, BadInputIsRefused) {
  EXPECT_THROWS(init::dirac_(empty({2, 3})), ShapeError, "init::dirac_: ", "rank 3, 4 or 5", "[2, 3]", "eye_");
  EXPECT_THROWS(init::dirac_(empty({1, 1, 1, 1, 1, 1})), ShapeError, "init::dirac_: ", "[1, 1, 1, 1, 1, 1]");
  EXPECT_THROWS(init::dirac_(empty({3, 1, 1}), 2), StateError, "init::dirac_: ", "groups = 2", "3 outputs", "divisor");
  EXPECT_THROWS(init::dirac_(empty({3, 1, 1}), 0), StateError, "init::dirac_: ", "groups = 0");
  EXPECT_THROWS(init::dirac_(Tensor()), StateError, "init::dirac_: ", "undefined tensor", "give it a value first");
}

/// Returns the largest entry of |q q^T - gain^2 I|; q is w as a matrix, transposed if it has more rows than columns.
double off_orthogonal(const Tensor& w, double gain) {
  Tensor q = w.detach().to(kDouble).reshape({w.size(0), -1});
  if (q.size(0) > q.size(1)) q = q.t();
  const Tensor g = mm(q, q.t()) - eye(q.size(0), kDouble) * (gain * gain);
  return g.abs().max().item<double>();
}

TEST(Orthogonal, RowsOrColumnsAreOrthogonal) {
  manual_seed(5);
  for (const Dims& sizes :
       {Dims{4, 4}, Dims{3, 7}, Dims{7, 3}, Dims{1, 5}, Dims{5, 1}, Dims{8, 2, 3, 3}, Dims{64, 64}}) {
    for (const double gain : {1.0, 2.5}) {
      const Tensor w = empty(sizes).requires_grad_();
      EXPECT_TRUE(init::orthogonal_(w, gain).is_same(w));
      EXPECT_TRUE(w.is_leaf());
      EXPECT_LT(off_orthogonal(w, gain), 4 * gain * gain * 0x1p-24) << to_string(sizes);
      EXPECT_LT(off_orthogonal(init::orthogonal_(empty(sizes, kDouble), gain), gain), 64 * gain * gain * 0x1p-53);
    }
  }
  // Low dtypes are computed in f64 and rounded once.
  EXPECT_LT(off_orthogonal(init::orthogonal_(empty({16, 16}, kHalf)), 1), 8 * 0x1p-11);
  EXPECT_LT(off_orthogonal(init::orthogonal_(empty({16, 16}, kBFloat16)), 1), 8 * 0x1p-8);
  // Any strides.
  const Tensor strided = zeros({5, 3, 2}), w = strided.select(2, 1);
  init::orthogonal_(w);
  EXPECT_LT(off_orthogonal(w, 1), 4 * 0x1p-24);
  EXPECT_EQ(strided.select(2, 0).abs().sum().item<float>(), 0);
}

TEST(Orthogonal, IsTheQrDecompositionOfNormalNumbers) {
  // Q is unique, because A = Q R with R upper triangular and a positive diagonal: PyTorch computes the same Q.
  manual_seed(6);
  const Tensor q = init::orthogonal_(empty({6, 4}, kDouble));
  manual_seed(6);
  const Tensor r = mm(q.t(), randn({6, 4}, kDouble));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_GT(r[i][i].item<double>(), 0);
    for (int64_t j = 0; j < i; ++j) EXPECT_NEAR(r[i][j].item<double>(), 0, 1e-14);
  }
  manual_seed(6);
  const Tensor wide = init::orthogonal_(empty({4, 6}, kDouble));  // Q of the transposed matrix
  manual_seed(6);
  const Tensor l = mm(randn({4, 6}, kDouble), wide.t());
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_GT(l[i][i].item<double>(), 0);
    for (int64_t j = i + 1; j < 4; ++j) EXPECT_NEAR(l[i][j].item<double>(), 0, 1e-14);
  }
}

TEST(Orthogonal, IsAccurateForNearlyDependentVectors) {
  // The last rows of a square random matrix are nearly combinations of the others.
  manual_seed(8);
  EXPECT_LT(off_orthogonal(init::orthogonal_(empty({300, 300}, kDouble)), 1), 1e-13);
}

TEST(Orthogonal, BadInputIsRefused) {
  EXPECT_EQ(init::orthogonal_(empty({0, 3})).numel(), 0);
  EXPECT_THROWS(init::orthogonal_(empty({3})), ShapeError, "init::orthogonal_: ", "rank 2", "[3]", "normal_");
  EXPECT_THROWS(init::orthogonal_(empty({2, 2}, kLong)), DTypeError, "init::orthogonal_: ", "[2, 2] i64",
                ".to(kFloat)");
  EXPECT_THROWS(init::orthogonal_(Tensor()), StateError, "init::orthogonal_: ", "undefined tensor");
}

TEST(Sparse, EveryColumnHasTheGivenSparsity) {
  manual_seed(9);
  for (const double sparsity : {0.0, 0.1, 0.25, 1.0}) {
    const Tensor w = empty({10, 200}).requires_grad_();
    EXPECT_TRUE(init::sparse_(w, sparsity, 0.5).is_same(w));
    const double zeros = std::ceil(sparsity * 10);
    const Tensor count = (w == 0).sum({0});
    EXPECT_TRUE(same_bits(count, full({200}, static_cast<int64_t>(zeros)))) << sparsity;
    if (zeros < 10) {
      const double kept = (10 - zeros) * 200;
      EXPECT_NEAR(std::sqrt((w * w).sum().item<double>() / kept), 0.5, 0.05);
    }
  }
  const Tensor x = init::sparse_(empty({50, 40}), 0.5);
  EXPECT_GT(std::get<0>(((x == 0).sum({1}).to(kFloat)).max(0)).item<float>(), 20) << "different rows in each column";
  EXPECT_NEAR(std::sqrt((x * x).sum().item<double>() / 1000), 0.01, 0.001);
  EXPECT_EQ(init::sparse_(empty({4, 4}, kHalf), 0.5).dtype(), kHalf);
}

TEST(Sparse, BadInputIsRefused) {
  EXPECT_THROWS(init::sparse_(empty({2, 2, 2}), 0.5), ShapeError, "init::sparse_: ", "rank 2", "[2, 2, 2]");
  EXPECT_THROWS(init::sparse_(empty({2, 2}), 1.5), StateError, "init::sparse_: ", "sparsity = 1.5", "[0, 1]");
  EXPECT_THROWS(init::sparse_(empty({2, 2}), std::nan("")), StateError, "init::sparse_: ", "nan", "[0, 1]");
  EXPECT_THROWS(init::sparse_(empty({2, 2}), 0.5, -1), StateError, "init::sparse_: ", "std = -1", "at least 0");
  EXPECT_THROWS(init::sparse_(empty({2, 2}, kLong), 0.5), DTypeError, "init::sparse_: ", "i64", ".to(kFloat)");
  EXPECT_THROWS(init::sparse_(Tensor(), 0.5), StateError, "init::sparse_: ", "undefined tensor");
}

}  // namespace
}  // namespace tandem::testing
