// im2col and col2im against the definition, in f64.
#include "kernels/kernels_under_test.h"

#include "kernels/layouts.h"

namespace tandem::testing {
namespace {

struct FoldCase {
  const char* what;
  int64_t n, c, h, w, kh, kw;
  ConvParams p;

  Dims image() const { return {n, c, h, w}; }
  Dims columns() const {
    const auto out = [&](int64_t in, int64_t k, size_t d) {
      return (in + 2 * p.padding[d] - p.dilation[d] * (k - 1) - 1) / p.stride[d] + 1;
    };
    return {n, c, kh, kw, out(h, kh, 0), out(w, kw, 1)};
  }

  /// Calls f(index of the columns, index of the image) for every element of the columns inside the image.
  template <class F>
  void for_each_pair(F&& f) const {
    const Dims s = columns();
    for (int64_t i = 0; i < numel_of(s); ++i) {
      const int64_t plane = i / (kh * kw * s[4] * s[5]), k = i / (kw * s[4] * s[5]) % kh, l = i / (s[4] * s[5]) % kw;
      const int64_t row = i / s[5] % s[4] * p.stride[0] - p.padding[0] + k * p.dilation[0];
      const int64_t column = i % s[5] * p.stride[1] - p.padding[1] + l * p.dilation[1];
      if (row >= 0 && row < h && column >= 0 && column < w) f(i, (plane * h + row) * w + column);
    }
  }
};

const FoldCase kFoldCases[] = {
    {"plain", 2, 3, 6, 5, 3, 2, {}},
    {"one cell", 1, 2, 3, 4, 1, 1, {}},
    {"stride", 2, 2, 7, 9, 2, 3, {.stride = {2, 4}}},
    {"padding", 1, 3, 3, 2, 2, 2, {.padding = {3, 1}}},
    {"dilation", 2, 1, 8, 7, 3, 2, {.padding = {1, 2}, .dilation = {2, 3}}},
    {"all", 2, 3, 9, 6, 3, 2, {.stride = {3, 2}, .padding = {2, 1}, .dilation = {1, 2}}},
    {"no images", 0, 3, 4, 4, 2, 2, {}},
    {"many elements", 3, 5, 20, 19, 3, 3, {.padding = {1, 1}}},
};

template <class F>
void for_each_fold_case(F&& f) {
  for (const FoldCase& c : kFoldCases) {
    for (DType dtype : kFloatingTypes) {
      for (MemoryLayout layout : {MemoryLayout::contiguous, MemoryLayout::channels_last, MemoryLayout::sliced}) {
        f(c, dtype, layout, std::string(c.what) + " " + std::string(name(dtype)) + " " + name(layout));
      }
    }
  }
}

TEST(Fold, ColumnsHoldTheElementsOfWindows) {
  for_each_fold_case([](const FoldCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    const Tensor x = noise(c.image(), dtype, 1, layout), y = unwritten(c.columns(), dtype);
    const std::vector<double> xs = read(x);
    std::vector<double> expected(static_cast<size_t>(y.numel()));
    c.for_each_pair([&](int64_t i, int64_t j) { expected[i] = xs[j]; });
    under_test().im2col(y, x, c.p);
    EXPECT_EQ(read(y), expected) << what;
  });
}

TEST(Fold, ImagesAreSumsOfColumns) {
  for_each_fold_case([](const FoldCase& c, DType dtype, MemoryLayout layout, const std::string& what) {
    const Tensor x = noise(c.columns(), dtype, 2), y = unwritten(c.image(), dtype, layout);
    const std::vector<double> xs = read(x);
    std::vector<double> expected(static_cast<size_t>(y.numel()));
    c.for_each_pair([&](int64_t i, int64_t j) { expected[j] += xs[i]; });
    under_test().col2im(y, x, c.p);
    expect_near(y, expected, c.kh * c.kw, what);
  });
}

// The first 9 terms, 9 x 8192, exceed the largest f16; the 3 others are negative.
TEST(Fold, SumsOfF16AreHeldInF32) {
  const Tensor x = unwritten({1, 1, 12, 1, 12, 1}, kHalf), y = unwritten({1, 1, 1, 1}, kHalf);
  std::vector<double> values;
  for (int i = 0; i < 12 * 12; ++i) values.push_back(i / 12 < 9 ? 8192 : -8192);
  write(x, values);
  under_test().col2im(y, x, {.padding = {11, 0}});
  EXPECT_EQ(read(y)[0], 6 * 8192.0);
}

}  // namespace
}  // namespace tandem::testing
