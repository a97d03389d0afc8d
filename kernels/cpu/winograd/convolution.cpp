// Convolutions and the gradients of their inputs.
#include "kernels/cpu/layout.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd/cost.h"
#include "kernels/cpu/winograd/slabs.h"

namespace tandem::cpu::winograd {
namespace {

/// A convolution of channels-last x to channels-last y: each tile gives a square of y.
class Convolution : public Slabs {
 public:
  Convolution(const Tensor& y, const Tensor& x, const Tiles& tiles, const Weights& weights, const Tensor& bias,
              std::array<int64_t, 2> padding)
      : Slabs(tiles, weights, 1), y_(y), x_(x), tiles_(tiles), bias_(bias), padding_(padding) {}

 private:
  void transform_data(const Points& data, int64_t width, int64_t first, int64_t count) const override {
    to_points(x_, {0, x_.size(1)}, kWinogradSide, tiles_, padding_, first, count,
              [&](int64_t i) { return data.at(i * width); });
  }
  void transform_products(Channels outputs, int64_t first, int64_t count, const Points& products,
                          int64_t width) const override {
    const float* const offset = bias_.defined() ? bias_.raw<float>() + outputs.begin : nullptr;
    with_table(y_.dtype(), [&]<class Pixel>(const WinogradTable<Pixel>& table) {
      const Scratch<Pixel> unused(outputs.count);
      Squares<Pixel> squares(y_, tiles_.step, tiles_, {}, outputs.begin, unused.data());
      const auto transform = table.from_points(tiles_.step);
      for (int64_t i = 0; i < count; ++i) {
        transform(squares.of(first + i), products.at(i * width), offset, outputs.count);
      }
    });
  }

  const Tensor &y_, &x_;
  const Tiles& tiles_;
  const Tensor& bias_;
  std::array<int64_t, 2> padding_;
};

/// The transposed formula for channels-last f32 gx, which begins as zeros: each square of channels-last gy is a tile,
/// and adds to 6 x 6 pixels of gx, in the order of the tiles of an image.
class TransposedConvolution : public Slabs {
 public:
  TransposedConvolution(const Tensor& gx, const Tensor& gy, const Tiles& tiles, const Weights& weights,
                        std::array<int64_t, 2> padding)
      : Slabs(tiles, weights, tiles.rows * tiles.columns), gx_(gx), gy_(gy), tiles_(tiles), padding_(padding) {}

 private:
  void transform_data(const Points& data, int64_t width, int64_t first, int64_t count) const override {
    to_points(gy_, {0, gy_.size(1)}, tiles_.step, tiles_, {}, first, count,
              [&](int64_t i) { return data.at(i * width); });
  }
  void transform_products(Channels outputs, int64_t first, int64_t count, const Points& products,
                          int64_t width) const override {
    const Scratch<float> unused(outputs.count);
    std::fill_n(unused.data(), outputs.count, 0.0F);
    Squares<float> squares(gx_, kWinogradSide, tiles_, padding_, outputs.begin, unused.data());
    const auto add = winograd_tables().add_data;
    for (int64_t i = 0; i < count; ++i) add(squares.of(first + i), products.at(i * width), outputs.count);
  }

  const Tensor &gx_, &gy_;
  const Tiles& tiles_;
  std::array<int64_t, 2> padding_;
};

}  // namespace

void conv(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvParams& p) {
  const Tensor out = channels_last_result(y, y.dtype()), offset = contiguous(bias, kFloat);
  const Tiles tiles(y, weight.size(2));
  const Weights weights(weight, WeightUse::forward);
  Convolution(out, channels_last(x, x.dtype()), tiles, weights, offset, {p.padding[0], p.padding[1]}).run();
  deliver(y, out);
}

void conv_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  const int64_t side = weight.size(2);
  const Tensor slopes = channels_last(gy, gy.dtype());
  if (transposed_is_faster(gx, gy, weight)) {
    const Tensor in = channels_last_result(gx, kFloat);
    fill(in, 0);
    const Tiles tiles(gy, side);
    const Weights weights(weight, WeightUse::swapped);
    TransposedConvolution(in, slopes, tiles, weights, {p.padding[0], p.padding[1]}).run();
    return deliver(gx, in);
  }
  const Tensor in = channels_last_result(gx, gx.dtype());
  const Tiles tiles(gx, side);
  const Weights weights(weight, WeightUse::turned);
  Convolution(in, slopes, tiles, weights, Tensor(), {side - 1 - p.padding[0], side - 1 - p.padding[1]}).run();
  deliver(gx, in);
}

}  // namespace tandem::cpu::winograd
