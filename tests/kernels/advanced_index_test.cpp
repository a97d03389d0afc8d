// scatter, index_offsets and nonzero against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/kernels_under_test.h"
#include "kernels/raw_tensors.h"
#include "tandem/base/error.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;
using kernels::Scatter;

constexpr Scatter kCombining[] = {Scatter::multiply, Scatter::max, Scatter::min};

Values small_integers(int64_t count, int64_t low, int64_t high, uint32_t seed) {
  std::mt19937 random(seed);
  Values values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low))));
  }
  return values;
}

Tensor with_values(IntArrayRef sizes, DType dtype, bool transposed, const Values& values) {
  Dims strides = contiguous_strides(sizes);
  if (transposed) strides = {1, sizes[0]};
  const Tensor t = empty_strided(sizes, strides, dtype);
  write(t, values);
  return t;
}

double combined(Scatter op, DType dtype, double y, double s) {
  if (dtype == kBool) return op == Scatter::max ? std::max(y, s) : op == Scatter::assign ? s : std::min(y, s);
  if (op == Scatter::assign) return s;
  if (op == Scatter::multiply) return y * s;
  if (std::isnan(y) || std::isnan(s)) return NAN;
  return op == Scatter::max ? std::max(y, s) : std::min(y, s);
}

/// Scatters [rows, count] values into [rows, size] along dimension 1, or the transposes along dimension 0.
void check_scatter(Scatter op, DType dtype, bool transposed, bool along_first, int64_t rows, int64_t size,
                   int64_t count, bool repeated) {
  const auto sizes = [&](int64_t n) { return along_first ? Dims{n, rows} : Dims{rows, n}; };
  // Few factors differ from 1, so that products stay exact.
  const int64_t low = dtype == kByte || dtype == kBool ? 0 : op == Scatter::multiply ? -1 : -4;
  const int64_t high = op == Scatter::multiply || dtype == kBool ? 2 : 5;
  const Tensor y = with_values(sizes(size), dtype, transposed, small_integers(rows * size, low, high, 1));
  const Tensor src = with_values(sizes(count), dtype, !transposed, small_integers(rows * count, low, high, 2));
  Values indices = small_integers(rows * count, 0, size, 3);
  if (!repeated) {
    for (int64_t i = 0; i < rows * count; ++i) {
      const int64_t j = along_first ? i / rows : i % count;
      indices[static_cast<size_t>(i)] = static_cast<double>((j * 7 + 3) % size);  // size is not a multiple of 7
    }
  }
  const Tensor index = with_values(sizes(count), kLong, transposed, indices);
  Values expected = read(y);
  const Values terms = read(src);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < count; ++j) {
      const auto from = static_cast<size_t>(along_first ? j * rows + r : r * count + j);
      const auto k = static_cast<int64_t>(indices[from]);
      double& place = expected[static_cast<size_t>(along_first ? k * rows + r : r * size + k)];
      place = combined(op, dtype, place, terms[from]);
    }
  }
  under_test().scatter(y, op, along_first ? 0 : 1, index, src);
  ASSERT_EQ(read(y), expected) << static_cast<int>(op) << name(dtype) << transposed << along_first << rows << " "
                               << size << " " << count;
}

TEST(ScatterKernel, Combines) {
  for (DType dtype : {kFloat, kHalf, kBFloat16, kDouble, kLong, kInt, kShort, kChar, kByte, kBool}) {
    for (int layout = 0; layout < 4; ++layout) {
      for (Scatter op : kCombining) {
        check_scatter(op, dtype, layout & 1, layout & 2, 3, 5, 11, true);
        check_scatter(op, dtype, layout & 1, layout & 2, 2, 9, 700, true);  // on CUDA, by sorting
      }
    }
  }
}

TEST(ScatterKernel, Assigns) {
  for (DType dtype : {kFloat, kBFloat16, kDouble, kByte, kBool}) {
    for (int layout = 0; layout < 4; ++layout) {
      check_scatter(Scatter::assign, dtype, layout & 1, layout & 2, 3, 20, 11, false);
      check_scatter(Scatter::assign, dtype, layout & 1, layout & 2, 2, 101, 90, false);
    }
  }
}

TEST(ScatterKernel, TheLastOfSeveralValuesWins) {
  cuda::set_deterministic(true);
  for (int64_t count : {11, 40, 700}) check_scatter(Scatter::assign, kFloat, false, false, 2, 5, count, true);
  cuda::set_deterministic(false);
}

TEST(ScatterKernel, PropagatesNaN) {
  for (DType dtype : {kFloat, kHalf, kDouble}) {
    for (Scatter op : {Scatter::max, Scatter::min}) {
      const Tensor y = tensor_of({1, NAN, 3, 4}, dtype), src = tensor_of({NAN, 2, 5, 2}, dtype);
      under_test().scatter(y, op, 0, tensor_of({0, 1, 2, 0}, kLong), src);
      const Values values = read(y);
      EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
      EXPECT_EQ(values[2], op == Scatter::max ? 5 : 3);
    }
  }
}

TEST(ScatterKernel, ProductsOf16BitFactorsInF32) {
  for (DType dtype : {kHalf, kBFloat16}) {
    const Tensor y = tensor_of({1}, kFloat), src = tensor_of(Values(8, 1.5), dtype);
    under_test().scatter(y, Scatter::multiply, 0, tensor_of(Values(8, 0), kLong), src);
    EXPECT_EQ(read(y)[0], std::pow(1.5, 8));
  }
}

TEST(ScatterKernel, ReadsOneNumberForAllPlaces) {
  const Tensor y = tensor_of(Values(50, 1), kFloat), number = scalar_of(7);
  under_test().scatter(y, Scatter::assign, 0, tensor_of({4, 9, 49}, kLong), make_view(number, {3}, {0}, 0));
  Values expected(50, 1);
  for (size_t i : {4, 9, 49}) expected[i] = 7;
  EXPECT_EQ(read(y), expected);
}

TEST(IndexOffsets, WrapScaleAndAdd) {
  for (DType dtype : {kLong, kInt}) {
    for (bool transposed : {false, true}) {
      const Values indices = small_integers(35, -6, 6, 1), start = small_integers(35, 0, 100, 2);
      const Tensor index = with_values({5, 7}, dtype, transposed, indices);
      const Tensor y = with_values({5, 7}, kLong, false, start);
      Values expected;
      for (bool add : {false, true}) {
        for (size_t i = 0; i < indices.size(); ++i) {
          const double term = (indices[i] < 0 ? indices[i] + 6 : indices[i]) * 13;
          add ? expected[i] += term : static_cast<double&>(expected.emplace_back(term));
        }
        under_test().index_offsets(y, index, 0, 6, 13, add);
        EXPECT_EQ(read(y), expected);
      }
    }
  }
  const Tensor one = scalar_of(-2, kInt), y = empty({4, 2}, kLong);
  under_test().index_offsets(y, make_view(one, {4, 2}, {0, 0}, 0), 0, 6, 1, false);
  EXPECT_EQ(read(y), Values(8, 4));
}

TEST(IndexOffsets, OutOfRangeThrows) {
  SKIP_ON_CUDA("the kernel stops: tests/cuda_emulated/device/traps_test.cpp");
  const Tensor y = empty({3}, kLong);
  for (double bad : {6.0, -7.0, 1e9}) {
    EXPECT_THROW(under_test().index_offsets(y, tensor_of({0, bad, 1}, kLong), 0, 6, 1, false), IndexError);
  }
}

TEST(Nonzero, ListsCoordinatesInOrder) {
  const std::vector<std::vector<int64_t>> shapes = {{7}, {4, 5}, {2, 3, 40}, {1, 1}, {300, 300}, {100000}};
  for (const auto& shape : shapes) {
    for (int64_t one_in : {1, 2, 90}) {
      const Tensor x = empty(shape, kBool);
      Values values = small_integers(x.numel(), 0, one_in, 5), expected;
      int64_t count = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = values[i] == 0;
        if (values[i] == 0) continue;
        ++count;
        std::vector<double> at(shape.size());
        auto rest = static_cast<int64_t>(i);
        for (size_t d = shape.size(); d-- > 0;) {
          at[d] = static_cast<double>(rest % shape[d]);
          rest /= shape[d];
        }
        expected.insert(expected.end(), at.begin(), at.end());
      }
      write(x, values);
      const auto rank = static_cast<int64_t>(shape.size());
      for (bool by_column : {false, true}) {
        const Dims strides = by_column ? Dims{1, std::max<int64_t>(count, 1)} : Dims{rank, 1};
        const Tensor y = empty_strided({count, rank}, strides, kLong);
        under_test().nonzero(y, x);
        ASSERT_EQ(read(y), expected) << to_string(shape) << one_in;
      }
    }
  }
}

}  // namespace
}  // namespace tandem
