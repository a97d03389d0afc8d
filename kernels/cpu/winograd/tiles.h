#pragma once
// The tiles of Winograd's convolution, their points, and how the work is divided.
#include <algorithm>
#include <array>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/product.h"
#include "kernels/cpu/simd/winograd.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cpu::winograd {

inline constexpr int kPoints = kWinogradPoints, kMaxTaps = 25;
/// Elements between the matrices of two points, so that they use different sets of a cache.
inline constexpr int64_t kLine = 64 / sizeof(float);

/// Calls f with the table for the dtype.
template <class F>
void with_table(DType dtype, F&& f) {
  const WinogradTables& tables = winograd_tables();
  if (dtype == kFloat) {
    f(tables.f32);
  } else {
    f(dtype == kHalf ? tables.f16 : tables.bf16);
  }
}

/// The tiles that cover the results of a convolution, or their gradient: squares of `step` x `step`.
struct Tiles {
  int64_t step, rows, columns, count;
  Tiles(const Tensor& y, int64_t kernel)
      : step(kWinogradSide + 1 - kernel),
        rows((y.size(2) + step - 1) / step),
        columns((y.size(3) + step - 1) / step),
        count(y.size(0) * rows * columns) {}
};

struct Channels {
  int64_t begin, count;
};

/// Pointers to a channel of the pixels of tiles' squares of side x side, in a channels-last tensor. The first square
/// begins `border` pixels outside the image. Pixels outside are `outside`.
template <class Pixel>
class Squares {
 public:
  Squares(const Tensor& x, int64_t side, const Tiles& tiles, std::array<int64_t, 2> border, int64_t channel,
          Pixel* outside)
      : side_(side),
        tiles_(tiles),
        border_(border),
        height_(x.size(2)),
        width_(x.size(3)),
        channels_(x.size(1)),
        base_(static_cast<Pixel*>(x.raw_bytes()) + channel),
        outside_(outside) {}

  Pixel* const* of(int64_t tile) {
    const int64_t column = tile % tiles_.columns, row = tile / tiles_.columns;
    const int64_t image = row / tiles_.rows, left = column * tiles_.step - border_[1];
    Pixel** pixel = pixels_;
    for (int64_t h = row % tiles_.rows * tiles_.step - border_[0], end = h + side_; h < end; ++h) {
      Pixel* const first = base_ + (image * height_ + h) * width_ * channels_;
      for (int64_t w = left; w < left + side_; ++w) {
        const bool inside = h >= 0 && h < height_ && w >= 0 && w < width_;
        *pixel++ = inside ? first + w * channels_ : outside_;
      }
    }
    return pixels_;
  }

 private:
  int64_t side_;
  const Tiles& tiles_;
  std::array<int64_t, 2> border_;
  int64_t height_, width_, channels_;
  Pixel *base_, *outside_, *pixels_[kPoints];
};

/// 36 matrices of f32.
struct Points {
  Points(int64_t rows, int64_t columns) : stride(rows * columns + kLine), data(kPoints * stride) {}
  int64_t stride;
  Scratch<float> data;

  float* operator[](int64_t point) const { return data.data() + point * stride; }
  /// The place of 16 or more columns, in blocks of 16.
  WinogradPlace at(int64_t offset, int64_t block = kPanel) const { return {data.data() + offset, stride, block}; }
};

/// The points of two matrices.
struct TwoPoints {
  TwoPoints(int64_t rows_a, int64_t columns_a, int64_t rows_b, int64_t columns_b)
      : a(rows_a, columns_a), b(rows_b, columns_b) {}
  Points a, b;
};

/// Transforms the squares of side x side pixels of tiles [first, first + count). place(i): of tile first + i.
template <class Place>
void to_points(const Tensor& x, Channels channels, int64_t side, const Tiles& tiles, std::array<int64_t, 2> border,
               int64_t first, int64_t count, Place place) {
  with_table(x.dtype(), [&]<class Pixel>(const WinogradTable<Pixel>& table) {
    const auto transform = table.to_points(side);
    parallel_for(count, grain_of(kPoints * channels.count), [&](int64_t begin, int64_t end) {
      const Scratch<Pixel> zeros(channels.count);
      std::fill_n(zeros.data(), channels.count, Pixel(0));
      Squares<Pixel> squares(x, side, tiles, border, channels.begin, zeros.data());
      for (int64_t i = begin; i < end; ++i) transform(place(i), squares.of(first + i), channels.count);
    });
  });
}

/// Elements that fill most of a second-level cache of 1 MiB.
inline constexpr int64_t kCached = (int64_t{3} << 18) / sizeof(float);

/// Tiles whose points of `channels` channels stay in the cache, of `count`.
inline int64_t slab_of(int64_t channels, int64_t count) {
  return std::min(count, std::max<int64_t>(24, kCached / (kPoints * channels)));
}

/// Calls run(first, count) for parts of [0, n) of `size`, the last of which may be smaller.
template <class Run>
void for_parts(int64_t n, int64_t size, Run run) {
  for (int64_t first = 0; first < n; first += size) run(first, std::min(size, n - first));
}
/// The same, in parallel, with the buffers that a thread needs: run(first, count, State(arguments...)).
template <class State, class Run, class... Arguments>
void parallel_for_parts(int64_t n, int64_t size, Run run, const Arguments&... arguments) {
  const auto parts = [&](int64_t begin, int64_t end, const State& state) {
    for_parts(std::min(end * size, n) - begin * size, size,
              [&](int64_t first, int64_t count) { run(begin * size + first, count, state); });
  };
  parallel_for_with<State>((n + size - 1) / size, 1, parts, arguments...);
}

}  // namespace tandem::cpu::winograd
