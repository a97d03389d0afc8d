// Windows of pooling against loops over all inputs and outputs.
#include "kernels/cuda/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tandem/base/error.h"

namespace tandem::cuda {
namespace {

/// Calls f(in, out, params) for kernels, strides, paddings and dilations on images of up to 12 pixels.
template <class F>
void for_each_window(F f) {
  for (int64_t in = 1; in <= 12; ++in) {
    for (int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (int64_t stride = 1; stride <= 5; ++stride) {
        for (int64_t padding = 0; padding <= kernel / 2; ++padding) {
          for (int64_t dilation = 1; dilation <= 3; ++dilation) {
            const int64_t span = (kernel - 1) * dilation + 1;
            if (in + 2 * padding < span) continue;
            Pool2dParams p;
            p.kernel = {kernel, kernel};
            p.stride = {stride, stride};
            p.padding = {padding, padding};
            p.dilation = {dilation, dilation};
            f(in, (in + 2 * padding - span) / stride + 1, p);
          }
        }
      }
    }
  }
}

TEST(Windows, TapsOfOutputsAndOutputsOfInputs) {
  for_each_window([](int64_t in, int64_t out, const Pool2dParams& p) {
    const Taps taps(in, out, p, 0);
    for (int32_t o = 0; o < out; ++o) {
      const Taps::Range inside = taps.inside(o);
      for (int32_t k = 0; k < taps.kernel; ++k) {
        const int64_t i = o * p.stride[0] + k * p.dilation[0] - p.padding[0];
        const bool is_inside = i >= 0 && i < in;
        ASSERT_EQ(k >= inside.first && k < inside.end, is_inside);
        ASSERT_EQ(taps.input(o, k) >= 0, is_inside);
        if (!is_inside) continue;
        ASSERT_EQ(taps.input(o, k), i);
        const Taps::Range outputs = taps.outputs(static_cast<int32_t>(i));
        ASSERT_TRUE(o >= outputs.first && o < outputs.end) << "input " << i << ", output " << o;
        ASSERT_EQ(taps.tap(static_cast<int32_t>(i), o), k);
      }
    }
    // An output that is listed but has no tap at the input is recognised.
    for (int32_t i = 0; i < in; ++i) {
      const Taps::Range outputs = taps.outputs(i);
      for (int32_t o = outputs.first; o < outputs.end; ++o) {
        const int32_t k = taps.tap(i, o);
        ASSERT_LT(k, taps.kernel);
        ASSERT_TRUE(k < 0 || taps.begin(o) + k * p.dilation[0] == i);
      }
    }
  });
}

TEST(Windows, DisjointWindowsShareAllInputs) {
  int count = 0;
  for_each_window([&](int64_t in, int64_t out, const Pool2dParams& p) {
    const Taps taps(in, out, p, 0);
    std::vector<int> windows(static_cast<size_t>(in)), shares(windows);
    for (int32_t o = 0; o < out; ++o) {
      const Taps::Range share = taps.share(o);
      for (int32_t k = 0; k < taps.kernel; ++k) {
        if (const int32_t i = taps.input(o, k); i >= 0) {
          ++windows[static_cast<size_t>(i)];
          ASSERT_TRUE(!taps.disjoint() || (i >= share.first && i < share.end));
        }
      }
      if (!taps.disjoint()) continue;
      for (int32_t i = share.first; i < share.end; ++i) ++shares[static_cast<size_t>(i)];
    }
    if (!taps.disjoint()) return;
    ++count;
    for (int i : windows) ASSERT_LE(i, 1);
    for (int i : shares) ASSERT_EQ(i, 1) << "in " << in << " out " << out << " stride " << p.stride[0];
  });
  EXPECT_GT(count, 100);
}

void expect_outputs_of_inputs(const Windows& windows) {
  for (int32_t o = 0; o < windows.out; ++o) {
    const Window w = windows.window(o);
    for (int32_t i = w.begin; i < w.end; ++i) {
      ASSERT_LE(windows.first_output(i), o);
      ASSERT_GE(windows.last_output(i), o);
    }
  }
}

TEST(Windows, Averages) {
  for_each_window([](int64_t in, int64_t out, Pool2dParams p) {
    if (p.dilation[0] != 1) return;
    for (bool count_padding : {false, true}) {
      p.count_include_pad = count_padding;
      const Windows windows(in, out, p, 0);
      for (int32_t o = 0; o < out; ++o) {
        int64_t first = in, end = 0, size = 0;
        for (int64_t k = 0; k < p.kernel[0]; ++k) {
          const int64_t i = o * p.stride[0] + k - p.padding[0];
          const bool inside = i >= 0 && i < in;
          size += inside || (count_padding && i < in + p.padding[0]) ? 1 : 0;
          if (!inside) continue;
          first = std::min(first, i);
          end = i + 1;
        }
        const Window w = windows.window(o);
        ASSERT_EQ(w.end - w.begin, std::max(end - first, int64_t{0}));
        ASSERT_TRUE(end <= first || w.begin == first);
        ASSERT_EQ(w.size, size);
      }
      expect_outputs_of_inputs(windows);
    }
  });
}

TEST(Windows, AdaptiveAverages) {
  for (int64_t in : {1, 2, 5, 7, 32, 100003}) {
    for (int64_t out : {1, 2, 3, 7, 50, 33331}) {
      if (out > 2 * in) continue;
      const Windows windows(in, out);
      for (int32_t o = 0; o < out; ++o) {
        const Window w = windows.window(o);
        ASSERT_EQ(w.begin, o * in / out);
        ASSERT_EQ(w.end, ((o + 1) * in + out - 1) / out);
      }
      if (in * out < 10000) expect_outputs_of_inputs(windows);
    }
  }
}

TEST(WindowsErrors, SizesAreLimited) {
  EXPECT_EQ(window_size((int64_t{1} << 31) - 1), 0x7fffffff);
  EXPECT_THROW(window_size(int64_t{1} << 31), NotImplementedError);
  Pool2dParams p;
  p.kernel = {1 << 30, 1};
  EXPECT_NO_THROW(Taps(1 << 29, 1, p, 0));
  EXPECT_THROW(Taps(int64_t{3} << 29, 1, p, 0), NotImplementedError);
}

}  // namespace
}  // namespace tandem::cuda
