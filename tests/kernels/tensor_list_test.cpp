// The tables for kernel launches over lists of tensors, read as a kernel reads them.
#include "kernels/cuda/tensor_list.h"

#include <gtest/gtest.h>

#include <map>

#include "kernels/cuda/logical.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

using cuda::kChunk;
using Entry = cuda::ListEntry<2>;

/// Returns how often a launch visits each pair of addresses (operand 0, operand 1).
std::map<std::pair<char*, char*>, int> visits(const cuda::TensorList<2>& list) {
  const std::vector<uint64_t> words = list.words();
  const auto* entries = reinterpret_cast<const Entry*>(words.data());
  std::map<std::pair<char*, char*>, int> seen;
  for (int64_t chunk = 0; chunk < list.chunks(); ++chunk) {
    const Entry& e = entries[cuda::entry_of(entries, list.count(), chunk)];
    const int64_t begin = (chunk - e.first_chunk) * kChunk, end = std::min(begin + kChunk, e.numel);
    EXPECT_LT(begin, end);
    for (int64_t i = begin; i < end; ++i) {
      int64_t offset[2] = {i, i};
      if (e.geometry != 0) {
        reinterpret_cast<const cuda::Geometry<2>*>(words.data() + e.geometry)->offsets(i, offset);
      }
      char* at[2] = {};
      for (size_t k = 0; k < 2; ++k) {
        if (e.data[k]) {
          at[k] = static_cast<char*>(e.data[k]) + offset[k] * static_cast<int64_t>(element_size(e.dtypes[k]));
        }
      }
      ++seen[{at[0], at[1]}];
    }
  }
  return seen;
}

/// Expects the visits that follow from the tensors' strides.
void expect_visited(const std::map<std::pair<char*, char*>, int>& seen, const Tensor& a, const Tensor& b,
                    size_t& places) {
  const auto geometry = cuda::logical_geometry<2>(a.sizes(), {a.strides(), b.defined() ? b.strides() : a.strides()});
  ASSERT_EQ(geometry.numel, a.numel());
  for (int64_t i = 0; i < a.numel(); ++i) {
    int64_t left = i, at_a = 0, at_b = 0;
    for (int64_t d = a.dim(); d-- > 0;) {
      const auto k = static_cast<size_t>(d);
      at_a += left % a.size(d) * a.strides()[k];
      if (b.defined()) at_b += left % a.size(d) * b.strides()[k];
      left /= a.size(d);
    }
    int64_t offset[2];
    geometry.offsets(i, offset);
    ASSERT_EQ(offset[0], at_a);
    char* pa = static_cast<char*>(a.raw_bytes()) + at_a * static_cast<int64_t>(a.element_size());
    char* pb = nullptr;
    if (b.defined()) {
      ASSERT_EQ(offset[1], at_b);
      pb = static_cast<char*>(b.raw_bytes()) + at_b * static_cast<int64_t>(b.element_size());
    }
    const auto found = seen.find({pa, pb});
    ASSERT_TRUE(found != seen.end() && found->second == 1) << i;
  }
  places += static_cast<size_t>(a.numel());
}

TEST(TensorList, EveryElementIsVisitedOnce) {
  const std::vector<std::pair<Tensor, Tensor>> pairs = {
      {empty({0}), Tensor()},
      {empty({5}), empty({5}, kHalf)},
      {empty({kChunk}), Tensor()},
      {empty({0, 3}), empty({0, 3})},
      {empty({kChunk + 1}, kDouble), empty({kChunk + 1})},
      {empty_strided({70, 90}, {1, 70}), empty_strided({70, 90}, {1, 70}, kHalf)},
      {empty_strided({70, 90}, {1, 70}), empty({70, 90}, kHalf)},
      {empty_strided({3, 5, 7}, {70, 14, 2}), empty({3, 5, 7})},
      {empty({2, 3, 4, 5}, MemoryFormat::ChannelsLast), empty({2, 3, 4, 5})},
      {empty({}), empty({})},
      {empty({0}), Tensor()}};
  cuda::TensorList<2> list;
  for (const auto& [a, b] : pairs) list.add({&a, &b});
  EXPECT_EQ(list.count(), static_cast<int64_t>(pairs.size()));
  const auto seen = visits(list);
  size_t places = 0;
  for (const auto& [a, b] : pairs) expect_visited(seen, a, b, places);
  EXPECT_EQ(seen.size(), places);
}

TEST(TensorList, PacksNeedEqualOrderAndAlignment) {
  const auto packs = [](const Tensor& a, const Tensor& b) {
    cuda::TensorList<2> list;
    list.add({&a, b.defined() ? &b : nullptr});
    return reinterpret_cast<const Entry*>(list.words().data())->packs;
  };
  const Tensor base = empty({64}), transposed = empty_strided({4, 8}, {1, 4});
  EXPECT_TRUE(packs(base, Tensor()));
  EXPECT_TRUE(packs(transposed, empty_strided({4, 8}, {1, 4}, kHalf)));
  EXPECT_FALSE(packs(transposed, empty({4, 8})));
  EXPECT_FALSE(packs(make_view(base, {8}, {1}, 1), Tensor()));
  EXPECT_TRUE(packs(make_view(base, {8}, {1}, 4), Tensor()));
  EXPECT_FALSE(packs(make_view(base, {8}, {2}, 0), Tensor()));
}

TEST(TensorList, ExpandedElementsCountOnce) {
  const Tensor row = empty_strided({4, 10}, {0, 1});
  cuda::TensorList<1> list;
  list.add({&row});
  EXPECT_EQ(reinterpret_cast<const cuda::ListEntry<1>*>(list.words().data())->numel, 10);
}

TEST(TensorList, TablesContainAllWords) {
  for (size_t n : {size_t{0}, size_t{1}, cuda::kSmallTable, cuda::kSmallTable + 1, cuda::kLargeTable}) {
    std::vector<uint64_t> words;
    for (size_t i = 0; i < n; ++i) words.push_back(i);
    const auto check = [&](const auto& table) {
      EXPECT_EQ(sizeof(table) / 8, n <= cuda::kSmallTable ? cuda::kSmallTable : cuda::kLargeTable);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(table.data()[i], i);
    };
    if (n <= cuda::kSmallTable) {
      check(cuda::InlineTable<cuda::kSmallTable>(words));
    } else {
      check(cuda::InlineTable<cuda::kLargeTable>(words));
    }
  }
}

}  // namespace
}  // namespace tandem
