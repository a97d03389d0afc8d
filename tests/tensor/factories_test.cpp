// Factories: values, dtypes, strides, external memory, errors.
#include "tandem/tensor/factories.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/throws.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

// Returns the elements in row-major order.
std::vector<double> values(const Tensor& x) {
  std::vector<double> out;
  for (int64_t i = 0; i < x.numel(); ++i) {
    int64_t at = x.storage_offset(), rest = i;
    for (int64_t d = x.dim(); d-- > 0; rest /= x.size(d)) at += rest % x.size(d) * x.stride(d);
    out.push_back(make_view(x, {}, {}, at).item<double>());
  }
  return out;
}
using V = std::vector<double>;

TEST(Factories, ConstantsTakeTheirDtypeFromValueOrOptions) {
  EXPECT_EQ(values(zeros({2, 2})), (V{0, 0, 0, 0}));
  EXPECT_EQ(values(ones({3}, kLong)), (V{1, 1, 1}));
  EXPECT_EQ(ones({3}).dtype(), kFloat);
  EXPECT_EQ(values(full({2}, 2.5)), (V{2.5, 2.5}));
  EXPECT_EQ(full({2}, 2.5).dtype(), kFloat);
  EXPECT_EQ(full({2}, 2).dtype(), kLong);
  EXPECT_EQ(full({2}, true).dtype(), kBool);
  EXPECT_EQ(full({2}, 2, kHalf).dtype(), kHalf);
  EXPECT_EQ(scalar_tensor(7).dtype(), kFloat);
  EXPECT_EQ(scalar_tensor(7, kInt).item<int>(), 7);
  EXPECT_EQ(zeros({0, 5}).numel(), 0);
  EXPECT_EQ(values(eye(2)), (V{1, 0, 0, 1}));
  EXPECT_EQ(values(eye(2, 3, kInt)), (V{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(values(eye(3, 1)), (V{1, 0, 0}));
  EXPECT_EQ(eye(0).numel(), 0);
}

TEST(Factories, RequiresGradIsForFloatingDtypes) {
  for (const Tensor& x : {empty({2}, requires_grad()), zeros({2}, requires_grad()), randn({2}, requires_grad()),
                          linspace(0, 1, 3, requires_grad()), tensor({1.0}, requires_grad())}) {
    EXPECT_TRUE(x.requires_grad());
    EXPECT_TRUE(x.is_leaf());
  }
  EXPECT_FALSE(zeros({2}).requires_grad());
  EXPECT_FALSE(zeros_like(zeros({2}, requires_grad())).requires_grad());
  EXPECT_THROWS(empty({2}, dtype(kLong).requires_grad(true)), DTypeError, "requires_grad", "i64");
  EXPECT_THROWS(arange(3, requires_grad()), DTypeError, "arange: ", "i64");
  EXPECT_THROWS(randint(5, {2}, requires_grad()), DTypeError, "randint: ", "i64");
}

TEST(Factories, LikeCopiesUnsetOptions) {
  const Tensor x = ones({2, 3}, kHalf);
  EXPECT_EQ(empty_like(x).dtype(), kHalf);
  EXPECT_EQ(empty_like(x).sizes(), x.sizes());
  EXPECT_EQ(values(zeros_like(x, kInt)), V(6, 0));
  EXPECT_EQ(zeros_like(x, kInt).dtype(), kInt);
  EXPECT_EQ(values(full_like(x, 3)), V(6, 3));
  EXPECT_EQ(ones_like(x).dtype(), kHalf);
  EXPECT_EQ(rand_like(x, kDouble).dtype(), kDouble);
  EXPECT_EQ(randn_like(x).dtype(), kHalf);
}

// The strides are those of torch.empty_like for the same sizes and strides (PyTorch 2.15).
TEST(Factories, LikePreservesTheOrderOfDimensions) {
  const Tensor base = empty({1000});
  const auto like = [&](const Dims& sizes, const Dims& strides) {
    return Dims(empty_like(make_view(base, sizes, strides, 0)).strides());
  };
  EXPECT_EQ(like({2, 3, 4, 5}, {60, 1, 15, 3}), (Dims{60, 1, 15, 3}));  // channels-last
  EXPECT_EQ(like({3, 4}, {1, 3}), (Dims{1, 3}));                        // transposed
  EXPECT_EQ(like({3, 4}, {1, 6}), (Dims{1, 3}));                        // transposed with gaps
  EXPECT_EQ(like({3, 4}, {8, 2}), (Dims{4, 1}));                        // gaps
  EXPECT_EQ(like({3, 4}, {0, 1}), (Dims{4, 1}));                        // expanded
  EXPECT_EQ(like({3, 4}, {1, 0}), (Dims{4, 1}));
  EXPECT_EQ(like({2, 3, 4}, {1, 8, 2}), (Dims{1, 8, 2}));
  EXPECT_EQ(like({2, 3, 4}, {1, 16, 3}), (Dims{1, 8, 2}));
  EXPECT_EQ(like({1, 4}, {1, 1}), (Dims{1, 1}));
  EXPECT_EQ(like({3, 1, 4}, {1, 99, 3}), (Dims{1, 99, 3}));  // a size of 1 may have any stride
  EXPECT_EQ(like({2, 2}, {1, 1}), (Dims{2, 1}));             // overlapping
  EXPECT_EQ(Dims(empty_like(make_view(base, {3, 4}, {1, 3}, 0), TensorOptions().memory_format(MemoryFormat::Contiguous))
                     .strides()),
            (Dims{4, 1}));
}

TEST(Factories, EmptyStridedAllocatesForItsStrides) {
  const Tensor x = empty_strided({2, 3}, {1, 4}, kDouble);
  EXPECT_EQ(Dims(x.strides()), (Dims{1, 4}));
  EXPECT_GE(x.storage().nbytes(), (1 + 8 + 1) * sizeof(double));
  EXPECT_EQ(empty_strided({0, 3}, {3, 1}).storage().nbytes(), 0U);
  EXPECT_THROWS(empty_strided({2, 3}, {1}), ShapeError, "empty_strided: ", "[2, 3]", "[1]");
  EXPECT_THROWS(empty_strided({2, 3}, {3, -1}), ShapeError, "empty_strided: ", "[3, -1]");
}

TEST(Factories, Ranges) {
  EXPECT_EQ(values(arange(4)), (V{0, 1, 2, 3}));
  EXPECT_EQ(arange(4).dtype(), kLong);
  EXPECT_EQ(values(arange(1, 4)), (V{1, 2, 3}));
  EXPECT_EQ(values(arange(5, 0, -2)), (V{5, 3, 1}));
  EXPECT_EQ(values(arange(1, 8, 3)), (V{1, 4, 7}));
  EXPECT_EQ(values(arange(1, 7, 3)), (V{1, 4}));
  EXPECT_EQ(values(arange(0, 1, 0.25)), (V{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(0, 1, 0.25).dtype(), kFloat);
  EXPECT_EQ(arange(3, kHalf).dtype(), kHalf);
  EXPECT_EQ(arange(0).numel(), 0);
  EXPECT_EQ(arange(2.5).numel(), 3);
  EXPECT_EQ(values(arange(INT64_MAX - 2, INT64_MAX, 1)), (V{0x1p63, 0x1p63}));
  EXPECT_THROWS(arange(0, 3, 0), StateError, "arange: ", "step is 0");
  EXPECT_THROWS(arange(0, 3, -1), StateError, "arange: ", "step = -1", "end = 3");
  EXPECT_THROWS(arange(INFINITY), StateError, "arange: ", "inf", "finite");
  EXPECT_THROWS(arange(INT64_MIN, INT64_MAX, 1), ShapeError, "arange: ", "elements");
  EXPECT_EQ(arange(-(int64_t{1} << 62), int64_t{1} << 62, int64_t{1} << 62).numel(), 2);
  EXPECT_THROWS(arange(0, 1, 1e-300), ShapeError, "arange: ", "1e-300");
  EXPECT_THROWS(arange(3, kBool), DTypeError, "arange: ", "bool");

  EXPECT_EQ(values(linspace(0, 1, 5)), (V{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(values(linspace(3, -1, 3, kDouble)), (V{3, 1, -1}));
  EXPECT_EQ(values(linspace(2, 9, 1)), V{2});
  EXPECT_EQ(linspace(2, 9, 0).numel(), 0);
  EXPECT_EQ(linspace(0, 0.1, 4)[3].item<float>(), 0.1F) << "the end is exact";
  EXPECT_EQ(values(linspace(0, 10, 5, kLong)), (V{0, 2, 5, 7, 10}));
  EXPECT_THROWS(linspace(0, 1, -1), StateError, "linspace: ", "steps = -1");
}

TEST(Factories, TensorFromBracesAndVectors) {
  EXPECT_EQ(tensor({1.0, 2.0}).dtype(), kFloat);
  EXPECT_EQ(values(tensor({1.0, 2.0})), (V{1, 2}));
  EXPECT_EQ(tensor({1, 2}).dtype(), kLong);
  EXPECT_EQ(tensor(3.5).dim(), 0);
  EXPECT_EQ(tensor(3.5).item<float>(), 3.5F);
  EXPECT_EQ(tensor({1.5}).dim(), 1);
  EXPECT_EQ(Dims(tensor({{1, 2, 3}, {4, 5, 6}}).sizes()), (Dims{2, 3}));
  EXPECT_EQ(values(tensor({{1, 2, 3}, {4, 5, 6}}, kHalf)), (V{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Dims(tensor({{{1.0}, {2.0}}}).sizes()), (Dims{1, 2, 1}));
  EXPECT_EQ(Dims(tensor({}).sizes()), Dims{0});
  EXPECT_EQ(tensor({}).dtype(), kFloat);
  EXPECT_EQ(tensor({true, false}).dtype(), kBool);
  EXPECT_EQ(tensor({Half(1), Half(2)}).dtype(), kHalf);
  EXPECT_EQ(tensor(BFloat16(1)).dtype(), kBFloat16);
  EXPECT_EQ(tensor(uint8_t{3}).dtype(), kByte);
  EXPECT_EQ(tensor(std::vector<float>{1, 2}).dtype(), kFloat);
  EXPECT_EQ(tensor(std::vector<double>{1, 2}).dtype(), kFloat);
  EXPECT_EQ(tensor(std::vector<double>{0.1}, kDouble).item<double>(), 0.1);
  EXPECT_EQ(tensor(std::vector<int>{1, 2}).dtype(), kLong);
  EXPECT_EQ(tensor(std::vector<int16_t>{1, 2}).dtype(), kShort);
  EXPECT_EQ(values(tensor(std::vector<bool>{true, false})), (V{1, 0}));
  EXPECT_EQ(values(tensor(IntArrayRef({4, 5}))), (V{4, 5}));
  EXPECT_EQ(tensor(std::vector<float>{}).numel(), 0);
  EXPECT_THROWS(tensor({{1, 2}, {3}}), ShapeError, "tensor: ", "[2]", "[1]");
  EXPECT_THROWS(tensor({TensorData(1), TensorData(2.5)}), DTypeError, "tensor: ", "i32", "f64");
}

TEST(Factories, TensorCopiesItsVector) {
  std::vector<float> v{1, 2};
  const Tensor x = tensor(v);
  v[0] = 9;
  EXPECT_EQ(values(x), (V{1, 2}));
}

TEST(FromBlob, RunsTheDeleterAfterTheLastView) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  int deleted = 0;
  void* seen = nullptr;
  {
    Tensor view;
    {
      const Tensor x = from_blob(memory.data(), {2, 3}, [&](void* p) {
        ++deleted;
        seen = p;
      });
      memory[4] = 50;
      EXPECT_EQ(values(x), (V{1, 2, 3, 4, 50, 6}));
      EXPECT_EQ(x.const_data_ptr<float>(), memory.data());
      EXPECT_TRUE(x.storage().pointer_escaped()) << "the owner can write at any time";
      view = make_view(x, {2}, {1}, 4);
    }
    EXPECT_EQ(deleted, 0);
    EXPECT_EQ(values(view), (V{50, 6}));
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(seen, memory.data());
}

TEST(FromBlob, AcceptsStridesAndOptions) {
  std::vector<int> memory{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(values(from_blob(memory.data(), {3, 2}, {1, 3}, kInt)), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(from_blob(memory.data(), {2, 2}, IntArrayRef({0, 2}), nullptr, kInt)), (V{0, 2, 0, 2}));
  std::vector<float> floats{1};
  EXPECT_TRUE(from_blob(floats.data(), {1}, requires_grad()).requires_grad());
  EXPECT_EQ(from_blob(nullptr, {0, 3}).numel(), 0);
  EXPECT_THROWS(from_blob(nullptr, {3}), StateError, "from_blob: ", "null", "[3]");
  EXPECT_THROWS(from_blob(memory.data(), {3}, {1, 1}, kInt), ShapeError, "from_blob: ", "[3]", "[1, 1]");
  EXPECT_THROWS(from_blob(memory.data(), {-3}, kInt), ShapeError, "from_blob: ", "[-3]");
}

TEST(Factories, ImpossibleSizesAreRefused) {
  EXPECT_THROWS(empty({2, -1}), ShapeError, "[2, -1]", "negative");
  EXPECT_THROWS(zeros({-1}), ShapeError, "zeros: ", "[-1]");
  EXPECT_THROWS(empty({INT64_MAX, 2}), ShapeError, "bytes");
  EXPECT_THROWS(empty({int64_t{1} << 40, int64_t{1} << 40}), ShapeError, "bytes");
  EXPECT_THROWS(empty({int64_t{1} << 58}), OutOfMemoryError, "bytes requested");
  EXPECT_THROWS(empty({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError, "rank", "12");
  EXPECT_THROWS(empty({2, 3}, TensorOptions().memory_format(kChannelsLast)), ShapeError, "rank 2", "[2, 3]");
  EXPECT_THROWS(eye(-1), ShapeError, "[-1, -1]");
}

}  // namespace
}  // namespace tandem
