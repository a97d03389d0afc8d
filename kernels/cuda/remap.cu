// remap, remap_backward: copies with shifted, mirrored, clamped or repeated indices, and their sums. Contract: remap
// copies bit by bit; y and x do not overlap. Sums of remap_backward are held in f32 (f64 for f64). Each thread computes
// whole elements, so the results are deterministic.
#include "kernels/remap.h"

#include <algorithm>

#include "kernels/cuda/element.h"
#include "kernels/cuda/element_bits.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {
namespace {

/// A dimension of the tensor that is written (size, to) and of the one that is read (other, from).
struct Axis {
  int64_t size, other, shift, to, from;
};

/// The dimensions, outermost first.
struct Axes {
  Axis axis[kMaxRank];
  int rank = 0;
  Border border;
  int64_t numel = 1;
};

/// In the memory order of `to`. Dimensions whose indices stay as they are, are merged where both tensors allow it, and
/// counted as one if there is none.
Axes make_axes(const Tensor& to, const Tensor& from, const IndexMap& map) {
  Axes axes;
  axes.border = map.border;
  std::array<size_t, kMaxRank> order{};
  const size_t rank = to.sizes().size();
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rank),
                   [&](size_t a, size_t b) { return to.strides()[a] > to.strides()[b]; });
  bool joins = false;
  for (size_t i = 0; i < rank; ++i) {
    const size_t d = order[i];
    const Axis next{to.sizes()[d], from.sizes()[d], map.shift[d], to.strides()[d], from.strides()[d]};
    axes.numel *= next.size;
    const bool is_plain = next.shift == 0 && next.size == next.other;
    if (is_plain && next.size == 1) continue;
    if (is_plain && joins) {
      Axis& last = axes.axis[axes.rank - 1];
      if (last.to == next.to * next.size && last.from == next.from * next.size) {
        last = {last.size * next.size, last.size * next.size, 0, next.to, next.from};
        continue;
      }
    }
    axes.axis[axes.rank++] = next;
    joins = is_plain;
  }
  return axes;
}

/// Calls f(d, index) for each dimension of element i, the innermost first.
template <class F>
__device__ __forceinline__ void for_each_axis(const Axes& axes, int64_t i, F f) {
  // 64-bit divisions cost several times as much as 32-bit ones.
  if (axes.numel <= 0x7fffffff) {
    uint32_t rest = static_cast<uint32_t>(i);
    for (int d = axes.rank - 1; d >= 0; --d) {
      const uint32_t size = static_cast<uint32_t>(axes.axis[d].size), quotient = d > 0 ? rest / size : 0;
      f(axes.axis[d], static_cast<int64_t>(rest - quotient * size));
      rest = quotient;
    }
  } else {
    uint64_t rest = static_cast<uint64_t>(i);
    for (int d = axes.rank - 1; d >= 0; --d) {
      const uint64_t size = static_cast<uint64_t>(axes.axis[d].size), quotient = d > 0 ? rest / size : 0;
      f(axes.axis[d], static_cast<int64_t>(rest - quotient * size));
      rest = quotient;
    }
  }
}

template <class Bits>
__global__ void __launch_bounds__(kThreads)
    remap_each(const Axes __grid_constant__ axes, Bits* y, const Bits* x, Bits fill) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < axes.numel; i += step) {
    int64_t to = 0, from = 0;
    bool has_source = true;
    for_each_axis(axes, i, [&](const Axis& axis, int64_t index) {
      const int64_t source = kernels::source_of(axes.border, index - axis.shift, axis.other);
      to += index * axis.to;
      from += source * axis.from;
      has_source = has_source && source >= 0;
    });
    y[to] = has_source ? x[from] : fill;
  }
}

/// The mapped dimensions are the first `mapped` of `axes`, at most three. For more than two blocks on a multiprocessor,
/// the compiler would spill registers on compute capability 10 and 12.
template <class T>
__global__ void __launch_bounds__(kThreads, 2)
    fold_each(const Axes __grid_constant__ axes, int mapped, T* gx, const T* gy) {
  using C = typename ComputeOf<T>::type;
  using kernels::Copies;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < axes.numel; i += step) {
    int64_t to = 0, from = 0, place[3] = {0, 0, 0};
    int d = axes.rank;
    for_each_axis(axes, i, [&](const Axis& axis, int64_t index) {
      to += index * axis.to;
      --d;
      if (d >= mapped) {
        from += index * axis.from;
      } else {
#pragma unroll
        for (int k = 0; k < 3; ++k) place[k] = k == d ? index : place[k];
      }
    });
    const auto copies = [&](int k) {
      if (k >= mapped) return Copies(Border::fill, 0, 1, 1, 0);
      const Axis& axis = axes.axis[k];
      return Copies(axes.border, axis.shift, axis.size, axis.other, place[k]);
    };
    const auto stride = [&](int k) { return k < mapped ? axes.axis[k].from : int64_t{0}; };
    const Copies a = copies(0), b = copies(1), c = copies(2);
    C sum = 0;
    for (int64_t p = 0; p < a.count; ++p) {
      for (int64_t q = 0; q < b.count; ++q) {
        for (int64_t r = 0; r < c.count; ++r) {
          sum += static_cast<C>(gy[from + a.at(p) * stride(0) + b.at(q) * stride(1) + c.at(r) * stride(2)]);
        }
      }
    }
    gx[to] = convert<T>(sum);
  }
}

}  // namespace

void remap(const Tensor& y, const Tensor& x, const IndexMap& map, Scalar fill) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Axes axes = make_axes(y, x, map);
  with_bits(y.dtype(), fill, [&]<class Bits>(Bits bits) {
    launch(remap_each<Bits>, grid_stride(axes.numel), axes, static_cast<Bits*>(y.raw_bytes()),
           static_cast<const Bits*>(x.raw_bytes()), bits);
  });
}

void remap_backward(const Tensor& gx, const Tensor& gy, const IndexMap& map) {
  if (gx.numel() == 0) return;
  const DeviceGuard on(gx.device());
  Axes axes = make_axes(gx, gy, map);
  const auto is_mapped = [](const Axis& axis) { return axis.shift != 0 || axis.size != axis.other; };
  Axis* const end = axes.axis + axes.rank;
  const int mapped = static_cast<int>(std::stable_partition(axes.axis, end, is_mapped) - axes.axis);
  visit_floating(gx.dtype(), [&]<class T>(T) {
    launch(fold_each<T>, grid_stride(axes.numel), axes, mapped, gx.raw<T>(), gy.raw<T>());
  });
}

}  // namespace tandem::cuda
