#pragma once
// Tensors with reproducible values in any layout, for comparing kernels with plain formulas in f64.
#include <cmath>
#include <string>
#include <vector>

#include "kernels/raw_tensors.h"
#include "support/compare.h"

namespace tandem::testing {

inline constexpr DType kFloatingTypes[] = {kFloat, kBFloat16, kHalf, kDouble};

/// The wide dtype of results and statistics: f32, or f64 for f64.
constexpr DType wide(DType dtype) { return dtype == kDouble ? kDouble : kFloat; }

/// A memory layout. transposed: the last two dimensions are swapped. sliced: every row is part of a longer one. spread:
/// a gap after each element. channels_last: the second dimension is innermost.
enum class MemoryLayout { contiguous, transposed, sliced, spread, channels_last };

inline const char* name(MemoryLayout layout) {
  constexpr const char* names[] = {"contiguous", "transposed", "sliced", "spread", "channels_last"};
  return names[static_cast<int>(layout)];
}

inline Dims strides_for(const Dims& sizes, MemoryLayout layout) {
  std::vector<size_t> order;  // from the innermost dimension
  for (size_t d = sizes.size(); d-- > 0;) order.push_back(d);
  if (layout == MemoryLayout::transposed && order.size() > 1) std::swap(order[0], order[1]);
  if (layout == MemoryLayout::channels_last && order.size() > 1) {
    order.erase(order.end() - 2);
    order.insert(order.begin(), 1);
  }
  Dims strides(sizes.size(), 0);
  int64_t step = layout == MemoryLayout::spread ? 2 : 1;
  for (size_t i = 0; i < order.size(); ++i) {
    strides[order[i]] = step;
    step *= sizes[order[i]];
    if (i == 0 && layout == MemoryLayout::sliced) step += 3;
  }
  return strides;
}

/// Returns a tensor with NaN (77 for integers) in every element and gap, which shows elements that a kernel does not
/// write.
inline Tensor unwritten(const Dims& sizes, DType dtype, MemoryLayout layout = MemoryLayout::contiguous) {
  const Dims strides = strides_for(sizes, layout);
  int64_t extent = 1;
  for (size_t d = 0; d < sizes.size(); ++d) extent += std::max<int64_t>(sizes[d] - 1, 0) * strides[d];
  const Tensor memory = empty({extent}, dtype);
  write(memory, std::vector<double>(static_cast<size_t>(extent), is_floating_point(dtype) ? NAN : 77));
  return make_view(memory, sizes, strides, 0);
}

/// Returns values in [-1, 1), rounded to the dtype, that depend on `seed` and the logical position.
inline Tensor noise(const Dims& sizes, DType dtype, uint32_t seed, MemoryLayout layout = MemoryLayout::contiguous) {
  const Tensor x = unwritten(sizes, dtype, layout);
  write(x, random_values(x.numel(), seed));
  return x;
}

/// Compares `actual` with `expected`; each element is a sum of up to `terms` products.
inline void expect_near(const Tensor& actual, const std::vector<double>& expected, int64_t terms,
                        const std::string& what) {
  EXPECT_TRUE(near(actual, expected, tolerance(actual.dtype(), terms))) << what;
}

}  // namespace tandem::testing
