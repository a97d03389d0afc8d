#pragma once
// Histograms. Not differentiable. For intervals of equal width without weights, see also histc() in ops/search.h.
#include <optional>
#include <tuple>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Counts the elements of x in the intervals between neighbouring `edges` (rank 1, ascending, of x's dtype), or adds
/// their weights (of x's sizes and dtype). An interval contains its lower edge, the last one its upper edge, too.
/// Elements outside and NaN are not counted. With `density`, the counts are divided by their sum and by the widths of
/// the intervals. Floating dtypes. Returns the counts, in x's dtype, and the edges.
std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& edges, const Tensor& weight = {},
                                     bool density = false);
/// The same for `bins` intervals of equal width in `range` (two numbers), or from x's smallest to its largest element,
/// which waits for the device.
std::tuple<Tensor, Tensor> histogram(const Tensor& x, int64_t bins = 100, std::optional<ArrayRef<double>> range = {},
                                     const Tensor& weight = {}, bool density = false);
/// Counts points in D dimensions: x is [..., D], weight [...]; for each dimension its edges. Returns the counts, of the
/// sizes of the numbers of intervals, and the edges. `range` must be absent.
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, TensorList edges,
                                                    std::optional<ArrayRef<double>> range = {},
                                                    const Tensor& weight = {}, bool density = false);
/// The same with intervals of equal width, `bins` for each dimension or for all; range: two numbers for each dimension.
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, IntArrayRef bins,
                                                    std::optional<ArrayRef<double>> range = {},
                                                    const Tensor& weight = {}, bool density = false);
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, int64_t bins,
                                                    std::optional<ArrayRef<double>> range = {},
                                                    const Tensor& weight = {}, bool density = false);

}  // namespace tandem
#pragma GCC visibility pop
