// The gradient of the weights of a convolution.
#include <algorithm>
#include <limits>

#include "kernels/cpu/layout.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd/tiles.h"
#include "tandem/tensor/threads.h"

namespace tandem::cpu::winograd {
namespace {

/// The gradient of the weights, contiguous f32, for channels-last gy and x: sums over the tiles of products of points,
/// with a row per output and a column per input.
class WeightGradient {
 public:
  WeightGradient(const Tensor& gweight, const Tensor& gy, const Tensor& x, std::array<int64_t, 2> padding)
      : gweight_(gweight), gy_(gy), x_(x), padding_(padding), tiles_(gy, gweight.size(2)) {}

  void run() const {
    if (kPoints * outputs_ * columns_ <= kCached) {
      by_tiles();
    } else {
      by_outputs();
    }
  }

 private:
  /// Each group of tiles has sums of its own, which stay in the cache. The number of groups depends only on the sizes,
  /// as do the results.
  void by_tiles() const {
    constexpr int64_t kMaxGroups = 8, kLeastTiles = 16;
    const int64_t groups = std::clamp<int64_t>(tiles_.count / kLeastTiles, 1, kMaxGroups);
    const int64_t rows = padded_to_panels(outputs_), group = (tiles_.count + groups - 1) / groups;
    const int64_t slab = slab_of(rows + columns_, group);
    const Points sums(groups * outputs_, columns_);
    const auto run = [&](int64_t begin, int64_t size, const TwoPoints& of_thread) {
      const Points &slopes = of_thread.a, &data = of_thread.b;
      for_parts(size, slab, [&](int64_t first, int64_t count) {
        transform_data(data, begin + first, count, 0);
        transform_slopes(slopes, {0, outputs_}, rows, begin + first, count);
        add(sums, begin / group * outputs_, slopes, rows, outputs_, data, 0, count, first > 0);
      });
    };
    parallel_for_parts<TwoPoints>(tiles_.count, group, run, slab, rows, slab, columns_);
    parallel_for(outputs_, grain_of(kPoints * inputs_), [&](int64_t begin, int64_t end) {
      for (int64_t g = 1; g * group < tiles_.count; ++g) {
        for (int64_t point = 0; point < kPoints; ++point) {
          float* const to = sums[point];
          const float* const from = to + g * outputs_ * columns_;
          for (int64_t i = begin * columns_; i < end * columns_; ++i) to[i] += from[i];
        }
      }
      write(sums, begin, {begin, end - begin});
    });
  }

  /// The points of x are computed first, by all threads. Then each thread computes the sums of some outputs.
  void by_outputs() const {
    const int64_t rows = outputs_per_item(), slab = slab_of(rows, tiles_.count);
    const Points data(tiles_.count, columns_);
    for_parts(tiles_.count, slab,
              [&](int64_t first, int64_t count) { transform_data(data, first, count, first * columns_); });
    const auto run = [&](int64_t row, int64_t size, const TwoPoints& of_thread) {
      const Points &slopes = of_thread.a, &sums = of_thread.b;
      for_parts(tiles_.count, slab, [&](int64_t first, int64_t count) {
        transform_slopes(slopes, {row, size}, rows, first, count);
        add(sums, 0, slopes, rows, size, data, first * columns_, count, first > 0);
      });
      write(sums, 0, {row, size});
    };
    parallel_for_parts<TwoPoints>(outputs_, rows, run, slab, rows, rows, columns_);
  }

  /// A number that divides the work evenly.
  int64_t outputs_per_item() const {
    const int64_t threads = get_num_threads();
    int64_t best = 0, least = std::numeric_limits<int64_t>::max();
    for (int64_t rows = 3 * kPanel; rows > 0; rows -= kPanel) {
      const int64_t items = (outputs_ + rows - 1) / rows, longest = (items + threads - 1) / threads * rows;
      if (longest < least) {
        best = rows;
        least = longest;
      }
    }
    return best;
  }

  void transform_data(const Points& data, int64_t first, int64_t count, int64_t offset) const {
    to_points(x_, {0, inputs_}, kWinogradSide, tiles_, padding_, first, count,
              [&](int64_t i) { return data.at(offset + i * kPanel, count * kPanel); });
  }
  void transform_slopes(const Points& slopes, Channels channels, int64_t width, int64_t first, int64_t count) const {
    to_points(gy_, channels, tiles_.step, tiles_, {}, first, count, [&](int64_t i) { return slopes.at(i * width); });
  }
  /// Adds the products of `count` tiles to the rows of `outputs` outputs.
  void add(const Points& sums, int64_t row, const Points& slopes, int64_t width, int64_t outputs, const Points& data,
           int64_t offset, int64_t count, bool accumulate) const {
    for (int64_t point = 0; point < kPoints; ++point) {
      multiply_(sums[point] + row * columns_, columns_, slopes[point], 1, width, data[point] + offset, outputs,
                columns_, count, accumulate);
    }
  }
  /// Transforms the sums of some outputs back. Their rows begin at `row`.
  void write(const Points& sums, int64_t row, Channels outputs) const {
    const int64_t side = gweight_.size(2), taps = side * side;
    const auto transform = winograd_tables().f32.from_points(side);
    const Scratch<float> values(taps * inputs_);
    float* pixels[kMaxTaps];
    for (int64_t tap = 0; tap < taps; ++tap) pixels[tap] = values.data() + tap * inputs_;
    float* to = gweight_.raw<float>() + outputs.begin * inputs_ * taps;
    for (int64_t i = 0; i < outputs.count; ++i) {
      transform(pixels, sums.at((row + i) * columns_), nullptr, inputs_);
      for (int64_t input = 0; input < inputs_; ++input) {
        for (int64_t tap = 0; tap < taps; ++tap) *to++ = pixels[tap][input];
      }
    }
  }

  const Tensor &gweight_, &gy_, &x_;
  std::array<int64_t, 2> padding_;
  Tiles tiles_;
  int64_t outputs_ = gy_.size(1), inputs_ = x_.size(1), columns_ = padded_to_panels(inputs_);
  decltype(ProductTable<float>::multiply) multiply_ = product_tables().f32.multiply;
};

}  // namespace

void conv_backward_weight(const Tensor& gweight, const Tensor& gy, const Tensor& x, const ConvParams& p) {
  const bool in_place = gweight.dtype() == kFloat && gweight.is_contiguous();
  const Tensor w =
      in_place ? gweight : kernels::empty_in_layout(gweight.sizes(), gweight.options().dtype(kFloat), false);
  WeightGradient(w, channels_last(gy, gy.dtype()), channels_last(x, x.dtype()), {p.padding[0], p.padding[1]}).run();
  deliver(gweight, w);
}

}  // namespace tandem::cpu::winograd
