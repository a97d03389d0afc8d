// reduce, arg_reduce and var_mean against plain loops in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"
#include "tandem/math/reduce.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class ReduceKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(ReduceKernels);

using kernels::Reduction;
constexpr Reduction kReductions[] = {Reduction::sum,      Reduction::mean,        Reduction::prod,
                                     Reduction::max,      Reduction::min,         Reduction::any,
                                     Reduction::all,      Reduction::norm1,       Reduction::norm2,
                                     Reduction::norm_inf, Reduction::sum_squares, Reduction::mean_squares};

double reference(Reduction op, const Values& x) {
  long double sum = 0, abs = 0, squares = 0;  // more precise than the f64 kernels
  double prod = 1, max = -INFINITY, min = INFINITY, max_abs = 0;
  bool any = false, all = true, nan = false;
  for (double v : x) {
    sum += v, abs += std::abs(v), squares += v * v, prod *= v;
    max = std::max(max, v), min = std::min(min, v), max_abs = std::max(max_abs, std::abs(v));
    any |= v != 0, all &= v != 0, nan |= std::isnan(v);
  }
  switch (op) {
    case Reduction::sum:
      return static_cast<double>(sum);
    case Reduction::mean:
      return static_cast<double>(sum) / static_cast<double>(x.size());
    case Reduction::prod:
      return prod;
    case Reduction::max:
      return nan ? NAN : max;
    case Reduction::min:
      return nan ? NAN : min;
    case Reduction::any:
      return any;
    case Reduction::all:
      return all;
    case Reduction::norm1:
      return static_cast<double>(abs);
    case Reduction::norm2:
      return static_cast<double>(std::sqrt(squares));
    case Reduction::norm_inf:
      return nan ? NAN : max_abs;
    case Reduction::sum_squares:
      return static_cast<double>(squares);
    case Reduction::mean_squares:
      return static_cast<double>(squares) / static_cast<double>(x.size());
  }
  return NAN;
}

/// Returns the elements of x for each output, in row-major order of `kept` (sizes with 1 where x is reduced).
std::vector<Values> groups_of(const Tensor& x, const Dims& kept) {
  std::vector<Values> groups(static_cast<size_t>(numel_of(kept)));
  const Values values = read(x);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i, index = 0, step = 1;
    for (size_t d = kept.size(); d-- > 0;) {
      const size_t size = static_cast<size_t>(x.sizes()[d]);
      if (kept[d] != 1) index += rest % size * step, step *= size;
      rest /= size;
    }
    groups[index].push_back(values[i]);
  }
  return groups;
}

/// Returns the sizes of x with 1 in the dimensions selected by `mask`.
Dims reduced(const Dims& sizes, unsigned mask) {
  Dims kept = sizes;
  for (size_t d = 0; d < kept.size(); ++d) {
    if ((mask >> d & 1) != 0) kept[d] = 1;
  }
  return kept;
}

void check(Reduction op, const Tensor& x, const Dims& kept, DType dtype, MemoryLayout out = MemoryLayout::contiguous) {
  const bool is_bool = op == Reduction::any || op == Reduction::all;
  const Tensor y = unwritten(kept, is_bool ? kBool : dtype, out);
  under_test().reduce(y, op, x);
  Values want;
  int64_t terms = 1;
  for (const Values& group : groups_of(x, kept)) {
    want.push_back(reference(op, group));
    terms = static_cast<int64_t>(group.size());
  }
  // Because of the order of the sums, the error is at most that of 64 sequential terms, for any length.
  EXPECT_TRUE(near(y, want, tolerance(y.dtype(), std::min<int64_t>(terms, 64), 1, scale_of(want))))
      << "reduction " << static_cast<int>(op) << " of " << to_string(x.sizes()) << " " << name(x.dtype()) << " to "
      << to_string(kept);
}

TEST_P(ReduceKernels, EveryOperationOverEverySubset) {
  for (const Dims& sizes : {Dims{7}, Dims{5, 40}, Dims{3, 4, 5}, Dims{2, 3, 4, 33}}) {
    for (DType dtype : kFloatingTypes) {
      for (unsigned mask = 0; mask < (1u << sizes.size()); ++mask) {
        for (Reduction op : kReductions) check(op, noise(sizes, dtype, 5), reduced(sizes, mask), dtype);
      }
    }
  }
}

TEST_P(ReduceKernels, Layouts) {
  const Dims sizes = {2, 3, 40, 33};
  for (MemoryLayout layout :
       {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
    for (DType dtype : {kFloat, kHalf}) {
      for (unsigned mask = 0; mask < 16; ++mask) {
        for (Reduction op : {Reduction::sum, Reduction::max, Reduction::norm2}) {
          check(op, noise(sizes, dtype, 6, layout), reduced(sizes, mask), kFloat, MemoryLayout::transposed);
        }
      }
    }
  }
}

TEST_P(ReduceKernels, Sizes) {
  for (int64_t n : {0, 1, 15, 16, 17, 31, 33, 1023, 1025, 100003}) {
    for (DType dtype : kFloatingTypes) {
      for (Reduction op : {Reduction::sum, Reduction::norm2, Reduction::max}) {
        if (n == 0 && op == Reduction::max) continue;
        check(op, noise({n}, dtype, 1), {1}, wide(dtype));
        check(op, noise({3, n}, dtype, 1), {3, 1}, wide(dtype));
        check(op, noise({n, 3}, dtype, 1), {1, 3}, wide(dtype));
      }
    }
  }
}

TEST_P(ReduceKernels, ColumnsInSeveralBlocks) {
  for (DType dtype : {kFloat, kBFloat16}) {
    check(Reduction::sum, noise({70, 3000}, dtype, 1), {1, 3000}, kFloat);
    check(Reduction::sum, noise({3, 70, 1500}, dtype, 2), {3, 1, 1500}, kFloat);
    check(Reduction::sum, noise({3, 70, 1500}, dtype, 2), {1, 70, 1500}, kFloat);
    check(Reduction::sum, noise({9000, 40}, dtype, 3), {1, 40}, kFloat);
  }
}

TEST_P(ReduceKernels, ExpandedInput) {
  const Tensor x = make_view(noise({50}, kFloat, 1), {4, 50, 3}, {0, 1, 0}, 0);
  for (unsigned mask = 0; mask < 8; ++mask) check(Reduction::sum, x, reduced({4, 50, 3}, mask), kFloat);
}

TEST_P(ReduceKernels, EmptyInput) {
  const Tensor x = empty({0, 3}, kFloat);
  const auto result = [&](Reduction op, DType dtype) {
    const Tensor y = unwritten({1, 3}, dtype);
    under_test().reduce(y, op, x);
    return read(y)[2];
  };
  EXPECT_EQ(result(Reduction::sum, kFloat), 0);
  EXPECT_EQ(result(Reduction::prod, kFloat), 1);
  EXPECT_TRUE(std::isnan(result(Reduction::mean, kFloat)));
  EXPECT_EQ(result(Reduction::norm2, kFloat), 0);
  EXPECT_EQ(result(Reduction::any, kBool), 0);
  EXPECT_EQ(result(Reduction::all, kBool), 1);
}

TEST_P(ReduceKernels, NoIntermediateOverflow) {
  const Tensor x = tensor_of(Values(100000, 60000), kHalf), y = unwritten({1}, kHalf);
  under_test().reduce(y, Reduction::mean, x);
  EXPECT_EQ(read(y)[0], 60000);
  under_test().reduce(y, Reduction::norm2, tensor_of({300, 400}, kHalf));
  EXPECT_EQ(read(y)[0], 500);
  const Tensor wide_y = unwritten({1}, kFloat);
  under_test().reduce(wide_y, Reduction::norm2, tensor_of({3e30, 4e30}, kFloat));
  EXPECT_NEAR(read(wide_y)[0], 5e30, 1e24);
}

TEST_P(ReduceKernels, NanWins) {
  for (size_t at : {size_t{0}, size_t{5}, size_t{1000}, size_t{1499}}) {
    Values values = random_values(1500, 3);
    values[at] = NAN;
    for (Reduction op : {Reduction::max, Reduction::min, Reduction::norm_inf, Reduction::sum}) {
      for (const Dims& sizes : {Dims{1500, 1}, Dims{1500, 2}}) {
        const Tensor x = make_view(tensor_of(values, kFloat), sizes, {1, 0}, 0), y = unwritten({1, sizes[1]}, kFloat);
        under_test().reduce(y, op, x);
        EXPECT_TRUE(std::isnan(read(y)[0]));
      }
    }
  }
}

TEST_P(ReduceKernels, Integers) {
  const Tensor x = tensor_of({5, -3, 0, 100}, kInt), y = unwritten({1}, kLong);
  under_test().reduce(y, Reduction::sum, x);
  EXPECT_EQ(read(y)[0], 102);
  under_test().reduce(y, Reduction::min, x);
  EXPECT_EQ(read(y)[0], -3);
  under_test().reduce(y, Reduction::sum, tensor_of(Values(1000, 1), kBool));
  EXPECT_EQ(read(y)[0], 1000);
  const Tensor big = tensor({(int64_t{1} << 60) + 1, int64_t{2}});
  under_test().reduce(y, Reduction::sum, big);
  EXPECT_EQ(elements_of<int64_t>(y)[0], (int64_t{1} << 60) + 3);
  const Tensor mean = unwritten({1}, kFloat);
  under_test().reduce(mean, Reduction::mean, x);
  EXPECT_EQ(read(mean)[0], 25.5);
}

TEST_P(ReduceKernels, SameOnAnyNumberOfThreads) {
  const int threads = get_num_threads();
  for (const Dims& sizes : {Dims{300007}, Dims{700, 513}, Dims{200001, 3}}) {
    const Tensor x = noise(sizes, kFloat, 9);
    for (unsigned mask = 1; mask < (1u << sizes.size()); ++mask) {
      const Dims kept = reduced(sizes, mask);
      std::vector<std::vector<char>> results;
      for (int count : {1, 2, 5}) {
        set_num_threads(count);
        const Tensor y = unwritten(kept, kFloat);
        under_test().reduce(y, Reduction::sum, x);
        results.push_back(bytes_of(y));
      }
      EXPECT_EQ(results[0], results[1]);
      EXPECT_EQ(results[0], results[2]);
    }
  }
  set_num_threads(threads);
}

TEST_P(ReduceKernels, ArgReduce) {
  for (const Dims& sizes : {Dims{1}, Dims{3000}, Dims{5, 40}, Dims{40, 5}, Dims{3, 1030, 4}, Dims{2, 3, 2100}}) {
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed, MemoryLayout::spread}) {
      for (DType dtype : {kFloat, kHalf, kInt}) {
        for (size_t dim = 0; dim < sizes.size(); ++dim) {
          for (bool largest : {true, false}) {
            const Tensor x = unwritten(sizes, dtype, layout);
            Values v = random_values(x.numel(), 4, -50, 50);  // few distinct values, so many are equal
            for (double& e : v) e = std::round(e);
            if (dtype != kInt && v.size() > 30) v[30] = NAN;
            write(x, v);
            const Dims kept = reduced(sizes, 1u << dim);
            const Tensor values = unwritten(kept, dtype, layout), indices = unwritten(kept, kLong);
            under_test().arg_reduce(values, indices, largest, x, static_cast<int64_t>(dim));
            Values want_values, want_indices;
            for (const Values& group : groups_of(x, kept)) {
              size_t best = 0;
              for (size_t i = 1; i < group.size(); ++i) {
                if (std::isnan(group[best])) break;
                if (std::isnan(group[i]) || (largest ? group[i] > group[best] : group[i] < group[best])) best = i;
              }
              want_values.push_back(group[best]);
              want_indices.push_back(static_cast<double>(best));
            }
            EXPECT_TRUE(near(values, want_values, kExact)) << to_string(sizes) << " " << name(layout);
            EXPECT_TRUE(near(indices, want_indices, kExact)) << to_string(sizes) << " " << name(layout);
          }
        }
      }
    }
  }
  const Tensor index = unwritten({1}, kLong);
  under_test().arg_reduce({}, index, true, tensor_of({1, 3, 2}, kFloat), 0);  // the values output is optional
  EXPECT_EQ(read(index)[0], 1);
}

TEST_P(ReduceKernels, VarMean) {
  const Dims sizes = {4, 3, 50};
  for (DType dtype : kFloatingTypes) {
    for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::transposed}) {
      for (unsigned mask = 1; mask < 8; ++mask) {
        for (double correction : {0.0, 1.0}) {
          const Tensor x = unwritten(sizes, dtype, layout);
          write(x, random_values(x.numel(), 2, 99, 101));  // large mean, small variance
          const Dims kept = reduced(sizes, mask);
          const Tensor var = unwritten(kept, wide(dtype)),
                       mean = unwritten(kept, wide(dtype), MemoryLayout::transposed);
          under_test().var_mean(var, mean, x, correction);
          Values want_var, want_mean;
          for (const Values& group : groups_of(x, kept)) {
            const double n = static_cast<double>(group.size()), m = reference(Reduction::sum, group) / n;
            double squares = 0;
            for (double v : group) squares += (v - m) * (v - m);
            want_mean.push_back(m);
            want_var.push_back(squares / std::max(0.0, n - correction));
          }
          EXPECT_TRUE(near(mean, want_mean, tolerance(mean.dtype())));
          EXPECT_TRUE(near(var, want_var, tolerance(var.dtype())));
        }
      }
    }
  }
  const Tensor var = unwritten({1}, kFloat), mean = unwritten({1}, kFloat);
  under_test().var_mean(var, mean, tensor_of({3}, kFloat), 1);
  EXPECT_TRUE(std::isnan(read(var)[0]));
  EXPECT_EQ(read(mean)[0], 3);
}

}  // namespace
}  // namespace tandem
