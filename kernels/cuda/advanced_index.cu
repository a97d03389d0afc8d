// index_offsets and nonzero. An index out of range stops the kernel (__trap): the error surfaces at the next call, and
// the device can no longer be used.
#include "kernels/cuda/index_order.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/logical.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// Operands: y, which is contiguous, and index.
template <class Index>
__global__ void __launch_bounds__(kThreads)
    add_offsets(Geometry<2> geometry, int64_t* y, const Index* index, int64_t size, int64_t stride, bool add) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[2];
    geometry.offsets(i, offset);
    const int64_t k = index[offset[1]];
    const int64_t term = checked(k < 0 ? k + size : k, size) * stride;
    y[offset[0]] = add ? y[offset[0]] + term : term;
  }
}

constexpr int64_t kRun = 64;  // elements that one thread looks at, one after another

/// counts: how many elements of each run are true.
__global__ void __launch_bounds__(kThreads) count_runs(int64_t numel, const bool* x, int64_t runs, int64_t* counts) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t run = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; run < runs; run += step) {
    const int64_t end = min(numel, (run + 1) * kRun);
    int64_t count = 0;
    for (int64_t i = run * kRun; i < end; ++i) count += x[i];
    counts[run] = count;
  }
}

/// The sizes of x, and the strides of y's rows and columns.
struct Coordinates {
  int rank;
  int64_t sizes[kMaxRank];
  int64_t row, column;
};

/// sums: how many elements up to the end of each run are true.
__global__ void __launch_bounds__(kThreads)
    write_coordinates(const Coordinates __grid_constant__ shape, int64_t numel, const bool* x, int64_t runs,
                      const int64_t* sums, int64_t* y) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t run = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; run < runs; run += step) {
    const int64_t end = min(numel, (run + 1) * kRun);
    int64_t row = run > 0 ? sums[run - 1] : 0;
    for (int64_t i = run * kRun; i < end; ++i) {
      if (!x[i]) continue;
      int64_t rest = i;
      for (int d = shape.rank - 1; d >= 0; --d) {
        const int64_t quotient = rest / shape.sizes[d];
        y[row * shape.row + d * shape.column] = rest - quotient * shape.sizes[d];
        rest = quotient;
      }
      ++row;
    }
  }
}

}  // namespace

void index_offsets(const Tensor& y, const Tensor& index, int64_t, int64_t size, int64_t stride, bool add) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const auto geometry = logical_geometry<2>(y.sizes(), {y.strides(), index.strides()});
  const Launch shape = grid_stride(geometry.numel);
  if (index.dtype() == DType::I32) {
    launch(add_offsets<int32_t>, shape, geometry, y.raw<int64_t>(), index.raw<int32_t>(), size, stride, add);
  } else {
    launch(add_offsets<int64_t>, shape, geometry, y.raw<int64_t>(), index.raw<int64_t>(), size, stride, add);
  }
}

void nonzero(const Tensor& y, const Tensor& x) {
  const int64_t numel = x.numel(), runs = (numel + kRun - 1) / kRun;
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  Coordinates shape{static_cast<int>(x.dim()), {}, y.strides()[0], y.strides()[1]};
  for (int d = 0; d < shape.rank; ++d) shape.sizes[d] = x.sizes()[static_cast<size_t>(d)];
  const Tensor sums = empty({runs}, TensorOptions(kLong).device(x.device()));
  launch(count_runs, grid_stride(runs), numel, x.raw<bool>(), runs, sums.raw<int64_t>());
  cumsum(sums, sums, 0, false);
  launch(write_coordinates, grid_stride(runs), shape, numel, x.raw<bool>(), runs, sums.raw<int64_t>(),
         y.raw<int64_t>());
}

}  // namespace tandem::cuda
