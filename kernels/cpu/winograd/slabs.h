#pragma once
// Products of the points of tiles with those of weights, in slabs of tiles: the inputs of a slab are transformed (per
// tile), multiplied by the weights (36 products of matrices, whose rows are tiles), and the results transformed back.
#include "kernels/cpu/winograd/tiles.h"

namespace tandem::cpu::winograd {

/// How a convolution uses the weights [a, b, side, side] of its layer.
enum class WeightUse {
  forward,  ///< a outputs of b inputs
  swapped,  ///< b outputs of a inputs
  turned    ///< as swapped, with kernels rotated by 180 degrees
};

/// The weights of a convolution as contiguous f32, and its channels.
struct Weights {
  Weights(const Tensor& w, WeightUse use);
  Tensor values;
  int64_t outputs, inputs, side;
  WeightUse use;
};

/// The smaller one of the two operands of the products, the points of all weights or of all tiles, is computed first,
/// by all threads. Then each thread makes a part of the other, and the results that depend on it.
class Slabs {
 public:
  /// A thread computes whole groups of `group` tiles in order, or all tiles of some outputs in order, so the results of
  /// tiles may overlap within a group. The number of tiles is a multiple of `group`. `tiles` and `weights` must outlive
  /// this object.
  Slabs(const Tiles& tiles, const Weights& weights, int64_t group);
  virtual ~Slabs() = default;
  void run() const;

 protected:
  /// Writes the points of all inputs for tiles [first, first + count), a row per tile.
  virtual void transform_data(const Points& data, int64_t width, int64_t first, int64_t count) const = 0;
  /// Computes results of tiles [first, first + count) from the products, with a row of `width` columns per tile.
  virtual void transform_products(Channels outputs, int64_t first, int64_t count, const Points& products,
                                  int64_t width) const = 0;

 private:
  void by_tiles() const;
  void by_columns() const;
  void multiply(const Points& products, const Points& data, int64_t data_row, const Points& points,
                int64_t points_column, int64_t first, int64_t count, Channels outputs) const;

  const Tiles& tiles_;
  const Weights& weights_;
  int64_t group_, width_;
};

}  // namespace tandem::cpu::winograd
