// Gather and scatter ops: error messages, dtypes, memory formats and second derivatives. Values are compared with
// PyTorch through tests/cases.
#include <gtest/gtest.h>

#include "support/device.h"
#include "support/op_test.h"
#include "tandem/autograd/engine.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

using namespace testing;

class Index : public OpTest {};

TEST_F(Index, RefusesBadInput) {
  TANDEM_TEST_ON_HOST();
  const Tensor x = randn({4, 3}), index = zeros({2, 3}, kLong), rows = classes({0, 1});
  EXPECT_THROWS(gather(Tensor(), 0, index), StateError, "gather: x", "undefined");
  EXPECT_THROWS(gather(x, 0, Tensor()), StateError, "gather: index", "undefined");
  EXPECT_THROWS(gather(x, 2, index), IndexError, "gather", "2");
  EXPECT_THROWS(gather(x, 0, index.to(kFloat)), DTypeError, "gather: index is [2, 3] f32", "i64");
  EXPECT_THROWS(gather(x, 0, rows), ShapeError, "gather: index is [2] i64", "rank");
  EXPECT_THROWS(gather(x, 0, zeros({2, 4}, kLong)), ShapeError, "gather: index is [2, 4]", "[4, 3]");
  EXPECT_THROWS(gather(x, 0, full({2, 3}, 4, kLong)), IndexError, "4");
  EXPECT_THROWS(gather(x, 0, full({2, 3}, -1, kLong)), IndexError, "-1");
  EXPECT_THROWS(index_select(x, 0, index), ShapeError, "index_select: index is [2, 3]", "rank 1");
  EXPECT_THROWS(index_select(x, 0, classes({4})), IndexError, "4");
  EXPECT_THROWS(index_select(x, 0, Tensor()), StateError, "index_select: index");
  EXPECT_THROWS(scatter_add(x, 0, index, randn({1, 3})), ShapeError, "scatter_add: ", "src");
  EXPECT_THROWS(scatter_add(x, 0, index, randn({2, 3}).to(kHalf)), DTypeError, "scatter_add: ", "f16");
  EXPECT_THROWS(scatter_add(x, 0, index, Tensor()), StateError, "scatter_add: src");
  EXPECT_THROWS(x.scatter_add_(0, index, randn({2, 3}, kDouble)), DTypeError, "scatter_add_: ", "f64");
  EXPECT_THROWS(index_add(x, 0, rows, randn({3, 3})), ShapeError, "index_add: src is [3, 3]", "[2, 3]");
  EXPECT_THROWS(index_add(x, 0, rows, randn({2, 3}, kDouble)), DTypeError, "index_add: ");
  EXPECT_THROWS(x.index_add_(1, rows, randn({4, 3})), ShapeError, "index_add_: src");
  EXPECT_THROWS(index_add(x, 5, rows, x), IndexError, "index_add");
  EXPECT_THROWS(embedding(randn({4}), rows), ShapeError, "embedding: weight is [4] f32");
  EXPECT_THROWS(embedding(Tensor(), rows), StateError, "embedding: weight");
  EXPECT_THROWS(embedding(x, x), DTypeError, "embedding: indices", "f32");
  EXPECT_THROWS(embedding(x, classes({9})), IndexError, "9");
  EXPECT_THROWS(embedding(x, rows, 4), IndexError, "embedding: padding_idx = 4", "4 entries");
  EXPECT_THROWS(gather_backward(x, {4, 3}, 0, index), ShapeError, "gather_backward: gy");
  EXPECT_THROWS(index_select_backward(x, {4, 3}, 0, rows), ShapeError, "index_select_backward: gy");
}

TEST_F(Index, ATensorOfRank0IsAnIndex) {
  const Tensor x = randn({4, 3});
  EXPECT_TRUE(same_bits(x[scalar_tensor(2, kInt)], x[2]));
  EXPECT_TRUE(same_bits(x[scalar_tensor(-1, kLong)], x[-1]));
  EXPECT_THROWS(x[scalar_tensor(4, kLong)], IndexError, "4");
  EXPECT_THROWS(x[classes({1})], IndexError, "operator[]: the index is [1] i64", "rank 0", "index_select");
  EXPECT_THROWS(x[scalar_tensor(1.0, kFloat)], IndexError, "[] f32");
  EXPECT_THROWS(x[Tensor()], StateError, "operator[]: the index");
}

TEST_F(Index, Derivatives) {
  const Tensor index = tensor({{0, 2, 2}, {1, 1, 0}}, kLong), rows = classes({2, 0, 2});
  check_twice([=](In v) -> Out { return {gather(v[0], 0, index).square()}; }, {f64({3, 4})});
  check_twice([=](In v) -> Out { return {scatter_add(v[0], 0, index, v[1]).square()}; }, {f64({3, 4}), f64({3, 3})});
  check_twice([=](In v) -> Out { return {index_select(v[0], 1, rows).square()}; }, {f64({2, 3})});
  check_twice([=](In v) -> Out { return {index_add(v[0], 0, rows, v[1], -0.5).square()}; }, {f64({3, 2}), f64({3, 2})});
  check_twice([=](In v) -> Out { return {embedding(v[0], index).square()}; }, {f64({3, 2})});
}

TEST_F(Index, EmbeddingPaddingGetsNoGradient) {
  const Tensor weight = leaf({3, 2});
  const Tensor y = embedding(weight, tensor({{0, 1}, {1, 2}}, kLong), 1);
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 2, 2}));
  y.sum().backward();
  EXPECT_TRUE(near(weight.grad(), tensor({{1.0, 1.0}, {0.0, 0.0}, {1.0, 1.0}}), kExact));
}

// Of two uses of row 0, each gets half of the gradient, again in the second derivative.
TEST_F(Index, SecondDerivativeOfEmbeddingScaledByFrequency) {
  const Tensor weight = leaf({3, 1});
  const Tensor y = embedding(weight, tensor({0, 0, 1}, kLong), -1, true);
  const Tensor g = autograd::grad({square(y).sum()}, {weight}, {}, std::nullopt, true)[0];
  EXPECT_TRUE(near(autograd::grad({g.sum()}, {weight})[0], tensor({{1.0}, {2.0}, {0.0}}), kExact));
}

TEST_F(Index, DetectsChangedIndices) {
  const Tensor weight = leaf({3, 2}), index = classes({0, 2});
  const Tensor y = embedding(weight, index);
  index.fill_(1);
  EXPECT_THROWS(y.sum().backward(), AutogradError, "embedding: ", "changed in place");
}

TEST_F(Index, SumsAreAccumulatedInF32) {
  // 1 + 512 * 2^-12: each addition in f16 or bf16 alone would round the term away.
  for (DType t : {kHalf, kBFloat16}) {
    const Tensor ones_low = ones({1}, t), terms = full({512}, 0x1p-12, t), index = zeros({512}, kLong);
    EXPECT_EQ(index_add(ones_low, 0, index, terms).item<double>(), 1.125);
    EXPECT_EQ(scatter_add(ones_low, 0, index, terms).item<double>(), 1.125);
    EXPECT_EQ(ones({1}, t).index_add_(0, index, terms).item<double>(), 1.125);
    EXPECT_EQ(ones({1}, t).scatter_add_(0, index, terms).item<double>(), 1.125);
    const Tensor weight = zeros({1, 1}, t).requires_grad_();
    embedding(weight, index).backward(terms.view({512, 1}));
    EXPECT_EQ(weight.grad().item<double>(), 0.125);
  }
}

TEST_F(Index, IndexAddInPlaceIsRecorded) {
  const Tensor x = leaf({3}), src = leaf({2}), rows = classes({0, 0});
  const Tensor y = x * 2.0;
  y.index_add_(0, rows, src, 3);
  y.square().sum().backward();
  EXPECT_TRUE(near(src.grad(), y.detach().index_select(0, rows).mul(6), tolerance(kFloat)));
  EXPECT_TRUE(near(x.grad(), y.detach().mul(4), tolerance(kFloat)));
  const Tensor z = x * 1.0;
  z.scatter_add_(0, rows, src);
  EXPECT_TRUE(z.requires_grad());
  EXPECT_THROWS(x.index_add_(0, rows, src), AutogradError, "index_add_", "leaf");
}

TEST_F(Index, AddsScaledBools) {
  const Tensor x = zeros({3}, kBool), src = ones({2}, kBool);
  const Tensor want = tensor({1.0, 0.0, 1.0});
  EXPECT_EQ(testing::values_of(index_add(x, 0, classes({0, 2}), src, 2)), testing::values_of(want));
  x.index_add_(0, classes({0, 2}), src, 2);
  EXPECT_EQ(testing::values_of(x), testing::values_of(want));
}

// CPU tensors of rank 0 are accepted beside tensors of another device.
TEST_F(Index, AcceptsAHostIndexOfRank0) {
  const Tensor x = tensor({5.0, 6.0, 7.0}).requires_grad_(), zero = zeros({}, TensorOptions(kLong).device(kCPU));
  const Tensor number = tensor({3.0}).reshape({}), index = add(zero, 1);
  EXPECT_EQ(gather(number, 0, zero).item<double>(), 3);
  const Tensor row = index_select(x, 0, index);
  EXPECT_EQ(testing::values_of(row), std::vector<double>({6}));
  row.sum().backward();
  EXPECT_EQ(testing::values_of(x.grad()), std::vector<double>({0, 1, 0}));
  EXPECT_EQ(testing::values_of(scatter_add(x.detach(), 0, index, tensor({1.0}).reshape({}))),
            std::vector<double>({5, 7, 7}));
  EXPECT_EQ(testing::values_of(index_add(x.detach(), 0, index, tensor({1.0}))), std::vector<double>({5, 7, 7}));
  EXPECT_EQ(testing::values_of(x.detach().clone().index_add_(0, index, tensor({1.0}), 2)),
            std::vector<double>({5, 8, 7}));
  EXPECT_EQ(testing::values_of(x.detach().clone().scatter_add_(0, index, tensor({1.0}).reshape({}))),
            std::vector<double>({5, 7, 7}));
  EXPECT_EQ(testing::values_of(embedding(tensor({1.0, 2.0, 3.0}).reshape({3, 1}), index)), std::vector<double>({2}));
}

}  // namespace
}  // namespace tandem
