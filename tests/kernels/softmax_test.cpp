// softmax and softmax_backward against plain loops in f64.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernels_under_test.h"
#include "layouts.h"
#include "support/simd_levels.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

class SoftmaxKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(SoftmaxKernels);

/// Calls f(first, n, step) for every row along `dim` of contiguous data.
template <class F>
void for_each_row(const Dims& sizes, size_t dim, F f) {
  size_t inner = 1, outer = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) inner *= static_cast<size_t>(sizes[d]);
  for (size_t d = 0; d < dim; ++d) outer *= static_cast<size_t>(sizes[d]);
  const size_t n = sizes.empty() ? 1 : static_cast<size_t>(sizes[dim]);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) f(o * n * inner + i, n, inner);
  }
}

Values softmax_of(const Values& x, const Dims& sizes, size_t dim, bool log) {
  Values y(x.size());
  for_each_row(sizes, dim, [&](size_t first, size_t n, size_t step) {
    double max = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; ++i) max = std::max(max, x[first + i * step]);
    for (size_t i = 0; i < n; ++i) sum += std::exp(x[first + i * step] - max);
    for (size_t i = 0; i < n; ++i) {
      const double d = x[first + i * step] - max;
      y[first + i * step] = log ? d - std::log(sum) : std::exp(d) / sum;
    }
  });
  return y;
}

Values backward_of(const Values& gy, const Values& y, const Dims& sizes, size_t dim, bool log) {
  Values gx(y.size());
  for_each_row(sizes, dim, [&](size_t first, size_t n, size_t step) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += gy[first + i * step] * (log ? 1 : y[first + i * step]);
    for (size_t i = 0; i < n; ++i) {
      const size_t k = first + i * step;
      gx[k] = log ? gy[k] - std::exp(y[k]) * sum : y[k] * (gy[k] - sum);
    }
  });
  return gx;
}

void check_softmax(const Dims& sizes, DType dtype, DType wide_type, MemoryLayout layout) {
  for (size_t dim = 0; dim < std::max<size_t>(1, sizes.size()); ++dim) {
    for (bool log : {false, true}) {
      const std::string what = to_string(sizes) + " " + std::string(name(dtype)) + " " + name(layout) + " dim " +
                               std::to_string(dim) + (log ? " log" : "");
      const Tensor x = unwritten(sizes, dtype, layout), y = unwritten(sizes, wide_type, layout);
      write(x, random_values(x.numel(), 1, -8, 8));
      under_test().softmax(y, x, static_cast<int64_t>(dim), log);
      const Values want = softmax_of(read(x), sizes, dim, log);
      EXPECT_TRUE(near(y, want, tolerance(wide_type, 64, 1, scale_of(want)))) << what;

      const Tensor gy = noise(sizes, wide_type, 2), gx = unwritten(sizes, dtype, layout);
      under_test().softmax_backward(gx, gy, y, static_cast<int64_t>(dim), log);
      const Values want_gx = backward_of(read(gy), read(y), sizes, dim, log);
      EXPECT_TRUE(near(gx, want_gx, tolerance(dtype, 64, 1, scale_of(want_gx)))) << what << " backward";
    }
  }
}

TEST_P(SoftmaxKernels, DtypesAndDimensions) {
  for (const Dims& sizes : {Dims{}, Dims{1}, Dims{10}, Dims{7, 10}, Dims{3, 33, 5}, Dims{2, 3, 4, 17}}) {
    for (DType dtype : kFloatingTypes) {
      check_softmax(sizes, dtype, dtype, MemoryLayout::contiguous);
      check_softmax(sizes, dtype, wide(dtype), MemoryLayout::contiguous);
    }
  }
}

TEST_P(SoftmaxKernels, Layouts) {
  for (MemoryLayout layout :
       {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
    for (DType dtype : {kFloat, kHalf}) check_softmax({3, 5, 4, 33}, dtype, kFloat, layout);
    check_softmax({3, 5, 4, 33}, kBFloat16, kBFloat16, layout);
  }
}

TEST_P(SoftmaxKernels, RowLengths) {
  for (int64_t n : {0, 1, 15, 16, 17, 31, 33, 1023, 1025, 50003}) {
    for (DType dtype : kFloatingTypes) {
      check_softmax({2, n}, dtype, dtype, MemoryLayout::contiguous);
      if (n <= 1025) check_softmax({n, 3}, dtype, dtype, MemoryLayout::contiguous);
    }
  }
}

TEST_P(SoftmaxKernels, ExtremeValues) {
  const double largest = std::numeric_limits<float>::max();
  for (bool log : {false, true}) {
    const Tensor y = unwritten({4}, kFloat);
    under_test().softmax(y, tensor_of({1000, 999, -INFINITY, -largest}, kFloat), 0, log);
    const double p = 1 / (1 + std::exp(-1.0));
    const Values want = {p, 1 - p, 0, 0};
    if (log) {
      EXPECT_TRUE(near(y, {std::log(p), std::log(1 - p), -INFINITY, -largest}, tolerance(kFloat)));
    } else {
      EXPECT_TRUE(near(y, want, tolerance(kFloat)));
    }
    under_test().softmax(y, tensor_of(Values(4, -INFINITY), kFloat), 0, log);
    EXPECT_TRUE(std::isnan(read(y)[0]));
    for (DType dtype : {kFloat, kBFloat16}) {
      for (const Values& x : {Values{1, NAN, 2, 3}, Values{1, 2, NAN}, Values{NAN, NAN}, Values{INFINITY, 1, 2}}) {
        const Tensor z = unwritten({static_cast<int64_t>(x.size())}, dtype);
        under_test().softmax(z, tensor_of(x, dtype), 0, log);
        for (double v : read(z)) EXPECT_TRUE(std::isnan(v));
      }
    }
  }
}

TEST_P(SoftmaxKernels, InPlace) {
  for (bool log : {false, true}) {
    for (DType dtype : {kFloat, kHalf, kBFloat16}) {
      const Tensor x = noise({5, 3000}, dtype, 1), y = unwritten({5, 3000}, dtype);
      under_test().softmax(y, x, 1, log);
      under_test().softmax(x, x, 1, log);
      EXPECT_EQ(bytes_of(x), bytes_of(y));
    }
  }
}

}  // namespace
}  // namespace tandem
