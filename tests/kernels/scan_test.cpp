// cumsum and the other scans against plain loops in f64.
#include <gtest/gtest.h>

#include "kernels/kernels_under_test.h"
#include "layouts.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

/// Sums of contiguous data along `dim`.
Values cumsum_of(Values x, const Dims& sizes, size_t dim, bool reverse) {
  size_t step = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) step *= static_cast<size_t>(sizes[d]);
  const size_t n = sizes.empty() ? 1 : static_cast<size_t>(sizes[dim]);
  for (size_t at = 0; at < x.size(); ++at) {
    const size_t i = reverse ? x.size() - 1 - at : at, place = i / step % n;
    if (reverse ? place + 1 < n : place > 0) x[i] += x[reverse ? i + step : i - step];
  }
  return x;
}

void check_scan(const Dims& sizes, DType dtype, DType wide_type, MemoryLayout layout) {
  for (size_t dim = 0; dim < std::max<size_t>(1, sizes.size()); ++dim) {
    for (bool reverse : {false, true}) {
      const std::string what = to_string(sizes) + " " + std::string(name(dtype)) + " " + name(layout) + " dim " +
                               std::to_string(dim) + (reverse ? " reverse" : "");
      const Tensor x = unwritten(sizes, dtype, layout), y = unwritten(sizes, wide_type, layout);
      write(x, random_values(x.numel(), 1, -8, 8));
      const Values want = cumsum_of(read(x), sizes, dim, reverse);
      under_test().cumsum(y, x, static_cast<int64_t>(dim), reverse);
      const int64_t terms = wide_type == kDouble && !sizes.empty() ? sizes[dim] : 1;  // the reference sums in f64, too
      EXPECT_TRUE(near(y, want, is_floating_point(wide_type) ? tolerance(wide_type, terms, 1, scale_of(want)) : kExact))
          << what;
    }
  }
}

TEST(ScanKernels, DtypesAndDimensions) {
  for (const Dims& sizes :
       {Dims{}, Dims{1}, Dims{10}, Dims{7, 10}, Dims{3, 33, 5}, Dims{2, 3, 4, 17}, Dims{2, 5, 1100}}) {
    for (DType dtype : kFloatingTypes) {
      check_scan(sizes, dtype, dtype, MemoryLayout::contiguous);
      check_scan(sizes, dtype, wide(dtype), MemoryLayout::contiguous);
    }
    for (DType dtype : {kInt, kLong}) check_scan(sizes, dtype, kLong, MemoryLayout::contiguous);
  }
}

TEST(ScanKernels, Layouts) {
  for (MemoryLayout layout :
       {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
    for (DType dtype : {kFloat, kHalf, kInt}) check_scan({3, 5, 4, 33}, dtype, dtype == kInt ? kLong : kFloat, layout);
  }
}

TEST(ScanKernels, RowLengths) {
  for (int64_t n : {0, 1, 15, 16, 17, 31, 33, 257, 1023, 1025, 9001}) {
    for (DType dtype : {kFloat, kDouble}) {
      check_scan({2, n}, dtype, dtype, MemoryLayout::contiguous);
      if (n <= 1025) check_scan({n, 3}, dtype, dtype, MemoryLayout::contiguous);
    }
  }
}

TEST(ScanKernels, InPlace) {
  for (DType dtype : {kFloat, kHalf}) {
    for (int64_t dim : {0, 1}) {
      const Tensor x = noise({5, 700}, dtype, 1), y = unwritten({5, 700}, dtype);
      under_test().cumsum(y, x, dim, false);
      under_test().cumsum(x, x, dim, false);
      EXPECT_EQ(read(x), read(y)) << name(dtype);
    }
  }
}

TEST(ScanKernels, IntegersWrapAround) {
  const Tensor x = tensor({INT64_MAX, int64_t{1}, int64_t{5}}), y = unwritten({3}, kLong);
  const Tensor there = x.to(y.device());
  under_test().cumsum(y, there, 0, false);
  EXPECT_EQ(elements_of<int64_t>(y), (std::vector<int64_t>{INT64_MAX, INT64_MIN, INT64_MIN + 5}));
}

using kernels::Scan;

struct Scanned {
  Values values, indices;
};

/// A scan of contiguous data along `dim`.
Scanned scan_of(const Values& x, const Dims& sizes, size_t dim, Scan op, bool reverse) {
  size_t step = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) step *= static_cast<size_t>(sizes[d]);
  const size_t n = static_cast<size_t>(sizes[dim]);
  Scanned y{x, Values(x.size())};
  for (size_t at = 0; at < x.size(); ++at) {
    const size_t i = reverse ? x.size() - 1 - at : at, place = i / step % n;
    y.indices[i] = static_cast<double>(place);
    if (reverse ? place + 1 == n : place == 0) continue;
    const size_t last = reverse ? i + step : i - step;
    const double a = y.values[last], b = x[i];
    if (op == Scan::prod) y.values[i] = a * b;
    if (op == Scan::logaddexp) {
      y.values[i] = std::max(a, b) == -INFINITY ? -INFINITY : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
    }
    const bool keeps = op == Scan::max ? a > b : a < b;
    if ((op == Scan::max || op == Scan::min) && b == b && (keeps || a != a)) {
      y.values[i] = a;
      y.indices[i] = y.indices[last];
    }
  }
  return y;
}

void check_scan(const Dims& sizes, DType dtype, MemoryLayout layout) {
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    for (bool reverse : {false, true}) {
      for (Scan op : {Scan::prod, Scan::max, Scan::min, Scan::logaddexp}) {
        const std::string what = to_string(sizes) + " " + std::string(name(dtype)) + " " + name(layout) + " dim " +
                                 std::to_string(dim) + " scan " + std::to_string(static_cast<int>(op));
        const bool extreme = op == Scan::max || op == Scan::min;
        if (op == Scan::logaddexp && !is_floating_point(dtype)) continue;
        const Tensor x = unwritten(sizes, dtype, layout), y = unwritten(sizes, dtype, layout);
        Values v = random_values(x.numel(), 1, -2, 2);
        if (extreme) {
          for (double& e : v) e = std::floor(4 * e);
          if (is_floating_point(dtype) && v.size() > 20) v[v.size() / 2] = NAN;
        } else if (!is_floating_point(dtype)) {
          for (double& e : v) e = e < 0 ? -1 : 1;
        } else if (op == Scan::prod) {
          for (double& e : v) e = 1 + e / 64;
        } else if (v.size() > 20) {
          v[0] = v[1] = -INFINITY;
        }
        write(x, v);
        const Tensor indices = extreme ? unwritten(sizes, kLong, layout) : Tensor();
        const Scanned want = scan_of(read(x), sizes, dim, op, reverse);
        under_test().scan(y, indices, op, x, static_cast<int64_t>(dim), reverse);
        const bool exact = extreme || !is_floating_point(dtype);
        EXPECT_TRUE(near(y, want.values, exact ? kExact : tolerance(dtype, sizes[dim], 1, scale_of(want.values))))
            << what;
        if (extreme) {
          EXPECT_EQ(read(indices), want.indices) << what;
        }
      }
    }
  }
}

TEST(ScanKernels, OtherScans) {
  for (const Dims& sizes : {Dims{1}, Dims{10}, Dims{7, 10}, Dims{3, 33, 5}, Dims{2, 300}, Dims{5, 1100}}) {
    for (DType dtype : {kFloat, kBFloat16, kHalf, kDouble, kInt, kLong})
      check_scan(sizes, dtype, MemoryLayout::contiguous);
  }
  for (MemoryLayout layout :
       {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
    check_scan({3, 5, 4, 33}, kFloat, layout);
  }
}

}  // namespace
}  // namespace tandem
