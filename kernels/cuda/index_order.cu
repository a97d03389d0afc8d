// index_order: a stable radix sort with four bits per pass, whose work depends only on the number of indices. Each
// thread sorts a run of indices; a pass takes three launches.
#include "kernels/cuda/index_order.h"

#include <utility>

#include "kernels/cuda/launch.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr int kDigitBits = 4, kDigits = 1 << kDigitBits;
constexpr int64_t kRun = 64;  // indices that one thread places, one after another

/// Calls f(position, digit) for run number `run` of a row, in the current order; null: the original order.
template <class Index, class F>
__device__ __forceinline__ void for_each_digit(const IndexRows<Index>& rows, const int64_t* order, int64_t row,
                                               int64_t run, int shift, F f) {
  const int64_t start = rows.start(row), end = min(rows.count, (run + 1) * kRun);
  for (int64_t j = run * kRun; j < end; ++j) {
    const int64_t position = order ? order[row * rows.count + j] : j;
    f(position, static_cast<int>(rows.at(start, position) >> shift) & (kDigits - 1));
  }
}

/// counts [rows, digits, runs]: how many of a run's indices have each digit.
template <class Index>
__global__ void __launch_bounds__(kThreads)
    count_digits(IndexRows<Index> rows, const int64_t* order, int shift, int64_t runs, int64_t* counts) {
  __shared__ int64_t found[kDigits][kThreads];  // one column per thread
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows.starts.numel * runs; i += step) {
    const int64_t row = i / runs, run = i - row * runs;
    for (int d = 0; d < kDigits; ++d) found[d][threadIdx.x] = 0;
    for_each_digit(rows, order, row, run, shift, [&](int64_t, int digit) { ++found[digit][threadIdx.x]; });
    for (int d = 0; d < kDigits; ++d) counts[(row * kDigits + d) * runs + run] = found[d][threadIdx.x];
  }
}

/// Replaces each of the n counts of a row by the sum of those before it: the position for the run's indices with that
/// digit.
__global__ void __launch_bounds__(kThreads) sum_before(int64_t rows, int64_t n, int64_t* counts) {
  constexpr int kShare = 8;  // counts per thread at a time
  __shared__ int64_t sums[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    int64_t* const of_row = counts + row * n;
    int64_t before = 0;
    for (int64_t first = 0; first < n; first += kThreads * kShare) {
      const int64_t begin = first + thread * kShare, end = min(n, begin + kShare);
      int64_t own = 0;
      for (int64_t i = begin; i < end; ++i) own += of_row[i];
      sums[thread] = own;
      for (int distance = 1; distance < kThreads; distance *= 2) {
        __syncthreads();
        const int64_t lower = thread >= distance ? sums[thread - distance] : 0;
        __syncthreads();
        sums[thread] += lower;
      }
      __syncthreads();
      int64_t sum = before + sums[thread] - own;
      before += sums[kThreads - 1];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t count = of_row[i];
        of_row[i] = sum;
        sum += count;
      }
      __syncthreads();  // all threads have read the sums
    }
  }
}

/// Sorts the positions by the digit; positions with the same digit keep their order.
template <class Index>
__global__ void __launch_bounds__(kThreads) place_digits(IndexRows<Index> rows, const int64_t* order, int shift,
                                                         int64_t runs, const int64_t* places, int64_t* sorted) {
  __shared__ int64_t next[kDigits][kThreads];
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows.starts.numel * runs; i += step) {
    const int64_t row = i / runs, run = i - row * runs;
    for (int d = 0; d < kDigits; ++d) next[d][threadIdx.x] = places[(row * kDigits + d) * runs + run];
    for_each_digit(rows, order, row, run, shift, [&](int64_t position, int digit) {
      sorted[row * rows.count + next[digit][threadIdx.x]++] = position;
    });
  }
}

}  // namespace

template <class Index>
Tensor index_order(const IndexRows<Index>& rows, Device device) {
  const int64_t runs = (rows.count + kRun - 1) / kRun, row_count = rows.starts.numel;
  const TensorOptions options = TensorOptions(kLong).device(device);
  const Tensor counts = empty({row_count, kDigits, runs}, options);
  Tensor order, sorted;
  for (int shift = 0; shift == 0 || (rows.size - 1) >> shift > 0; shift += kDigitBits) {
    if (!sorted.defined()) sorted = empty({row_count, rows.count}, options);
    const int64_t* before = order.defined() ? order.raw<int64_t>() : nullptr;
    const Launch by_run = grid_stride(row_count * runs);
    launch(count_digits<Index>, by_run, rows, before, shift, runs, counts.raw<int64_t>());
    launch(sum_before, block_stride(row_count), row_count, kDigits * runs, counts.raw<int64_t>());
    launch(place_digits<Index>, by_run, rows, before, shift, runs, counts.raw<int64_t>(), sorted.raw<int64_t>());
    std::swap(order, sorted);
  }
  return order;
}

template Tensor index_order(const IndexRows<int32_t>&, Device);
template Tensor index_order(const IndexRows<int64_t>&, Device);

}  // namespace tandem::cuda
