// Convolutions and the gradients of their inputs, in slabs of tiles: the inputs of a slab are transformed (per tile),
// multiplied by the weights (36 products of matrices, whose rows are tiles), and the results transformed back.
#include "kernels/cpu/layout.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd/tiles.h"
#include "tandem/tensor/threads.h"

namespace tandem::cpu::winograd {
namespace {

constexpr int64_t kColumns = 4 * kPanel;  // results whose products are computed together
constexpr int64_t kMaxTiles = 256;        // that are multiplied by the weights of a point while these are in the cache

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
    const int64_t slab = (tiles_.count + slabs - 1) / slabs;
    const auto run = [&](int64_t first, int64_t count, const TwoPoints& of_thread) {
      const Points &data = of_thread.a, &products = of_thread.b;
      transform_data(data, first, count);
      for_parts(kernels_.outputs, kColumns, [&](int64_t column, int64_t columns) {
        multiply(products, data, 0, weights, column, first, count, column, columns);
      });
    };
    parallel_for_parts<TwoPoints>(tiles_.count, slab, run, slab, width_, slab, kColumns);
  }

  void by_columns() const {
    const Points data(tiles_.count, width_);
    transform_data(data, 0, tiles_.count);
    const int64_t slab = std::min(tiles_.count, kMaxTiles);
    const auto run = [&](int64_t column, int64_t columns, const TwoPoints& of_thread) {
      const Points &weights = of_thread.a, &products = of_thread.b;
      weights_to_points(weights, kernels_, column, columns);
      for_parts(tiles_.count, slab, [&](int64_t first, int64_t count) {
        multiply(products, data, first, weights, 0, first, count, column, columns);
      });
    };
    parallel_for_parts<TwoPoints>(kernels_.outputs, kColumns, run, kColumns, kernels_.inputs, slab, kColumns);
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

}  // namespace

void conv(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p) {
  const Tensor out = channels_last_result(y, y.dtype());
  Convolution(out, channels_last(x, x.dtype()), Kernels(weight, false), contiguous(bias, kFloat),
              {p.padding[0], p.padding[1]})
      .run();
  deliver(y, out);
}

void conv_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  const Tensor in = channels_last_result(gx, gx.dtype());
  Convolution(in, channels_last(gy, gy.dtype()), Kernels(weight, true), Tensor(),
              {weight.size(2) - 1 - p.padding[0], weight.size(3) - 1 - p.padding[1]})
      .run();
  deliver(gx, in);
}

}  // namespace tandem::cpu::winograd
