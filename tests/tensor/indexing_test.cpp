// Tensor::index, index_put_ and operator[].
#include "tandem/tensor/indexing.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/throws.h"
#include "tandem/base/error.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;
using indexing::TensorIndex;
using Integers = std::vector<int64_t>;

// [2, 3, 4]: x[i][j][k] = 12 i + 4 j + k.
Tensor cube() { return arange(24).view({2, 3, 4}); }

Integers numbers_of(const Tensor& x) {
  const Tensor dense = x.cpu().contiguous();
  return {dense.const_data_ptr<int64_t>(), dense.const_data_ptr<int64_t>() + dense.numel()};
}

// The expected values follow from the formula of cube().
TEST(Indexing, IntegersSlicesEllipsisAndNone) {
  const Tensor x = cube();
  EXPECT_EQ(x.index({1, 2, 3}).item<int64_t>(), 23);
  EXPECT_EQ(numbers_of(x.index({1, -1})), (Integers{20, 21, 22, 23}));
  EXPECT_EQ(numbers_of(x.index({0, Slice(1, None), 2})), (Integers{6, 10}));
  EXPECT_EQ(numbers_of(x.index({Ellipsis, 3})), (Integers{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(numbers_of(x.index({1, "...", Slice(None, None, 3)})), (Integers{12, 15, 16, 19, 20, 23}));
  EXPECT_EQ(numbers_of(x.index({Slice(), 0, Slice(-3, -1)})), (Integers{1, 2, 13, 14}));
  EXPECT_EQ(Dims(x.index({None, 0, Ellipsis, None}).sizes()), (Dims{1, 3, 4, 1}));
  EXPECT_EQ(Dims(x.index({Slice(), None, 1}).sizes()), (Dims{2, 1, 4}));
  EXPECT_EQ(Dims(x.index({0, Ellipsis, Slice(5, None)}).sizes()), (Dims{3, 0}));
  EXPECT_EQ(Dims(x.index({0, 1, 2, Ellipsis}).sizes()), Dims{});
  EXPECT_EQ(numbers_of(x.index({tensor(1), 0, Slice(0, 2)})), (Integers{12, 13}));
  EXPECT_EQ(numbers_of(x.index(std::vector<TensorIndex>{0, 0})), (Integers{0, 1, 2, 3}));
  EXPECT_EQ(numbers_of(x[1][0]), (Integers{12, 13, 14, 15}));
  EXPECT_EQ(x[-1][-1][-1].item<int64_t>(), 23);
}

TEST(Indexing, ResultsAreViews) {
  const Tensor x = cube();
  for (const Tensor& v : {x.index({1, Slice(0, 3, 2)}), x.index({Ellipsis}), x[0], x.index({Slice()})}) {
    EXPECT_EQ(&v.storage(), &x.storage());
    EXPECT_FALSE(v.is_same(x));
  }
  x.index({1, 0}).fill_(-1);
  EXPECT_EQ(x.index({1, 0, 3}).item<int64_t>(), -1);
}

TEST(Indexing, WritesBroadcast) {
  const Tensor x = cube();
  const uint64_t version = x._version();
  x.index_put_({0, Slice(0, 2), 1}, tensor({100, 200}));
  EXPECT_GT(x._version(), version);
  EXPECT_EQ(numbers_of(x.index({0, Slice(), 1})), (Integers{100, 200, 9}));
  x.index_put_({1}, 7);
  EXPECT_EQ(numbers_of(x[1]), Integers(12, 7));
  x.index_put_({1, Slice(), Slice(None, None, 2)}, tensor({{1, 2}}));
  EXPECT_EQ(numbers_of(x.index({1, Slice(), 2})), (Integers{2, 2, 2}));
  x.index_put_({0, 0, Slice(0, 2)}, tensor({{{5, 6}}}));  // leading sizes of 1 are dropped
  EXPECT_EQ(numbers_of(x.index({0, 0})), (Integers{5, 6, 2, 3}));
  x.index_put_({"..."}, 0);
  EXPECT_EQ(numbers_of(x), Integers(24, 0));
  x.index_put_({Slice()}, tensor({2.75, 2.75, 2.75, 2.75}));  // converts
  EXPECT_EQ(numbers_of(x), Integers(24, 2));
}

// Cases compare with PyTorch in tests/cases/advanced_index.cpp.
TEST(Indexing, TensorsAndMasksSelectCopies) {
  const Tensor x = cube(), rows = tensor({1, 0, -1});
  EXPECT_EQ(numbers_of(x.index({rows, 0, 0})), (Integers{12, 0, 12}));
  EXPECT_EQ(numbers_of(x.index({rows, Ellipsis, 1}).select(1, 2)), (Integers{21, 9, 21}));
  EXPECT_EQ(numbers_of(x.index({x.gt(20)})), (Integers{21, 22, 23}));
  EXPECT_EQ(numbers_of(x.index({tensor({false, true}), 0})), (Integers{12, 13, 14, 15}));
  EXPECT_EQ(Dims(x.index({true, 0}).sizes()), (Dims{1, 3, 4}));
  EXPECT_EQ(Dims(x.index({rows, None, Slice(0, 2)}).sizes()), (Dims{3, 1, 2, 4}));
  EXPECT_EQ(numbers_of(x.index(std::vector<std::optional<Tensor>>{std::nullopt, rows}).select(0, 0).select(1, 0)),
            (Integers{4, 0, 8}));
  x.index({rows}).fill_(-1);
  EXPECT_EQ(x.min().item<int64_t>(), 0);
}

TEST(Indexing, WritesWithTensorsAndMasks) {
  const Tensor x = cube(), rows = tensor({1, 1});
  x.index_put_({x.gt(3)}, 0);
  EXPECT_EQ(x.sum().item<int64_t>(), 6);
  x.index_put_({rows, 0, Slice(0, 2)},
               tensor({{{1, 2}, {3, 4}}}));  // the last one wins; leading sizes of 1 are dropped
  EXPECT_EQ(numbers_of(x.index({1, 0})), (Integers{3, 4, 0, 0}));
  x.index_put_({rows, 0, 0}, 5, true);
  EXPECT_EQ(numbers_of(x.index({1, 0})), (Integers{13, 4, 0, 0}));
  x.index_put_({1, 0}, 1, true);
  EXPECT_EQ(numbers_of(x.index({1, 0})), (Integers{14, 5, 1, 1}));
  x.index_put_(std::vector<std::optional<Tensor>>{rows}, tensor({7}), true);
  EXPECT_EQ(numbers_of(x.index({1, 0})), (Integers{28, 19, 15, 15}));
}

TEST(Indexing, ReadsOperandsBeforeItWrites) {
  const Tensor x = arange(4);
  x.index_put_({tensor({1, 2, 3})}, x.slice(0, 0, 3));
  EXPECT_EQ(numbers_of(x), (Integers{0, 0, 1, 2}));
  x.scatter_(0, x, x.add(5));  // an index in self's memory
  EXPECT_EQ(numbers_of(x), (Integers{5, 6, 7, 2}));
  const Tensor y = arange(4);
  y.index_copy_(0, tensor({3, 2, 1, 0}), y);
  EXPECT_EQ(numbers_of(y), (Integers{3, 2, 1, 0}));
  y.masked_fill_(y.gt(1), y[3]);
  EXPECT_EQ(numbers_of(y), (Integers{0, 0, 1, 0}));
}

TEST(Indexing, SumsOf16BitGradientsAreHeldInF32) {
  const Tensor x = zeros({2}, kHalf).requires_grad_();
  x.index({zeros({4096}, kLong)}).sum().backward();
  EXPECT_EQ(x.grad()[0].item<float>(), 4096.0F);
}

TEST(Indexing, PropagatesGradients) {
  const Tensor x = zeros({2, 3}, requires_grad());
  x.index({1, Slice(None, None, 2)}).sum().backward();
  const Tensor g = x.grad().cpu();
  const float* p = g.const_data_ptr<float>();
  EXPECT_EQ(std::vector<float>(p, p + 6), (std::vector<float>{0, 0, 0, 1, 0, 1}));

  const Tensor w = ones({2}, requires_grad());
  const Tensor y = zeros({3});
  y.index_put_({Slice(1, None)}, w.mul(3));
  y.sum().backward();
  EXPECT_EQ(w.grad()[1].item<float>(), 3.0F);
}

TEST(Indexing, BadIndicesAreRefused) {
  const Tensor x = cube();
  EXPECT_THROWS(x.index({0, 0, 0, 0}), IndexError, "index: ", "4 indices", "rank 3", "[2, 3, 4]");
  EXPECT_THROWS(x.index(std::vector<TensorIndex>{}), IndexError, "index: ", "empty");
  EXPECT_THROWS(x.index({Ellipsis, 0, "..."}), IndexError, "index: ", "2 Ellipsis");
  EXPECT_THROWS(x.index({2}), IndexError, "2", "[2, 3, 4]");
  EXPECT_THROWS(x.index({0, -4}), IndexError, "-4");
  EXPECT_THROWS(x.index({".."}), StateError, "index: ", "'..'");
  EXPECT_THROWS(x.index({tensor({0.5})}), DTypeError, "index: ", "[1] f32", ".to(kLong)");
  EXPECT_THROWS(x.index({tensor(1).to(kByte)}), DTypeError, "index: ", "[] u8", ".to(kBool)");
  EXPECT_THROWS(x.index({tensor({true, false, true})}), IndexError, "index: ", "[3] bool", "[2, 3, 4] i64");
  EXPECT_THROWS(x.index({0, tensor({{true, false}})}), IndexError, "index: ", "[1, 2] bool", "[3, 4] i64");
  EXPECT_THROWS(x.index({tensor({true, false}), 0, 0, 0}), IndexError, "index: ", "4 indices", "rank 3");
  EXPECT_THROWS(x.index_put_({tensor({0, 1})}, ones({2})), ShapeError, "index_put_: ", "[2] f32", "[2, 3, 4]");
  EXPECT_THROWS(x.index({Slice(0, 2, -1)}), IndexError, "index: ", "-1");
  EXPECT_THROWS(x.index_put_({0, 0, 0, 0}, 1), IndexError, "index_put_: ", "4 indices");
  EXPECT_THROWS(x.index_put_({0}, ones({5})), ShapeError, "[5]");
  EXPECT_THROWS(tensor(1.5)[0], IndexError, "operator[]: ", "rank 0");
  EXPECT_THROWS(Tensor()[0], StateError, "undefined tensor");
  EXPECT_THROWS(Tensor().index({0}), StateError, "undefined tensor");
}

}  // namespace
}  // namespace tandem
