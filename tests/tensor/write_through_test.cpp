// Assignment to a temporary writes to the tensor (x[0] = y, x.index({...}) = y); index_put_ with a vector of indices.
#include <vector>

#include "support/compare.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"

namespace tandem::testing {
namespace {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;
using indexing::TensorIndex;
using V = std::vector<double>;

::testing::AssertionResult equals(const Tensor& x, const V& expected) { return near(x, expected, kExact); }

TEST(WriteThrough, ChangesTheTensor) {
  const Tensor x = zeros({2, 3});
  const uint64_t version = x._version();
  x[0] = 1.5;
  x[1] = tensor({1.0, 2.0, 3.0});
  EXPECT_TRUE(equals(x, {1.5, 1.5, 1.5, 1, 2, 3}));
  EXPECT_GT(x._version(), version);
  x[1][2] = 7;
  x[0] = x[1];  // a temporary on the right
  EXPECT_TRUE(equals(x, {1, 2, 7, 1, 2, 7}));
  x.index({Slice(), 0}) = tensor({-1, -2});  // converts
  EXPECT_TRUE(equals(x, {-1, 2, 7, -2, 2, 7}));
  x.index({Ellipsis, Slice(1, None)}) = 0;
  EXPECT_TRUE(equals(x, {-1, 0, 0, -2, 0, 0}));
  x.select(1, 2) = tensor(9.0);  // broadcasts
  EXPECT_TRUE(equals(x, {-1, 0, 9, -2, 0, 9}));
  x.t() = tensor({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_TRUE(equals(x, {1, 3, 5, 2, 4, 6}));
  x.index({0, Slice(1, None)}) = x.index({0, Slice(None, -1)});  // an overlapping shift
  EXPECT_TRUE(equals(x[0], {1, 1, 3}));
}

TEST(WriteThrough, AssignmentToAVariableRebindsIt) {
  const Tensor x = zeros({2});
  Tensor first = x[0];
  first = tensor(5.0);
  EXPECT_TRUE(equals(x, {0, 0}));
  EXPECT_EQ(first.item<double>(), 5);
  std::vector<Tensor> list = {x, x};
  list[0] = first;
  EXPECT_TRUE(equals(x, {0, 0}));
}

TEST(WriteThrough, GradientsReachTheWrittenValue) {
  const Tensor w = ones({2, 3}).requires_grad_(), y = ones({3}).requires_grad_();
  const Tensor x = w * 2;
  x[0] = y * 3;
  (x * tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}})).sum().backward();
  EXPECT_TRUE(equals(x, {3, 3, 3, 2, 2, 2}));
  EXPECT_TRUE(equals(y.grad(), {3, 6, 9}));
  EXPECT_TRUE(equals(w.grad(), {0, 0, 0, 8, 10, 12})) << "overwritten elements get no gradient";
}

TEST(WriteThrough, TensorWithoutHistoryIsRecorded) {
  const Tensor x = zeros({2, 2}), y = ones({2}).requires_grad_();
  x.index({Slice(), 1}) = y;
  EXPECT_TRUE(x.requires_grad() && !x.is_leaf());
  x[0] = 4.0;  // overwrites y's first element
  (x * x).sum().backward();
  EXPECT_TRUE(equals(y.grad(), {0, 2}));
}

TEST(WriteThrough, LeafThatRequiresGradIsRefused) {
  const Tensor w = zeros({2, 3}).requires_grad_();
  EXPECT_THROWS(w[0] = 1.0, AutogradError, "fill_: ", "leaf", "NoGradGuard");
  EXPECT_THROWS(w[0] = ones({3}), AutogradError, "copy_: ", "leaf", "NoGradGuard");
  EXPECT_THROWS(w.index({Slice(), 1}) = ones({2}), AutogradError, "copy_: ", "leaf", "NoGradGuard");
  EXPECT_TRUE(equals(w, V(6, 0)));
  {
    const NoGradGuard no_grad;
    w[0] = 1.0;
    w.index({1, 2}) = tensor(5.0);
  }
  EXPECT_TRUE(equals(w, {1, 1, 1, 0, 0, 5}));
  EXPECT_TRUE(w.is_leaf() && w.requires_grad());
}

TEST(WriteThrough, BadInputIsRefused) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROWS(x[0] = ones({4}), ShapeError, "copy_: ", "[3]", "[4]");
  EXPECT_THROWS(x[2] = 1.0, IndexError, "2", "[2, 3]");
  EXPECT_THROWS(x[0] = Tensor(), StateError, "copy_: ", "undefined tensor", "give it a value first");
  EXPECT_THROWS(x.expand({4, 2, 3}) = x, ShapeError, "copy_: ", "[4, 2, 3]", "clone()");
}

TEST(WriteThrough, IndexPutTakesAVector) {
  const Tensor x = zeros({2, 3});
  const std::vector<TensorIndex> indices = {Slice(), 1};
  EXPECT_TRUE(x.index_put_(indices, tensor({4, 5})).is_same(x));
  EXPECT_TRUE(equals(x, {0, 4, 0, 0, 5, 0}));
  x.index_put_(indices, 2.5);
  EXPECT_TRUE(equals(x, {0, 2.5, 0, 0, 2.5, 0}));
  EXPECT_THROWS(x.index_put_(std::vector<TensorIndex>{}, 1), IndexError, "index_put_: ", "empty", "[2, 3]");
  EXPECT_THROWS(x.index_put_(std::vector<TensorIndex>{0, 0, 0}, x), IndexError, "index_put_: ", "3 indices", "[2, 3]");
  EXPECT_THROWS(x.index_put_(indices, Tensor()), StateError, "index_put_: ", "undefined tensor",
                "give it a value first");
}

}  // namespace
}  // namespace tandem::testing
