// The loops of a reduction: every term belongs to exactly one output, for any sizes and strides.
#include "kernels/cuda/reduce_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// A tensor that is never read: its sizes and strides need no memory.
Tensor shaped(const Dims& sizes, const Dims& strides) { return make_view(empty({1}), sizes, strides, 0); }
Tensor shaped(const Dims& sizes) { return shaped(sizes, contiguous_strides(sizes)); }

Dims without(Dims sizes, const std::vector<size_t>& dims) {
  for (size_t d : dims) sizes[d] = 1;
  return sizes;
}

/// Maps each output's offset to the offsets of its terms in ascending order.
using Terms = std::map<int64_t, std::vector<int64_t>>;

Terms terms_of(const ReducePlan<2>& plan) {
  Terms terms;
  for (int64_t k = 0; k < plan.kept.numel; ++k) {
    int64_t at[2];
    plan.kept.offsets(k, at);
    auto& own = terms[at[1]];
    for (int64_t t = 0; t < plan.reduced.numel; ++t) {
      int64_t offset[1];
      plan.reduced.offsets(t, offset);
      own.push_back(at[0] + offset[0]);
    }
    std::sort(own.begin(), own.end());
  }
  return terms;
}

/// Computes the same by loops over all coordinates.
Terms expected_terms(const Tensor& x, const Tensor& y) {
  Terms terms;
  const auto offset_in = [](const Tensor& t, IntArrayRef sizes, int64_t i) {
    int64_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) {
      if (t.sizes()[d] > 1) offset += i % sizes[d] * t.strides()[d];
    }
    return offset;
  };
  for (int64_t k = 0; k < y.numel(); ++k) terms[offset_in(y, y.sizes(), k)];
  for (int64_t i = 0; i < x.numel(); ++i) {
    terms[offset_in(y, x.sizes(), i)].push_back(offset_in(x, x.sizes(), i));
  }
  for (auto& [output, own] : terms) std::sort(own.begin(), own.end());
  return terms;
}

void expect_terms(const Tensor& x, const std::vector<size_t>& dims) {
  const Tensor y = shaped(without(x.sizes(), dims));
  const auto plan = make_reduce_plan<2>(x, {&y});
  const Terms terms = terms_of(plan);
  EXPECT_EQ(terms, expected_terms(x, y)) << to_string(x.sizes()) << to_string(x.strides());
  if (plan.reduced.numel > 0 && plan.in_runs_of(8)) {
    for (const auto& [output, own] : terms) {
      ASSERT_EQ(own.front() % 8, 0);
      ASSERT_EQ(own.back() - own.front() + 1, static_cast<int64_t>(own.size()));
      ASSERT_EQ(own.size() % 8, 0u);
    }
  }
}

TEST(ReducePlan, EveryTermBelongsToItsOutput) {
  const std::vector<std::vector<size_t>> reductions = {{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  for (const Dims& sizes : {Dims{1, 1, 1}, Dims{31, 1, 2}, Dims{2, 3, 33}, Dims{2, 33, 3}, Dims{33, 2, 16},
                            Dims{4, 8, 8}, Dims{0, 3, 2}, Dims{3, 0, 2}}) {
    const Dims rows = contiguous_strides(sizes);
    Dims spread = rows, swapped = rows, expanded = rows;
    for (int64_t& s : spread) s *= 3;
    swapped[1] = 1;
    swapped[2] = std::max<int64_t>(sizes[1], 1);
    for (const auto& dims : reductions) {
      expect_terms(shaped(sizes, rows), dims);
      expect_terms(shaped(sizes, spread), dims);
      expect_terms(shaped(sizes, swapped), dims);
      for (size_t d : dims) {  // every repetition of an expanded element is a term
        expanded = rows;
        expanded[d] = 0;
        expect_terms(shaped(sizes, expanded), dims);
      }
    }
  }
}

TEST(ReducePlan, UsesColumnsIfNeighboursHaveDifferentOutputs) {
  const Tensor x = shaped({40, 64}), rows = shaped({40, 1}), columns = shaped({1, 64});
  EXPECT_FALSE(make_reduce_plan<2>(x, {&rows}).columns);
  EXPECT_TRUE(make_reduce_plan<2>(x, {&rows}).in_runs_of(8));
  EXPECT_TRUE(make_reduce_plan<2>(x, {&columns}).columns);
  EXPECT_FALSE(make_reduce_plan<2>(x, {&columns}).in_runs_of(8));
  const Tensor odd = shaped({40, 63}), one = shaped({1, 1});
  EXPECT_FALSE(make_reduce_plan<2>(odd, {&rows}).in_runs_of(8));
  EXPECT_FALSE(make_reduce_plan<2>(x, {&one}).columns);
  EXPECT_TRUE(make_reduce_plan<2>(x, {&one}).in_runs_of(8)) << "40 * 64 in one run";
}

TEST(ReducePlan, SizesBeyondInt32) {
  const int64_t n = (int64_t{1} << 31) + 5;
  const Tensor x = shaped({3, n}), rows = shaped({3, 1}), columns = shaped({1, n});
  const auto by_row = make_reduce_plan<2>(x, {&rows}), by_column = make_reduce_plan<2>(x, {&columns});
  int64_t at[2], offset[1];
  EXPECT_EQ(by_row.reduced.numel, n);
  by_row.kept.offsets(2, at);
  by_row.reduced.offsets(n - 1, offset);
  EXPECT_EQ(at[0] + offset[0], 3 * n - 1);
  EXPECT_EQ(at[1], 2);

  EXPECT_EQ(by_column.kept.numel, n);
  EXPECT_TRUE(by_column.columns);
  by_column.kept.offsets(n - 1, at);
  by_column.reduced.offsets(2, offset);
  EXPECT_EQ(at[0] + offset[0], 3 * n - 1);
  EXPECT_EQ(at[1], n - 1);
}

}  // namespace
}  // namespace tandem::cuda
