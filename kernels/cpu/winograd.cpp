// Winograd's convolution in slabs of tiles. Of each slab, the inputs are transformed (per tile), multiplied by the
// weights (36 products of matrices, whose rows are tiles), and the results transformed back.
#include "kernels/cpu/winograd.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/product.h"
#include "kernels/cpu/simd/winograd.h"
#include "tandem/tensor/threads.h"

namespace tandem::cpu::winograd {
namespace {

constexpr int kPoints = kWinogradPoints, kMaxTaps = 25;
constexpr int64_t kLine = 64 / sizeof(float);  // between the matrices of two points, so that they use different sets of
                                               // the cache

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

/// Tiles that take about as long as kParallelGrain simple elements.
int64_t grain(int64_t channels) { return std::max<int64_t>(1, kParallelGrain / (kPoints * channels)); }

/// Transforms the squares of side x side pixels of tiles [first, first + count). place(i): of tile first + i.
template <class Place>
void to_points(const Tensor& x, Channels channels, int64_t side, const Tiles& tiles, std::array<int64_t, 2> border,
               int64_t first, int64_t count, Place place) {
  with_table(x.dtype(), [&]<class Pixel>(const WinogradTable<Pixel>& table) {
    const auto transform = table.to_points(side);
    parallel_for(count, grain(channels.count), [&](int64_t begin, int64_t end) {
      const Scratch<Pixel> zeros(channels.count);
      std::fill_n(zeros.data(), channels.count, Pixel(0));
      Squares<Pixel> squares(x, side, tiles, border, channels.begin, zeros.data());
      for (int64_t i = begin; i < end; ++i) transform(place(i), squares.of(first + i), channels.count);
    });
  });
}

/// Transforms products back to results: row i is of tile first + i.
void from_points(const Tensor& y, Channels channels, const Tiles& tiles, int64_t first, int64_t count,
                 const Points& products, int64_t width, const Tensor& bias) {
  const float* const offset = bias.defined() ? bias.raw<float>() + channels.begin : nullptr;
  with_table(y.dtype(), [&]<class Pixel>(const WinogradTable<Pixel>& table) {
    const Scratch<Pixel> unused(channels.count);
    Squares<Pixel> squares(y, tiles.step, tiles, {}, channels.begin, unused.data());
    for (int64_t i = 0; i < count; ++i) {
      table.from_points(tiles.step)(squares.of(first + i), products.at(i * width), offset, channels.count);
    }
  });
}

/// A weight as contiguous f32 [outputs, inputs, side, side]; if `turned`, [inputs, outputs, side, side] rotated by 180
/// degrees.
struct Kernels {
  Kernels(const Tensor& w, bool turned)
      : weight(contiguous(w, kFloat)),
        outputs(w.size(turned ? 1 : 0)),
        inputs(w.size(turned ? 0 : 1)),
        side(w.size(2)),
        turned(turned) {}
  Tensor weight;
  int64_t outputs, inputs, side;
  bool turned;
};

/// The points of kernels as right operands: panels of the outputs [first, first + count) with a row per input. `first`
/// is a multiple of kPanel.
void weights_to_points(const Points& points, const Kernels& kernels, int64_t first, int64_t count) {
  constexpr int64_t kRows = 32;  // per work item
  const auto transform = winograd_tables().f32.to_points(kernels.side);
  const auto pack_transposed = product_tables().f32.pack_transposed;
  const int64_t taps = kernels.side * kernels.side;
  const int64_t inputs = kernels.inputs, parts = (inputs + kRows - 1) / kRows;
  const float* const weight = kernels.weight.raw<float>();
  parallel_for(padded_to_panels(count) / kPanel * parts, 1, [&](int64_t begin, int64_t end) {
    const Scratch<float> values(kRows * taps * kPanel);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t panel = i / parts * kPanel, output = first + panel, columns = std::min(kPanel, count - panel);
      const int64_t input = i % parts * kRows, rows = std::min(kRows, inputs - input);
      if (kernels.turned) {
        for (int64_t row = 0; row < rows; ++row) {
          pack_transposed(values.data() + row * taps * kPanel,
                          weight + ((input + row) * kernels.outputs + output) * taps, taps, columns, taps);
        }
      } else {
        pack_transposed(values.data(), weight + (output * inputs + input) * taps, inputs * taps, columns, rows * taps);
      }
      for (int64_t row = 0; row < rows; ++row) {
        const float* g[kMaxTaps];
        for (int64_t tap = 0; tap < taps; ++tap) {
          g[tap] = values.data() + (row * taps + (kernels.turned ? taps - 1 - tap : tap)) * kPanel;
        }
        transform(points.at(panel * inputs + (input + row) * kPanel), g, kPanel);
      }
    }
  });
}

std::array<int64_t, 2> padding_of(const ConvParams& p) { return {p.padding[0], p.padding[1]}; }

constexpr int64_t kCached = (int64_t{3} << 18) / sizeof(float);  // elements: most of a second-level cache of 1 MiB
constexpr int64_t kColumns = 4 * kPanel;                         // results whose products are computed together

/// Tiles whose points of `channels` channels stay in the cache, of `count`.
int64_t slab_of(int64_t channels, int64_t count) {
  return std::min(count, std::max<int64_t>(24, kCached / (kPoints * channels)));
}

/// Calls run(first, count) for parts of [0, n) of `size`, the last of which may be smaller.
template <class Run>
void for_parts(int64_t n, int64_t size, Run run) {
  for (int64_t first = 0; first < n; first += size) run(first, std::min(size, n - first));
}
/// The same, in parallel.
template <class Run>
void parallel_for_parts(int64_t n, int64_t size, Run run) {
  parallel_for((n + size - 1) / size, 1, [&](int64_t begin, int64_t end) {
    for_parts(std::min(end * size, n) - begin * size, size,
              [&](int64_t first, int64_t count) { run(begin * size + first, count); });
  });
}

/// A convolution of channels-last x to channels-last y. The smaller one of the two operands of the products, the points
/// of all weights or of all tiles, is computed first, by all threads. Then each thread makes a part of the other, and
/// the results that depend on it.
class Convolution {
 public:
  Convolution(const Tensor& y, const Tensor& x, const Kernels& kernels, const Tensor& bias,
              std::array<int64_t, 2> padding)
      : y_(y), x_(x), kernels_(kernels), bias_(bias), padding_(padding), tiles_(y, kernels.side) {}

  void run() const {
    if (tiles_.count < kernels_.outputs) {
      by_columns();
    } else {
      by_tiles();
    }
  }

 private:
  void by_tiles() const {
    const Points weights(padded_to_panels(kernels_.outputs), kernels_.inputs);
    weights_to_points(weights, kernels_, 0, kernels_.outputs);
    const int64_t most = slab_of(width_ + kColumns, tiles_.count), threads = get_num_threads();
    const int64_t slabs = (tiles_.count + most * threads - 1) / (most * threads) * threads;
    parallel_for_parts(tiles_.count, (tiles_.count + slabs - 1) / slabs, [&](int64_t first, int64_t count) {
      const Points data(count, width_), products(count, kColumns);
      transform_data(data, first, count);
      for_parts(kernels_.outputs, kColumns, [&](int64_t column, int64_t columns) {
        multiply(products, data, 0, weights, column, first, count, column, columns);
      });
    });
  }

  void by_columns() const {
    const Points data(tiles_.count, width_);
    transform_data(data, 0, tiles_.count);
    const int64_t slab = slab_of(kColumns, tiles_.count);
    parallel_for_parts(kernels_.outputs, kColumns, [&](int64_t column, int64_t columns) {
      const Points weights(kColumns, kernels_.inputs), products(slab, kColumns);
      weights_to_points(weights, kernels_, column, columns);
      for_parts(tiles_.count, slab, [&](int64_t first, int64_t count) {
        multiply(products, data, first, weights, 0, first, count, column, columns);
      });
    });
  }

  void transform_data(const Points& data, int64_t first, int64_t count) const {
    to_points(x_, {0, kernels_.inputs}, kWinogradSide, tiles_, padding_, first, count,
              [&](int64_t i) { return data.at(i * width_); });
  }

  /// The results of tiles [first, first + count) and channels [column, column + columns), whose operands begin at row
  /// `data_row` and column `weights_column`.
  void multiply(const Points& products, const Points& data, int64_t data_row, const Points& weights,
                int64_t weights_column, int64_t first, int64_t count, int64_t column, int64_t columns) const {
    const int64_t inputs = kernels_.inputs;
    for (int64_t point = 0; point < kPoints; ++point) {
      multiply_(products[point], kColumns, data[point] + data_row * width_, width_, 1,
                weights[point] + weights_column * inputs, count, padded_to_panels(columns), inputs, false);
    }
    from_points(y_, {column, columns}, tiles_, first, count, products, kColumns, bias_);
  }

  const Tensor &y_, &x_;
  const Kernels& kernels_;
  const Tensor& bias_;
  std::array<int64_t, 2> padding_;
  Tiles tiles_;
  int64_t width_ = padded_to_panels(kernels_.inputs);
  decltype(ProductTable<float>::multiply) multiply_ = product_tables().f32.multiply;
};

/// The gradient of the weights, contiguous f32, for channels-last gy and x: sums over the tiles of products of points.
class WeightGradient {
 public:
  WeightGradient(const Tensor& gweight, const Tensor& gy, const Tensor& x, std::array<int64_t, 2> padding)
      : gweight_(gweight), gy_(gy), x_(x), padding_(padding), tiles_(gy, gweight.size(2)) {}

  void run() const {
    if (kPoints * inputs_ * columns_ <= kCached) {
      by_groups();
    } else {
      by_rows();
    }
  }

 private:
  /// Each group of tiles has sums of its own, which stay in the cache. The number of groups depends only on the sizes,
  /// as do the results.
  void by_groups() const {
    constexpr int64_t kMaxGroups = 8, kLeastTiles = 16;
    const int64_t groups = std::clamp<int64_t>(tiles_.count / kLeastTiles, 1, kMaxGroups);
    const int64_t rows = padded_to_panels(inputs_), group = (tiles_.count + groups - 1) / groups;
    const int64_t slab = slab_of(rows + columns_, group);
    const Points sums(groups * inputs_, columns_);
    parallel_for_parts(tiles_.count, group, [&](int64_t begin, int64_t size) {
      const Points data(slab, rows), slopes(slab, columns_);
      for_parts(size, slab, [&](int64_t first, int64_t count) {
        transform_slopes(slopes, begin + first, count, 0);
        transform_data(data, {0, inputs_}, rows, begin + first, count);
        add(sums, begin / group * inputs_, data, rows, {0, inputs_}, slopes, 0, count, first > 0);
      });
    });
    parallel_for(inputs_, grain(gy_.size(1)), [&](int64_t begin, int64_t end) {
      for (int64_t g = 1; g * group < tiles_.count; ++g) {
        for (int64_t point = 0; point < kPoints; ++point) {
          float* const to = sums[point];
          const float* const from = to + g * inputs_ * columns_;
          for (int64_t i = begin * columns_; i < end * columns_; ++i) to[i] += from[i];
        }
      }
      write(sums, begin, {begin, end - begin});
    });
  }

  /// The points of gy are computed first, by all threads. Then each thread computes sums of some inputs.
  void by_rows() const {
    const int64_t rows = rows_per_item(), slab = slab_of(rows, tiles_.count);
    const Points slopes(tiles_.count, columns_);
    for_parts(tiles_.count, slab,
              [&](int64_t first, int64_t count) { transform_slopes(slopes, first, count, first * columns_); });
    parallel_for_parts(inputs_, rows, [&](int64_t row, int64_t size) {
      const Points data(slab, rows), sums(rows, columns_);
      for_parts(tiles_.count, slab, [&](int64_t first, int64_t count) {
        transform_data(data, {row, size}, rows, first, count);
        add(sums, 0, data, rows, {0, size}, slopes, first * columns_, count, first > 0);
      });
      write(sums, 0, {row, size});
    });
  }

  /// A number that divides the work evenly.
  int64_t rows_per_item() const {
    const int64_t threads = get_num_threads();
    int64_t best = 0, least = std::numeric_limits<int64_t>::max();
    for (int64_t rows = 3 * kPanel; rows > 0; rows -= kPanel) {
      const int64_t items = (inputs_ + rows - 1) / rows, longest = (items + threads - 1) / threads * rows;
      if (longest < least) {
        best = rows;
        least = longest;
      }
    }
    return best;
  }

  void transform_slopes(const Points& slopes, int64_t first, int64_t count, int64_t offset) const {
    to_points(gy_, {0, gy_.size(1)}, tiles_.step, tiles_, {}, first, count,
              [&](int64_t i) { return slopes.at(offset + i * kPanel, count * kPanel); });
  }
  void transform_data(const Points& data, Channels channels, int64_t width, int64_t first, int64_t count) const {
    to_points(x_, channels, kWinogradSide, tiles_, padding_, first, count,
              [&](int64_t i) { return data.at(i * width); });
  }
  void add(const Points& sums, int64_t row, const Points& data, int64_t width, Channels channels, const Points& slopes,
           int64_t offset, int64_t count, bool accumulate) const {
    for (int64_t point = 0; point < kPoints; ++point) {
      multiply_(sums[point] + row * columns_, columns_, data[point], 1, width, slopes[point] + offset, channels.count,
                columns_, count, accumulate);
    }
  }
  /// Transforms the sums of some inputs back. Their rows begin at `row`.
  void write(const Points& sums, int64_t row, Channels inputs) const {
    const int64_t outputs = gy_.size(1), side = gweight_.size(2), count = side * side;
    const auto transform = winograd_tables().f32.from_points(side);
    const Scratch<float> taps(count * outputs);
    float* pixels[kMaxTaps];
    for (int64_t tap = 0; tap < count; ++tap) pixels[tap] = taps.data() + tap * outputs;
    for (int64_t i = 0; i < inputs.count; ++i) {
      transform(pixels, sums.at((row + i) * columns_), nullptr, outputs);
      float* const to = gweight_.raw<float>() + (inputs.begin + i) * count;
      for (int64_t output = 0; output < outputs; ++output) {
        for (int64_t tap = 0; tap < count; ++tap) to[output * inputs_ * count + tap] = pixels[tap][output];
      }
    }
  }

  const Tensor &gweight_, &gy_, &x_;
  std::array<int64_t, 2> padding_;
  Tiles tiles_;
  int64_t inputs_ = x_.size(1), columns_ = padded_to_panels(gy_.size(1));
  decltype(ProductTable<float>::multiply) multiply_ = product_tables().f32.multiply;
};

bool is_allowed() {
  static const bool allowed = [] {
    const char* const wanted = std::getenv("TANDEM_WINOGRAD");
    return !(wanted && std::string_view(wanted) == "0");
  }();
  return allowed;
}

bool applies(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p) {
  if (!is_allowed() || x.dim() != 4) return false;
  for (const Tensor* t : {&y, &x, &weight}) {
    if (t->dtype() == kDouble) return false;
  }
  const int64_t side = weight.size(2);
  for (size_t d = 0; d < 2; ++d) {
    if (weight.sizes()[d + 2] != side || p.stride[d] != 1 || p.dilation[d] != 1) return false;
  }
  return (side == 3 || side == 5) && p.groups == 1;
}

}  // namespace

bool pays(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p) {
  if (!applies(y, x, weight, p)) return false;
  // In products of f32, fitted to times of 16 to 1000 channels on 2 cores of a Zen 4 processor (AMD EPYC, family 25).
  const auto inputs = static_cast<double>(x.size(1)), outputs = static_cast<double>(y.size(1));
  const auto padded_inputs = static_cast<double>(padded_to_panels(x.size(1)));
  const auto padded_outputs = static_cast<double>(padded_to_panels(y.size(1)));
  const auto tiles = static_cast<double>(Tiles(y, weight.size(2)).count);
  const double products = kPoints * tiles * padded_inputs * padded_outputs;
  const double transforms = 250 * tiles * (padded_inputs + padded_outputs) + 400 * inputs * outputs;
  const auto terms = static_cast<double>(y.size(0) * y.size(2) * y.size(3) * weight.size(2) * weight.size(3));
  return products + transforms < terms * inputs * outputs / onednn::relative_rate(x.dtype());
}

void conv(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p) {
  const Tensor out = channels_last_result(y, y.dtype());
  Convolution(out, channels_last(x, x.dtype()), Kernels(weight, false), contiguous(bias, kFloat), padding_of(p)).run();
  deliver(y, out);
}

void conv_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  const Tensor in = channels_last_result(gx, gx.dtype());
  Convolution(in, channels_last(gy, gy.dtype()), Kernels(weight, true), Tensor(),
              {weight.size(2) - 1 - p.padding[0], weight.size(3) - 1 - p.padding[1]})
      .run();
  deliver(gx, in);
}

void conv_backward_weight(const Tensor& gweight, const Tensor& gy, const Tensor& x, const ConvParams& p) {
  const bool in_place = gweight.dtype() == kFloat && gweight.is_contiguous();
  const Tensor w =
      in_place ? gweight : kernels::empty_in_layout(gweight.sizes(), gweight.options().dtype(kFloat), false);
  WeightGradient(w, channels_last(gy, gy.dtype()), channels_last(x, x.dtype()), padding_of(p)).run();
  deliver(gweight, w);
}

}  // namespace tandem::cpu::winograd
