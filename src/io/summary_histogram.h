#pragma once
// The histogram of a tensor, as TensorBoard shows it. Internal.
#include <vector>

#include "src/io/events.h"
#include "tandem/tensor/tensor.h"

namespace tandem::io {

/// Counts the finite elements of `values`, of any dtype, between `edges`, which ascend: a bucket contains its lower
/// edge, the last one both. Elements outside the edges are in no bucket. The result begins with an empty bucket that
/// ends at the first filled one, and ends with the last filled one. Without edges, they are those of TensorFlow's
/// histogram.cc: 0, +-1e-12 * 1.1^i below 1e20, and +-DBL_MAX. Waits for one copy to the host, of a tensor on a device.
Histogram histogram_of(const Tensor& values, const std::vector<double>& edges);

}  // namespace tandem::io
