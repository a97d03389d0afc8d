// Views: identity, and gradients of views whose elements overlap in memory. Values are compared with PyTorch through
// tests/cases.
#include "support/op_test.h"

namespace tandem::testing {
namespace {

TEST(Reshape, ToTheSameSizesReturnsANewView) {
  const Tensor bias = ones({3}).requires_grad_();
  for (const Tensor& view : {bias.reshape({-1}), bias.reshape({3}), reshape(bias, bias.sizes())}) {
    EXPECT_FALSE(view.is_same(bias));
    EXPECT_TRUE(share_memory(view, bias));
    EXPECT_FALSE(view.is_leaf());
  }
  const Tensor plain = ones({3});
  plain.reshape({-1}).requires_grad_();
  EXPECT_FALSE(plain.requires_grad());
  plain.reshape({-1}).fill_(2);
  EXPECT_EQ(plain[0].item<float>(), 2.0F);
}

TEST(Reshape, ToTheSameSizesKeepsTheStrides) {
  const Tensor last = randn({2, 3, 4, 5}).contiguous(kChannelsLast), spread = ones({3, 1}).expand({3, 4});
  EXPECT_EQ(last.reshape({2, 3, 4, 5}).strides(), last.strides());
  EXPECT_EQ(last.view({2, 3, 4, -1}).strides(), last.strides());
  EXPECT_EQ(spread.reshape({3, -1}).strides(), spread.strides());
}

TEST(T, OfAVectorReturnsANewView) {
  for (const Tensor& x : {ones({3}), scalar_tensor(1)}) {
    EXPECT_FALSE(t(x).is_same(x));
    EXPECT_TRUE(share_memory(t(x), x));
    EXPECT_EQ(t(x).sizes(), x.sizes());
    t(x).requires_grad_();
    EXPECT_FALSE(x.requires_grad());
  }
}

TEST(Chunk, EmptyDimensionGivesAllParts) {
  const std::vector<Tensor> parts = chunk(zeros({2, 0}), 3, 1);
  ASSERT_EQ(parts.size(), 3U);
  for (const Tensor& part : parts) EXPECT_EQ(part.sizes(), IntArrayRef({2, 0}));
  EXPECT_EQ(chunk(zeros({2, 0}), 3, 0).size(), 2U);
}

/// Returns the gradient of sum(view(x) weights) with respect to x by definition: for each storage element, the sum of
/// the weights that read it, divided equally among the elements of x that refer to it.
std::vector<double> strided_gradient(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, int64_t offset,
                                     const std::vector<double>& weights) {
  const auto positions = [](IntArrayRef sizes, IntArrayRef strides, int64_t first) {
    std::vector<int64_t> all{first};
    for (size_t d = 0; d < sizes.size(); ++d) {
      std::vector<int64_t> next;
      for (int64_t at : all) {
        for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(at + i * strides[d]);
      }
      all = next;
    }
    return all;
  };
  const std::vector<int64_t> seen = positions(x.sizes(), x.strides(), x.storage_offset());
  const std::vector<int64_t> read = positions(sizes, strides, x.storage_offset() + offset);
  std::vector<double> sums(x.storage().nbytes() / x.element_size(), 0), shown(sums.size(), 0), result;
  for (size_t i = 0; i < read.size(); ++i) sums[static_cast<size_t>(read[i])] += weights[i];
  for (int64_t at : seen) shown[static_cast<size_t>(at)] += 1;
  for (int64_t at : seen) result.push_back(sums[static_cast<size_t>(at)] / shown[static_cast<size_t>(at)]);
  return result;
}

TEST(ViewDtype, OfAnotherSizeHasTheSameBytes) {
  const Tensor x = arange(24, kInt).reshape({2, 3, 4}), part = x.slice(0, 1).slice(2, 2);
  const auto bytes = [](const Tensor& t) {
    const Tensor host = t.contiguous().to(kCPU);
    const auto* begin = static_cast<const char*>(host.raw_bytes());
    return std::string(begin, begin + host.nbytes());
  };
  for (const DType dtype : {kByte, kShort, kLong, kDouble}) {
    const Tensor y = part.view(dtype);
    EXPECT_EQ(y.sizes(), IntArrayRef({1, 3, 8 / static_cast<int64_t>(element_size(dtype))})) << name(dtype);
    EXPECT_EQ(y.raw_bytes(), part.raw_bytes()) << name(dtype);
    EXPECT_EQ(bytes(y), bytes(part)) << name(dtype);
    const Tensor back = y.view(kInt);
    EXPECT_EQ(back.strides(), part.strides()) << name(dtype);
    EXPECT_EQ(back.storage_offset(), part.storage_offset()) << name(dtype);
    EXPECT_TRUE(same_bits(back, part)) << name(dtype);
  }
}

// contiguous() returns such a tensor as it is.
TEST(ViewDtype, IgnoresTheStrideOfALastDimensionOfSizeOne) {
  const Tensor x = arange(12, kInt).reshape({3, 4}).t().slice(1, 0, 1);
  ASSERT_EQ(x.strides(), IntArrayRef({1, 4}));
  EXPECT_TRUE(equal(x.view(kByte), x.reshape({4}).view(kByte).view({4, 4})));
}

TEST(AsStrided, GradientsAreSummedPerMemoryLocation) {
  struct Case {
    const char* what;
    Tensor x;
    Dims sizes, strides;
    int64_t offset;
  };
  const Tensor memory = arange(24, kDouble);
  const Case cases[] = {
      {"dense", memory.view({4, 6}), {2, 3}, {6, 2}, 1},
      {"expanded, read once", memory.slice(0, 5, 6).expand({3}), {1}, {0}, 0},
      {"expanded, read twice", memory.slice(0, 5, 6).expand({3}), {2}, {0}, 0},
      {"expanded by rows", memory.slice(0, 0, 3).expand({2, 3}), {3}, {1}, 0},
      {"past its input", memory.slice(0, 3, 6), {8}, {1}, 0},
      {"before its input", memory.slice(0, 10, 14), {12}, {1}, -8},
      {"beside its input", memory.slice(0, 3, 6), {2}, {1}, 10},
      {"with gaps", memory.slice(0, 2, 20, 3), {10}, {1}, 1},
      {"overlapping windows", memory, {5, 4}, {2, 1}, 3},
      {"overlapping windows of an overlapping input", memory.as_strided({4, 3}, {1, 1}, 2), {3, 3}, {1, 2}, 0},
      {"transposed", memory.view({4, 6}).t(), {4, 6}, {6, 1}, 0},
      {"nothing", memory, {0, 3}, {1, 1}, 2},
      {"of nothing", memory.slice(0, 4, 4), {3}, {1}, 1},
  };
  for (const Case& c : cases) {
    const Tensor x = c.x.detach().requires_grad_();
    const Tensor y = x.as_strided(c.sizes, c.strides, x.storage_offset() + c.offset);
    const Tensor weights = arange(1, y.numel() + 1, kDouble).view(y.sizes());
    (y * weights).sum().backward();
    const std::vector<double> want = strided_gradient(x, c.sizes, c.strides, c.offset, values_of(weights));
    ASSERT_EQ(x.grad().sizes(), x.sizes()) << c.what;
    const std::vector<double> got = values_of(x.grad());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_DOUBLE_EQ(got[i], want[i]) << c.what << ' ' << i;
  }
}

TEST(AsStrided, GradientOfAnExpandedScalarIsSummed) {
  const Tensor x = scalar_tensor(1.0).requires_grad_();
  x.expand({3}).as_strided({2}, {0}, 0).sum().backward();
  EXPECT_EQ(x.grad().item<float>(), 2.0F);
}

TEST(AsStrided, SecondDerivativesOfOverlappingViews) {
  check_twice([](In v) -> Out { return {v[0].expand({3, 4}).as_strided({2, 3}, {1, 1}, 0).square()}; }, {f64({4})});
  check_twice([](In v) -> Out { return {v[0].slice(0, 1, 4).as_strided({2, 2}, {1, 1}, 1).square()}; }, {f64({4})});
}

TEST(AsStrided, OffsetIsThatOfTheStorage) {
  const Tensor x = arange(6.0).slice(0, 2);
  EXPECT_EQ(values_of(x.as_strided({2}, {1})), (std::vector<double>{2, 3}));
  EXPECT_EQ(values_of(x.as_strided({2}, {1}, 0)), (std::vector<double>{0, 1}));
  EXPECT_EQ(values_of(as_strided_scatter(x, tensor({9.0, 9.0}), {2}, {1}, 2)), (std::vector<double>{9, 9, 4, 5}));
}

}  // namespace
}  // namespace tandem::testing
