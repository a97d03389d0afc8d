#include "kernels/cpu/winograd/slabs.h"

#include "kernels/cpu/layout.h"
#include "tandem/tensor/threads.h"

namespace tandem::cpu::winograd {
namespace {

constexpr int64_t kColumns = 4 * kPanel;  // results whose products are computed together
constexpr int64_t kMaxTiles = 256;        // that are multiplied by the weights of a point while these are in the cache

/// The points of weights as right operands: panels of the outputs [first, first + count) with a row per input. `first`
/// is a multiple of kPanel.
void weights_to_points(const Points& points, const Weights& weights, int64_t first, int64_t count) {
  constexpr int64_t kRows = 32;  // per work item
  const auto transform = winograd_tables().f32.to_points(weights.side);
  const auto pack_transposed = product_tables().f32.pack_transposed;
  const int64_t taps = weights.side * weights.side;
  const int64_t inputs = weights.inputs, parts = (inputs + kRows - 1) / kRows;
  const float* const values = weights.values.raw<float>();
  parallel_for(padded_to_panels(count) / kPanel * parts, 1, [&](int64_t begin, int64_t end) {
    const Scratch<float> packed(kRows * taps * kPanel);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t panel = i / parts * kPanel, output = first + panel, columns = std::min(kPanel, count - panel);
      const int64_t input = i % parts * kRows, rows = std::min(kRows, inputs - input);
      if (weights.use == WeightUse::forward) {
        pack_transposed(packed.data(), values + (output * inputs + input) * taps, inputs * taps, columns, rows * taps);
      } else {
        for (int64_t row = 0; row < rows; ++row) {
          pack_transposed(packed.data() + row * taps * kPanel,
                          values + ((input + row) * weights.outputs + output) * taps, taps, columns, taps);
        }
      }
      for (int64_t row = 0; row < rows; ++row) {
        const float* g[kMaxTaps];
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t from = weights.use == WeightUse::turned ? taps - 1 - tap : tap;
          g[tap] = packed.data() + (row * taps + from) * kPanel;
        }
        transform(points.at(panel * inputs + (input + row) * kPanel), g, kPanel);
      }
    }
  });
}

}  // namespace

Weights::Weights(const Tensor& w, WeightUse use)
    : values(contiguous(w, kFloat)),
      outputs(w.size(use == WeightUse::forward ? 0 : 1)),
      inputs(w.size(use == WeightUse::forward ? 1 : 0)),
      side(w.size(2)),
      use(use) {}

Slabs::Slabs(const Tiles& tiles, const Weights& weights, int64_t group)
    : tiles_(tiles), weights_(weights), group_(group), width_(padded_to_panels(weights.inputs)) {}

void Slabs::run() const {
  if (tiles_.count < weights_.outputs) {
    by_columns();
  } else {
    by_tiles();
  }
}

void Slabs::by_tiles() const {
  const Points points(padded_to_panels(weights_.outputs), weights_.inputs);
  weights_to_points(points, weights_, 0, weights_.outputs);
  const int64_t cached = slab_of(width_ + kColumns, tiles_.count), threads = get_num_threads();
  const int64_t most = cached < group_ ? cached : cached / group_ * group_;
  const int64_t groups = tiles_.count / group_;
  const int64_t parts = (tiles_.count + most * threads - 1) / (most * threads) * threads;
  const int64_t part = (groups + parts - 1) / parts * group_, slab = std::min(most, part);
  const auto run = [&](int64_t begin, int64_t size, const TwoPoints& of_thread) {
    const Points &data = of_thread.a, &products = of_thread.b;
    for_parts(size, slab, [&](int64_t first, int64_t count) {
      transform_data(data, width_, begin + first, count);
      for_parts(weights_.outputs, kColumns, [&](int64_t column, int64_t columns) {
        multiply(products, data, 0, points, column, begin + first, count, {column, columns});
      });
    });
  };
  parallel_for_parts<TwoPoints>(tiles_.count, part, run, slab, width_, slab, kColumns);
}

void Slabs::by_columns() const {
  const Points data(tiles_.count, width_);
  transform_data(data, width_, 0, tiles_.count);
  const int64_t slab = std::min(tiles_.count, kMaxTiles);
  const auto run = [&](int64_t column, int64_t columns, const TwoPoints& of_thread) {
    const Points &points = of_thread.a, &products = of_thread.b;
    weights_to_points(points, weights_, column, columns);
    for_parts(tiles_.count, slab, [&](int64_t first, int64_t count) {
      multiply(products, data, first, points, 0, first, count, {column, columns});
    });
  };
  parallel_for_parts<TwoPoints>(weights_.outputs, kColumns, run, kColumns, weights_.inputs, slab, kColumns);
}

/// The results of tiles [first, first + count), whose points begin at row `data_row`, for outputs whose weights' points
/// begin at column `points_column`.
void Slabs::multiply(const Points& products, const Points& data, int64_t data_row, const Points& points,
                     int64_t points_column, int64_t first, int64_t count, Channels outputs) const {
  const int64_t inputs = weights_.inputs;
  for (int64_t point = 0; point < kPoints; ++point) {
    product_tables().f32.multiply(products[point], kColumns, data[point] + data_row * width_, width_, 1,
                                  points[point] + points_column * inputs, count, padded_to_panels(outputs.count),
                                  inputs, false);
  }
  transform_products(outputs, first, count, products, kColumns);
}

}  // namespace tandem::cpu::winograd
