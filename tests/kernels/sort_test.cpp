// sort, topk, select_ranked and search_sorted against std::stable_sort and linear searches.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/kernels_under_test.h"
#include "layouts.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;
using kernels::Rank;

bool before(double a, double b, bool descending) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return descending ? a_nan && !b_nan : b_nan && !a_nan;
  return descending ? a > b : a < b;
}

/// The positions of a row's elements in sorted order.
std::vector<size_t> order_of(const Values& row, bool descending) {
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return before(row[a], row[b], descending); });
  return order;
}

/// Calls f(first, step) with the place of each row's elements along `dim` in row-major order.
template <class F>
void for_each_line(const Dims& sizes, size_t dim, F f) {
  size_t step = 1, count = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d > dim) step *= static_cast<size_t>(sizes[d]);
    if (d != dim) count *= static_cast<size_t>(sizes[d]);
  }
  for (size_t line = 0; line < count; ++line) {
    f(line, line / step * step * static_cast<size_t>(sizes[dim]) + line % step, step);
  }
}

Values line_of(const Values& x, size_t first, size_t step, size_t n) {
  Values row(n);
  for (size_t i = 0; i < n; ++i) row[i] = x[first + i * step];
  return row;
}

Dims resized(Dims sizes, size_t dim, int64_t size) {
  sizes[dim] = size;
  return sizes;
}

/// Equal numbers, or both NaN.
bool same(double a, double b) { return a == b || (a != a && b != b); }

/// Few distinct numbers, among them NaN, infinities and both zeros where the dtype has them.
Tensor with_equals(const Dims& sizes, DType dtype, MemoryLayout layout, uint32_t seed) {
  const Tensor x = unwritten(sizes, dtype, layout);
  Values v = random_values(x.numel(), seed, -20, 20);
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = std::floor(v[i]);
    if (!is_floating_point(dtype)) v[i] = dtype == kBool ? v[i] > 0 : std::abs(v[i]);
    if (is_floating_point(dtype) && v[i] == 7) v[i] = NAN;
    if (is_floating_point(dtype) && v[i] == 8) v[i] = INFINITY;
    if (is_floating_point(dtype) && v[i] == -8) v[i] = -INFINITY;
    if (is_floating_point(dtype) && v[i] == 3) v[i] = -0.0;
  }
  write(x, v);
  return x;
}

/// Checks values and indices: the elements `want` names of each row.
void expect_selected(const Tensor& values, const Tensor& indices, const Tensor& x, const Dims& sizes, size_t dim,
                     const std::function<std::vector<size_t>(const Values&)>& want, const std::string& what) {
  const Values all = read(x), got = read(values), at = read(indices);
  const size_t n = static_cast<size_t>(sizes[dim]), k = static_cast<size_t>(values.sizes()[dim]);
  for_each_line(sizes, dim, [&](size_t line, size_t first, size_t step) {
    const Values row = line_of(all, first, step, n);
    const std::vector<size_t> chosen = want(row);
    for (size_t i = 0; i < k; ++i) {
      const size_t place = line / step * step * k + line % step + i * step;
      ASSERT_EQ(at[place], static_cast<double>(chosen[i])) << what << ", row " << line << ", " << i;
      ASSERT_TRUE(same(got[place], row[chosen[i]])) << what << ", row " << line << ", " << i;
    }
  });
}

void check(const Dims& sizes, size_t dim, DType dtype, MemoryLayout layout) {
  const Tensor x = with_equals(sizes, dtype, layout, 3);
  const int64_t d = static_cast<int64_t>(dim), n = sizes[dim];
  const std::string what =
      to_string(sizes) + " " + std::string(name(dtype)) + " " + name(layout) + " dim " + std::to_string(dim);
  for (bool descending : {false, true}) {
    const auto order = [&](const Values& row) { return order_of(row, descending); };
    const Tensor values = unwritten(sizes, dtype, layout), indices = unwritten(sizes, kLong, layout);
    under_test().sort(values, indices, x, d, descending);
    expect_selected(values, indices, x, sizes, dim, order, what + " sort");
    for (int64_t k : {int64_t{1}, n / 3, n}) {
      const Dims few = resized(sizes, dim, k);
      const Tensor top = unwritten(few, dtype), at = unwritten(few, kLong);
      under_test().topk(top, at, x, d, descending, true);
      expect_selected(top, at, x, sizes, dim, order, what + " topk " + std::to_string(k));
    }
  }
  const Dims one = resized(sizes, dim, 1);
  const Tensor value = unwritten(one, dtype), at = unwritten(one, kLong);
  for (Rank rank : {Rank::kth, Rank::median, Rank::nanmedian}) {
    const size_t k = static_cast<size_t>(n - 1) / 3;
    under_test().select_ranked(value, at, rank, x, d, static_cast<int64_t>(k));
    expect_selected(
        value, at, x, sizes, dim,
        [&](const Values& row) -> std::vector<size_t> {
          const std::vector<size_t> order = order_of(row, false);
          size_t numbers = 0;
          for (double v : row) numbers += v == v;
          if (rank == Rank::kth) return {order[k]};
          if (rank == Rank::median && numbers < row.size()) return {order[numbers]};
          return {order[numbers > 0 ? (numbers - 1) / 2 : 0]};
        },
        what + " rank " + std::to_string(static_cast<int>(rank)));
  }
}

TEST(SortKernels, Dtypes) {
  for (DType dtype : {kFloat, kDouble, kHalf, kBFloat16, kLong, kInt, kShort, kChar, kByte, kBool}) {
    check({3, 40}, 1, dtype, MemoryLayout::contiguous);
    check({5, 3, 4}, 0, dtype, MemoryLayout::contiguous);
  }
}

TEST(SortKernels, Layouts) {
  for (MemoryLayout layout :
       {MemoryLayout::transposed, MemoryLayout::sliced, MemoryLayout::spread, MemoryLayout::channels_last}) {
    for (size_t dim : {0, 1, 2, 3}) check({2, 5, 3, 7}, dim, dim % 2 ? kFloat : kDouble, layout);
  }
}

TEST(SortKernels, RowLengths) {
  for (int64_t n : {1, 2, 3, 31, 33, 191, 193, 1000, 2047, 2049, 6000}) {
    check({2, n}, 1, kFloat, MemoryLayout::contiguous);
    if (n < 4000) check({1, n}, 1, kLong, MemoryLayout::contiguous);
  }
}

// Long enough for several threads to share one row.
TEST(SortKernels, LongRows) {
  for (DType dtype : {kFloat, kLong, kBFloat16}) {
    const Dims sizes{1, 70000};
    const Tensor x = noise(sizes, kFloat, 5);
    Values v = read(x);
    for (double& e : v) e *= 100;
    const Tensor y = unwritten(sizes, dtype), values = unwritten(sizes, dtype), indices = unwritten(sizes, kLong);
    write(y, v);
    under_test().sort(values, indices, y, 1, false);
    expect_selected(
        values, indices, y, sizes, 1, [](const Values& row) { return order_of(row, false); }, "sort");
    const Tensor top = unwritten({1, 300}, dtype), at = unwritten({1, 300}, kLong);
    under_test().topk(top, at, y, 1, true, true);
    expect_selected(
        top, at, y, sizes, 1, [](const Values& row) { return order_of(row, true); }, "topk");
  }
}

TEST(SortKernels, TopkUnsortedHasTheSameElements) {
  const Tensor x = with_equals({2, 500}, kFloat, MemoryLayout::contiguous, 9);
  const Tensor values = unwritten({2, 60}, kFloat), indices = unwritten({2, 60}, kLong);
  under_test().topk(values, indices, x, 1, true, false);
  const Values all = read(x), at = read(indices);
  for (size_t row = 0; row < 2; ++row) {
    std::vector<size_t> want = order_of(line_of(all, row * 500, 1, 500), true);
    want.resize(60);
    std::sort(want.begin(), want.end());
    std::vector<size_t> got;
    for (size_t i = 0; i < 60; ++i) got.push_back(static_cast<size_t>(at[row * 60 + i]));
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, want);
  }
}

TEST(SortKernels, ExtremeIntegers) {
  const Tensor x =
      tensor({int64_t{5}, INT64_MIN, INT64_MAX, int64_t{-1}, int64_t{0}}).to(unwritten({1}, kLong).device());
  const Tensor values = unwritten({5}, kLong), indices = unwritten({5}, kLong);
  under_test().sort(values, indices, x, 0, true);
  EXPECT_EQ(elements_of<int64_t>(values), (std::vector<int64_t>{INT64_MAX, 5, 0, -1, INT64_MIN}));
  under_test().select_ranked(unwritten({1}, kLong), unwritten({1}, kLong), Rank::median, x, 0, 0);
}

TEST(SortKernels, Search) {
  for (DType dtype : {kFloat, kDouble, kHalf, kBFloat16, kLong, kInt, kByte}) {
    for (int64_t rows : {1, 3}) {
      for (int64_t n : {0, 1, 17}) {
        const Tensor sorted = unwritten({rows, n}, dtype), x = unwritten({3, 9}, dtype);
        Values v = random_values(rows * n, 4, 0, 20), wanted = random_values(27, 5, 0, 22);
        for (double& e : v) e = std::floor(e);
        for (double& e : wanted) e = std::floor(e);
        for (int64_t r = 0; r < rows; ++r) std::sort(v.begin() + r * n, v.begin() + (r + 1) * n);
        if (is_floating_point(dtype)) wanted[3] = NAN;
        write(sorted, v);
        write(x, wanted);
        for (bool right : {false, true}) {
          for (DType index : {kInt, kLong}) {
            const Tensor y = unwritten({3, 9}, index);
            under_test().search_sorted(y, sorted, x, right);
            const Values got = read(y);
            for (int64_t i = 0; i < 27; ++i) {
              const int64_t row = rows == 1 ? 0 : i / 9;
              const double value = wanted[static_cast<size_t>(i)];
              int64_t count = 0;
              for (int64_t j = 0; j < n; ++j) {
                const double e = v[static_cast<size_t>(row * n + j)];
                count += !(right ? e > value : e >= value);
              }
              EXPECT_EQ(got[static_cast<size_t>(i)], static_cast<double>(count)) << name(dtype) << " " << n;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem
