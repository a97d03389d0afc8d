#pragma once
// Tensors rounded to float8 with the scales of a recipe.
#include <vector>

#include "tandem/amp/fp8/recipe.h"
#include "tandem/backend.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// A tensor as float8 codes of its sizes with their scales: x = codes * inverse scale, with one scale for the whole
/// tensor or one for each block of the matrices in the last two dimensions.
struct Fp8Tensor {
  Tensor codes;
  Float8Scales scales;

  /// The values, computed in f32 and rounded once. Throws DTypeError for a dtype that is float8 or not floating.
  Tensor dequantize(DType dtype = kFloat) const;
};

/// The scales of one tensor, or of several with a row each, from the largest magnitudes of earlier iterations. All
/// state is on the device, and the host never reads it.
class DelayedScales {
 public:
  /// `dtypes`: the float8 dtype of each tensor. Scales start at 1. Throws StateError for options out of range or no
  /// dtypes.
  DelayedScales(const DelayedScaling& recipe, const std::vector<DType>& dtypes, Device device);

  /// Rounds x with the scale of row `i`, and notes max |x| for the next update. If that scale brings max |x| above the
  /// format's largest number, or below 1/256 of it, the history says nothing about x, and x is rounded with the scale
  /// of Float8CurrentScaling. Once an inf or NaN was noted, the inverse scale is NaN until the next update. Throws
  /// IndexError if there is no such row.
  Fp8Tensor quantize(const Tensor& x, int64_t i) const;
  /// Ends an iteration for rows [first, first + count): computes their scales from the histories, then moves these on
  /// by one place. A row whose amax is 0, inf or NaN keeps its scale; inf and NaN do not stay in the history.
  ///
  /// amax = max of the history, or its most recent entry; scale = (fp8_max / amax) / 2^margin, at most the largest f32.
  void update(int64_t first, int64_t count) const;

  /// [rows, 1 + history length] in f32: the scale, then the history with the current iteration first. Shared, not
  /// copied.
  const Tensor& state() const { return state_; }

 private:
  void check_rows(int64_t first, int64_t count) const;

  DelayedScaling recipe_;
  std::vector<DType> dtypes_;
  Tensor state_;
};

/// Rounds x with a scale from its own largest magnitude. An amax of 0 gives the scale 1; for inf and NaN, the inverse
/// scale is NaN, so that a product with x is no finite number. Throws StateError for options out of range.
Fp8Tensor quantize(const Tensor& x, DType dtype, const Float8CurrentScaling& recipe);
/// Rounds x, of rank 2 or more, with the scales of blocks, chosen in the same way. The 128 numbers that share a scale
/// follow each other along dimension `dim`, -1 or -2: the one over which a product sums. Throws IndexError for another
/// dimension. At the edges, blocks are smaller.
Fp8Tensor quantize(const Tensor& x, Fp8Role role, const Float8BlockScaling& recipe, int64_t dim = -1);
/// Rounds x, of rank 1 or more, or 2 for dimension -2. The scale of a block is the least power of two 2^e, e >= -127,
/// for which amax / fp8_max, rounded to f32, is at most 2^e; an inf gives 2^127, a NaN gives NaN.
Fp8Tensor quantize(const Tensor& x, Fp8Role role, const MXFP8BlockScaling& recipe, int64_t dim = -1);

}  // namespace tandem::amp
#pragma GCC visibility pop
