// gather, scatter_add, index_select, index_add, scatter_sum and index_sum against plain loops over coordinates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/kernels_under_test.h"
#include "kernels/raw_tensors.h"
#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

/// Returns the row-major coordinates of element i.
std::vector<int64_t> coordinates(int64_t i, IntArrayRef sizes) {
  std::vector<int64_t> at(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    at[d] = i % sizes[d];
    i /= sizes[d];
  }
  return at;
}
int64_t position(const std::vector<int64_t>& at, IntArrayRef sizes) {
  int64_t i = 0;
  for (size_t d = 0; d < sizes.size(); ++d) i = i * sizes[d] + at[d];
  return i;
}

/// Makes a tensor: contiguous (0), with its dimensions reversed in memory (1), or with gaps (2).
Tensor make(IntArrayRef sizes, DType dtype, int layout) {
  Dims strides = contiguous_strides(sizes);
  if (layout == 1) {
    int64_t step = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      strides[d] = step;
      step *= sizes[d];
    }
  }
  if (layout == 2) {
    for (int64_t& s : strides) s *= 2;
  }
  return empty_strided(sizes, strides, dtype);
}

Tensor make_index(IntArrayRef sizes, int64_t size, DType dtype, int layout, uint32_t seed) {
  const Tensor index = make(sizes, dtype, layout);
  std::mt19937 random(seed);
  Values values;
  for (int64_t i = 0; i < index.numel(); ++i) values.push_back(random() % static_cast<uint32_t>(size));
  write(index, values);
  return index;
}

/// Fills with small integers, whose sums are exact in every dtype.
void fill_integers(const Tensor& t, uint32_t seed) {
  std::mt19937 random(seed);
  Values values;
  for (int64_t i = 0; i < t.numel(); ++i) values.push_back(random() % (t.dtype() == kBool ? 2 : 4));
  write(t, values);
}

struct IndexCase {
  DType dtype, index_dtype;
  int layout;
};
std::vector<IndexCase> index_cases() {
  std::vector<IndexCase> all;
  for (DType dtype : {kFloat, kHalf, kBFloat16, kDouble, kLong, kInt, kByte, kBool}) {
    for (DType index_dtype : {kLong, kInt}) {
      for (int layout : {0, 1, 2}) all.push_back({dtype, index_dtype, layout});
    }
  }
  return all;
}
const std::vector<std::vector<int64_t>> kShapes = {{}, {7}, {4, 5}, {3, 1, 6}, {2, 3, 4, 5}, {1, 40}, {40, 1}, {0, 3}};

/// Calls f(case, sizes of the indexed tensor, dim, count along dim in the index).
template <class F>
void for_each_index_case(F&& f) {
  for (const IndexCase& c : index_cases()) {
    for (const auto& shape : kShapes) {
      for (int64_t dim = 0; dim < std::max<int64_t>(1, static_cast<int64_t>(shape.size())); ++dim) {
        const int64_t size = shape.empty() ? 1 : shape[static_cast<size_t>(dim)];
        if (size == 0) continue;
        for (int64_t count : {1, 9}) {
          if (shape.empty() && count > 1) continue;
          f(c, shape, dim, count);
        }
      }
    }
  }
}
std::vector<int64_t> with_size(std::vector<int64_t> shape, int64_t dim, int64_t count) {
  if (!shape.empty()) shape[static_cast<size_t>(dim)] = count;
  return shape;
}
int64_t size_of(const std::vector<int64_t>& shape, int64_t dim) {
  return shape.empty() ? 1 : shape[static_cast<size_t>(dim)];
}

TEST(IndexKernels, GatherAndScatterAdd) {
  for_each_index_case([](const IndexCase& c, const std::vector<int64_t>& shape, int64_t dim, int64_t count) {
    const auto sizes = with_size(shape, dim, count);
    const Tensor x = make(shape, c.dtype, c.layout), y = make(sizes, c.dtype, (c.layout + 1) % 3);
    const Tensor index = make_index(sizes, size_of(shape, dim), c.index_dtype, c.layout, 3);
    fill_integers(x, 1);
    under_test().gather(y, x, dim, index);

    const Tensor sum = make(shape, c.dtype, c.layout);
    fill_integers(sum, 2);
    const Values xs = read(x), indices = read(index);
    Values expected, sums = read(sum);
    for (int64_t i = 0; i < y.numel(); ++i) {
      auto at = coordinates(i, sizes);
      if (!at.empty()) at[static_cast<size_t>(dim)] = static_cast<int64_t>(indices[static_cast<size_t>(i)]);
      const auto from = static_cast<size_t>(position(at, shape));
      expected.push_back(xs[from]);
      sums[from] += expected.back();
      if (c.dtype == kBool) sums[from] = sums[from] != 0;
    }
    ASSERT_EQ(read(y), expected) << name(c.dtype) << to_string(shape) << dim << c.layout;
    under_test().scatter_add(sum, dim, index, y);
    ASSERT_EQ(read(sum), sums) << name(c.dtype) << to_string(shape) << dim << c.layout;
  });
}

TEST(IndexKernels, IndexSelectAndIndexAdd) {
  for_each_index_case([](const IndexCase& c, const std::vector<int64_t>& shape, int64_t dim, int64_t count) {
    const auto sizes = with_size(shape, dim, count);
    const Tensor x = make(shape, c.dtype, c.layout), y = make(sizes, c.dtype, (c.layout + 1) % 3);
    const Tensor index = make_index({count}, size_of(shape, dim), c.index_dtype, c.layout, 3);
    fill_integers(x, 1);
    under_test().index_select(y, x, dim, index);

    const Tensor sum = make(shape, c.dtype, c.layout);
    fill_integers(sum, 2);
    const Values xs = read(x), indices = read(index);
    Values expected, sums = read(sum);
    for (int64_t i = 0; i < y.numel(); ++i) {
      auto at = coordinates(i, sizes);
      if (!at.empty()) {
        int64_t& k = at[static_cast<size_t>(dim)];
        k = static_cast<int64_t>(indices[static_cast<size_t>(k)]);
      }
      const auto from = static_cast<size_t>(position(at, shape));
      expected.push_back(xs[from]);
      sums[from] += expected.back();
      if (c.dtype == kBool) sums[from] = sums[from] != 0;
    }
    ASSERT_EQ(read(y), expected) << name(c.dtype) << to_string(shape) << dim << c.layout;
    under_test().index_add(sum, dim, index, y);
    ASSERT_EQ(read(sum), sums) << name(c.dtype) << to_string(shape) << dim << c.layout;
  });
}

/// Includes the sizes of each way of the CPU: more slices than threads, long rows, few and many terms per row.
const std::vector<std::vector<int64_t>> kSumShapes = {{},      {7},       {4, 5},     {3, 1, 6}, {2, 3, 4, 5}, {40, 3},
                                                      {3, 40}, {5, 2100}, {2, 6, 24}, {0, 3},    {90, 20}};

TEST(IndexKernels, ContiguousRows) {  // as in an embedding; the places share indices
  for (DType dtype : {kFloat, kHalf, kBFloat16, kDouble, kLong, kByte}) {
    for (int64_t n : {16, 12, 5}) {
      const Tensor x = make({50, n}, dtype, 0), y = make({80, n}, dtype, 0);
      const Tensor index = make_index({80}, 50, kLong, 0, 3);
      fill_integers(x, 1);
      under_test().index_select(y, x, 0, index);
      const Tensor sum = make({50, n}, dtype == kByte || dtype == kLong ? dtype : kFloat, 0);
      fill_integers(sum, 2);
      const Values xs = read(x), rows = read(index);
      Values expected, sums = read(sum);
      for (size_t r = 0; r < rows.size(); ++r) {
        for (size_t c = 0; c < static_cast<size_t>(n); ++c) {
          const size_t from = static_cast<size_t>(rows[r]) * static_cast<size_t>(n) + c;
          expected.push_back(xs[from]);
          sums[from] += xs[from];
        }
      }
      ASSERT_EQ(read(y), expected) << name(dtype) << " " << n;
      if (dtype == kDouble) continue;
      under_test().index_add(sum, 0, index, y);
      ASSERT_EQ(read(sum), sums) << name(dtype) << " " << n;
    }
  }
}

TEST(IndexKernels, ReadElementsThatRepeat) {  // as rows of an expanded column
  for (DType dtype : {kByte, kHalf, kFloat, kLong}) {
    Values numbers(48, 77);
    for (size_t i : {0, 1, 2}) numbers[16 * i] = static_cast<double>(i + 1);
    const Tensor x = make_view(tensor_of(numbers, dtype), {3, 16}, {16, 0}, 0);
    const Tensor y = empty({2, 16}, dtype);
    under_test().index_select(y, x, 0, tensor_of({2, 0}, kLong));
    Values expected(16, 3);
    expected.resize(32, 1);
    EXPECT_EQ(read(y), expected) << name(dtype);
    const Tensor positions = make_view(tensor_of({2, 0}, kLong), {2, 16}, {1, 0}, 0);
    under_test().gather(y, x, 0, positions);
    EXPECT_EQ(read(y), expected) << name(dtype);
  }
}

TEST(IndexKernels, ScatterSumAndIndexSum) {
  for (const IndexCase& c : index_cases()) {
    for (const auto& shape : kSumShapes) {
      for (int64_t dim = 0; dim < std::max<int64_t>(1, static_cast<int64_t>(shape.size())); ++dim) {
        const int64_t size = size_of(shape, dim), numel = numel_of(shape);
        if (size == 0 || (numel > 2000 && c.layout > 0)) continue;
        for (int64_t count : {0, 1, 9, 600}) {
          if ((shape.empty() && count != 1) || (count == 600 && numel > 100)) continue;
          const auto sizes = with_size(shape, dim, count);
          const Tensor x = make(shape, c.dtype, c.layout), y = empty(shape, c.dtype);
          const Tensor src = make(sizes, c.dtype, c.layout);
          fill_integers(x, 1);
          fill_integers(src, 2);
          for (bool shared : {false, true}) {
            const std::vector<int64_t> index_sizes = shared ? std::vector<int64_t>{count} : sizes;
            const Tensor index = make_index(index_sizes, size, c.index_dtype, c.layout, 3);
            const Values indices = read(index), terms = read(src);
            for (bool from_zero : {false, true}) {
              Values sums = read(x);
              if (from_zero) sums.assign(sums.size(), 0);
              for (int64_t i = 0; i < src.numel(); ++i) {
                auto at = coordinates(i, sizes);
                if (!at.empty()) {
                  int64_t& k = at[static_cast<size_t>(dim)];
                  k = static_cast<int64_t>(indices[static_cast<size_t>(shared ? k : i)]);
                }
                double& sum = sums[static_cast<size_t>(position(at, shape))];
                sum += terms[static_cast<size_t>(i)];
                if (c.dtype == kBool) sum = sum != 0;
                if (c.dtype == kByte) sum = std::fmod(sum, 256);
              }
              const auto sum_to = shared ? under_test().index_sum : under_test().scatter_sum;
              sum_to(y, from_zero ? Tensor() : x, dim, index, src);
              ASSERT_EQ(read(y), read(tensor_of(sums, c.dtype)))
                  << name(c.dtype) << to_string(shape) << dim << c.layout << count << shared;
            }
          }
        }
      }
    }
  }
}

/// index_sum and scatter_sum of random values equal index_add to a copy of x or to zeros, bit by bit.
void expect_sums_of_passes(DType dtype, DType sums_dtype, int64_t dim, int64_t count) {
  const std::vector<int64_t> shape = {300, 200}, sizes = with_size(shape, dim, count);
  const Tensor x = empty(shape, dtype), src = empty(sizes, dtype), y = empty(shape, dtype);
  const Tensor index = make_index({count}, size_of(shape, dim), kLong, 0, 5);
  Dims strides(2, 0);
  strides[static_cast<size_t>(dim)] = 1;
  write(x, random_values(x.numel(), 1));
  write(src, random_values(src.numel(), 2));
  const Tensor sums = empty(shape, sums_dtype), expected = empty(shape, dtype);
  under_test().copy(sums, x);
  under_test().index_add(sums, dim, index, src);
  under_test().copy(expected, sums);
  under_test().index_sum(y, x, dim, index, src);
  EXPECT_TRUE(bytes_of(y) == bytes_of(expected)) << name(dtype) << dim << " " << count;
  under_test().scatter_sum(y, x, dim, make_view(index, Dims(sizes), strides, 0), src);
  EXPECT_TRUE(bytes_of(y) == bytes_of(expected)) << name(dtype) << dim << " " << count;

  write(sums, Values(static_cast<size_t>(sums.numel()), 0));
  under_test().index_add(sums, dim, index, src);
  under_test().copy(expected, sums);
  under_test().index_sum(y, Tensor(), dim, index, src);
  EXPECT_TRUE(bytes_of(y) == bytes_of(expected)) << name(dtype) << dim << " " << count;
}

TEST(IndexKernels, SumsAreAddedInTheOrderOfIndices) {
  cuda::set_deterministic(true);
  const int threads = get_num_threads();
  for (int used : {1, 3}) {
    set_num_threads(used);
    for (int64_t dim : {0, 1}) {
      for (int64_t count : {100, 1000}) {  // fewer and more terms than places
        expect_sums_of_passes(kFloat, kFloat, dim, count);
        expect_sums_of_passes(kDouble, kDouble, dim, count);
        expect_sums_of_passes(kHalf, kFloat, dim, count);
        expect_sums_of_passes(kBFloat16, kFloat, dim, count);
      }
    }
  }
  set_num_threads(threads);
  cuda::set_deterministic(false);
}

TEST(IndexKernels, SumsOf16BitTermsInF32) {
  for (DType dtype : {kHalf, kBFloat16}) {
    const Tensor sum = scalar_of(0), low = scalar_of(0, dtype), terms = tensor_of(Values(4097, 1), dtype);
    const Tensor index = tensor_of(Values(4097, 0), kLong);
    const Tensor sum1 = make_view(sum, {1}, {1}, 0), low1 = make_view(low, {1}, {1}, 0);
    under_test().index_add(sum1, 0, index, terms);
    EXPECT_EQ(read(sum)[0], 4097);
    under_test().index_add(low1, 0, index, terms);
    EXPECT_EQ(read(low)[0], dtype == kHalf ? 2048 : 256);  // each addition is rounded
  }
}

/// y[index[i]] += src[i] in order, each sum rounded to Y.
template <class Y, class S>
void add_in_order(std::vector<Y>& y, const Tensor& index, const std::vector<S>& src) {
  const auto at = elements_of<int64_t>(index);
  for (size_t i = 0; i < src.size(); ++i) {
    Y& sum = y[static_cast<size_t>(at[i])];
    if constexpr (std::is_same_v<Y, double>) {
      sum += src[i];
    } else {
      sum = Y(static_cast<float>(sum) + static_cast<float>(src[i]));
    }
  }
}

/// Many random floats for few slices: the last bits show the order of the sums.
template <class Y, class S>
void expect_sums_in_order(int64_t size, int64_t count) {
  const DType dtype = dtype_of<Y>, term = dtype_of<S>;
  const auto expect_bits = [&](const Tensor& sums, const std::vector<Y>& expected) {
    const auto actual = elements_of<Y>(sums);
    ASSERT_EQ(actual.size(), expected.size());
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(Y)), 0)
        << name(dtype) << " " << name(term) << " " << size << " " << count;
  };
  // index_add: three slices share an index, along either dimension; scatter_add: an index for each of two slices.
  for (int64_t dim : {0, 1}) {
    const Tensor y = empty(dim == 0 ? Dims{size, 3} : Dims{3, size}, dtype);
    const Tensor src = make(dim == 0 ? Dims{count, 3} : Dims{3, count}, term, static_cast<int>(dim));
    const Tensor index = make_index({count}, size, kLong, 0, 5);
    write(y, random_values(y.numel(), 1));
    write(src, random_values(src.numel(), 2));
    std::vector<std::vector<Y>> columns;
    std::vector<Y> expected(static_cast<size_t>(y.numel()));
    for (int64_t s = 0; s < 3; ++s) {
      const auto slice = [&](const Tensor& t) {
        const auto d = static_cast<size_t>(1 - dim);
        return make_view(t, {t.size(dim)}, {t.strides()[1 - d]}, s * t.strides()[d]);
      };
      auto sums = elements_of<Y>(slice(y));
      add_in_order(sums, index, elements_of<S>(slice(src)));
      for (int64_t k = 0; k < size; ++k) {
        expected[static_cast<size_t>(dim == 0 ? k * 3 + s : s * size + k)] = sums[static_cast<size_t>(k)];
      }
    }
    under_test().index_add(y, dim, index, src);
    expect_bits(y, expected);
  }
  const Tensor y = empty({2, size}, dtype), src = empty({2, count}, term);
  const Tensor index = make_index({2, count}, size, kLong, 0, 6);
  write(y, random_values(y.numel(), 1));
  write(src, random_values(src.numel(), 2));
  std::vector<Y> expected;
  for (int64_t s = 0; s < 2; ++s) {
    auto sums = elements_of<Y>(make_view(y, {size}, {1}, s * size));
    add_in_order(sums, make_view(index, {count}, {1}, s * count),
                 elements_of<S>(make_view(src, {count}, {1}, s * count)));
    expected.insert(expected.end(), sums.begin(), sums.end());
  }
  under_test().scatter_add(y, 1, index, src);
  expect_bits(y, expected);
}

TEST(IndexKernels, DeterministicSumsFollowTheOrderOfIndices) {
  cuda::set_deterministic(true);
  for (int64_t size : {1, 5, 16, 17, 300, 5000}) {
    for (int64_t count : {33, 513, 1000, 3001}) {
      expect_sums_in_order<float, float>(size, count);
      expect_sums_in_order<float, Half>(size, count);
      expect_sums_in_order<double, double>(size, count);
      expect_sums_in_order<BFloat16, BFloat16>(size, count);
    }
  }
  cuda::set_deterministic(false);
}

TEST(IndexKernels, SumsDoNotDependOnThreads) {
  SKIP_ON_CUDA("kernels add few slices atomically, in any order");
  const int threads = get_num_threads();
  for (int64_t dim : {0, 1}) {
    std::vector<char> results[2];
    for (int run = 0; run < 2; ++run) {
      set_num_threads(run == 0 ? 1 : 3);
      const Tensor y = empty({100, 100}), src = empty({1000, 1000});
      const Tensor source = make_view(src, dim == 0 ? Dims{1000, 100} : Dims{100, 1000}, {1000, 1}, 0);
      write(y, random_values(10000, 1));
      write(src, random_values(1000000, 2));
      const Tensor index = make_index({1000}, 100, kLong, 0, 4);
      under_test().index_add(y, dim, index, source);
      results[run] = bytes_of(y);
    }
    EXPECT_TRUE(results[0] == results[1]);
  }
  set_num_threads(threads);
}

TEST(IndexKernels, OutOfRangeThrowsAndLeavesOperandsUnchanged) {
  SKIP_ON_CUDA("the kernel stops: tests/cuda_emulated/device/traps_test.cpp");
  const Tensor x = tensor_of(Values(10, 1), kFloat), y = tensor_of(Values(50000, 7), kFloat);
  for (double bad : {-1.0, 10.0, 1e9}) {
    for (DType dtype : {kLong, kInt}) {
      Values indices(50000, 3);
      indices[40000] = bad;
      const Tensor index = tensor_of(indices, dtype);
      const auto before_x = bytes_of(x), before_y = bytes_of(y);
      const auto expect = [&](const char* op, int64_t dim, auto call) {
        try {
          OpScope running(op);  // kernel errors name the calling op
          call();
          FAIL() << op;
        } catch (const IndexError& e) {
          EXPECT_THAT(e.what(), ::testing::HasSubstr(op));
          EXPECT_THAT(e.what(), ::testing::HasSubstr(std::to_string(static_cast<int64_t>(bad))));
          EXPECT_THAT(e.what(), ::testing::HasSubstr("dimension " + std::to_string(dim) + " of size 10"));
        }
        EXPECT_EQ(bytes_of(x), before_x);
        EXPECT_EQ(bytes_of(y), before_y);
      };
      expect("scatter_add", 0, [&] { under_test().scatter_add(x, 0, index, y); });
      expect("index_add", 0, [&] { under_test().index_add(x, 0, index, y); });
      const Tensor gathered = empty({50000}), sums = empty({10});
      expect("gather", 0, [&] { under_test().gather(gathered, x, 0, index); });
      expect("index_select", 0, [&] { under_test().index_select(gathered, x, 0, index); });
      expect("scatter_sum", 0, [&] { under_test().scatter_sum(sums, x, 0, index, y); });
      expect("index_sum", 0, [&] { under_test().index_sum(sums, x, 0, index, y); });
      // Slices and rows that are summed in cache.
      const Tensor rows = empty({10, 16}), columns = empty({16, 10});
      const Tensor few = make_view(index, {20}, {1}, 39990), repeated = make_view(index, {16, 20}, {0, 1}, 39990);
      expect("index_sum", 0, [&] { under_test().index_sum(rows, Tensor(), 0, few, zeros({20, 16})); });
      expect("index_sum", 1, [&] { under_test().index_sum(columns, Tensor(), 1, few, zeros({16, 20})); });
      expect("scatter_sum", 1, [&] { under_test().scatter_sum(columns, Tensor(), 1, repeated, zeros({16, 20})); });
    }
  }
}

}  // namespace
}  // namespace tandem
