// embedding_bag, gathered_dots. Contract: f16 and bf16 are widened to f32; sums are held in f32 (f64 for f64), those of
// gathered_dots in f64, and rounded once. One thread per element of a bag's result, with adjacent threads in adjacent
// columns. An index or offset out of range stops the kernel. Deterministic.
#include "kernels/compute.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/index_order.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"

namespace tandem::cuda {
namespace {

using kernels::Bag;

/// A matrix of rows that are read by index.
template <class T>
struct Table {
  const T* data;
  int64_t row, step, rows;
  explicit Table(const Tensor& x) : data(x.raw<T>()), row(x.strides()[0]), step(x.strides()[1]), rows(x.sizes()[0]) {}
  template <class C>
  __device__ C at(int64_t i, int64_t d) const {
    return convert<C>(data[i * row + d * step]);
  }
};

struct Bags {
  const int64_t *indices, *offsets;
  int64_t n, offset_count, bags, width, padding_idx;
};

/// Grid: x steps through the columns, y through the bags. For more than four blocks on a multiprocessor, the compiler
/// would spill registers on compute capability 12.
template <class T, class C, bool kMax>
__global__ void __launch_bounds__(kThreads, 4)
    fold_bags(Bags of, Table<T> weight, const T* scale, T* y, int64_t* winner, bool mean) {
  for (int64_t b = blockIdx.y; b < of.bags; b += gridDim.y) {
    const int64_t begin = of.offsets[b], end = b + 1 < of.offset_count ? of.offsets[b + 1] : of.n;
    if (begin < 0 || end < begin || end > of.n || (b == 0 && begin != 0)) __trap();
    for (int64_t d = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; d < of.width;
         d += int64_t{gridDim.x} * blockDim.x) {
      C sum = 0;
      int64_t count = 0, from = -1;
      for (int64_t j = begin; j < end; ++j) {
        const int64_t k = checked(of.indices[j], weight.rows);
        if (k == of.padding_idx) continue;
        const C v = weight.template at<C>(k, d);
        if constexpr (kMax) {
          if (count == 0 || v > sum) {
            sum = v;
            from = k;
          }
        } else {
          sum += scale ? convert<C>(scale[j]) * v : v;
        }
        ++count;
      }
      if (mean && count > 0) sum /= static_cast<C>(count);
      y[b * of.width + d] = convert<T>(sum);
      if constexpr (kMax) winner[b * of.width + d] = from;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) multiply_rows(int64_t n, int64_t width, T* y, Table<T> a,
                                                          const int64_t* a_rows, Table<T> b, const int64_t* b_rows) {
  using G = Group<false>;
  for (int64_t first = G::first_row(); first < n; first += G::row_step()) {
    const int64_t j = first + G::row();
    double sum = 0;
    if (j < n) {
      const int64_t u = checked(a_rows[j], a.rows), v = checked(b_rows[j], b.rows);
      for (int64_t d = G::thread(); d < width; d += G::width()) {
        sum += a.template at<double>(u, d) * b.template at<double>(v, d);
      }
    }
    sum = G::sum(sum);
    if (j < n && G::thread() == 0) y[j] = convert<T>(sum);
  }
}

}  // namespace

void embedding_bag(const Tensor& y, const Tensor& winner, const Tensor& weight, const Tensor& indices,
                   const Tensor& offsets, const Tensor& scale, Bag bag, int64_t padding_idx) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Bags of{indices.raw<int64_t>(), offsets.raw<int64_t>(), indices.numel(), offsets.numel(),
                y.sizes()[0],           y.sizes()[1],           padding_idx};
  const int64_t columns = (of.width + 31) / 32 * 32, threads = std::min<int64_t>(columns, kThreads);
  const Launch shape{dim3(static_cast<unsigned>((of.width + threads - 1) / threads),
                          static_cast<unsigned>(std::min<int64_t>(of.bags, 65535))),
                     dim3(static_cast<unsigned>(threads)), 0};
  visit_floating(weight.dtype(), [&]<class T>(T) {
    using C = typename ComputeOf<T>::type;
    const auto kernel = winner.defined() ? fold_bags<T, C, true> : fold_bags<T, C, false>;
    launch(kernel, shape, of, Table<T>(weight), scale.defined() ? scale.raw<T>() : nullptr, y.raw<T>(),
           winner.defined() ? winner.raw<int64_t>() : nullptr, bag == Bag::mean);
  });
}

void gathered_dots(const Tensor& y, const Tensor& a, const Tensor& a_rows, const Tensor& b, const Tensor& b_rows) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const int64_t width = a.sizes()[1];
  const GroupShape shape = make_group_shape(y.numel(), width, false);
  visit_floating(a.dtype(), [&]<class T>(T) {
    launch(multiply_rows<T>, launch_of(shape), y.numel(), width, y.raw<T>(), Table<T>(a), a_rows.raw<int64_t>(),
           Table<T>(b), b_rows.raw<int64_t>());
  });
}

}  // namespace tandem::cuda
