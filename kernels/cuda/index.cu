// gather, index_select, their adjoints scatter_add, index_add, and scatter. An index out of range stops the kernel
// (__trap): the error surfaces at the next call, and the device can no longer be used. Each addition is rounded to y's
// dtype (f16, bf16: computed in f32). Integers wrap around; for bool, addition is `or`.
//
// Terms of one place are combined in the order of the indices, as on the CPU: by one thread per slice across `dim` if
// there are enough slices to keep the device busy, else by one thread per place, after sorting the indices. In that
// second case f32, f64, i32 and i64 are instead added atomically, all terms in parallel. For f32 and f64 the result is
// then not deterministic, so cuda::set_deterministic makes them use the sort. Values that are assigned to one place are
// written by all threads in parallel, unless the sort makes the last one win.
#include <algorithm>
#include <concepts>

#include "kernels/compute.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/index_order.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/logical.h"
#include "kernels/cuda/runs.h"
#include "kernels/scatter.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// A tensor's strides with that of `dim` set to 0: the index replaces that coordinate.
struct Indexed {
  Dims others;
  int64_t along = 0;  ///< stride of `dim`
  int64_t size = 1;   ///< of `dim`
  Indexed(const Tensor& t, int64_t dim) : others(t.strides()) {
    if (others.empty()) return;
    const auto d = static_cast<size_t>(dim);
    along = others[d];
    size = t.sizes()[d];
    others[d] = 0;
  }
};

/// Strides of a rank-1 index that is shared by all slices of a tensor of `rank` dimensions.
Dims expanded(const Tensor& index, int64_t rank, int64_t dim) {
  Dims strides(static_cast<size_t>(rank), 0);
  if (rank > 0 && index.dim() > 0) strides[static_cast<size_t>(dim)] = index.strides()[0];
  return strides;
}

/// Calls f(Index{}) with the C++ type of the indices.
template <class F>
void visit_index(DType dtype, F&& f) {
  if (dtype == DType::I32) return f(int32_t{});
  f(int64_t{});
}

/// Calls f(T{}) with the unsigned integer type of an element's size.
template <class F>
void visit_size(size_t size, F&& f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

/// Operands: y, index, x.
template <class Bits, class Index>
__global__ void __launch_bounds__(kThreads)
    take_each(Geometry<3> geometry, Bits* y, const Index* index, const Bits* x, int64_t along, int64_t size) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[3];
    geometry.offsets(i, offset);
    y[offset[0]] = x[offset[2] + checked(index[offset[1]], size) * along];
  }
}

/// Whether the operands with data divide into runs of `length` elements that share an index, operand i. An operand that
/// repeats an element (stride 0) does not.
template <size_t N>
bool runs_share_index(const kernels::Walk<N>& walk, void* const (&data)[N], size_t i, int64_t along, int64_t length) {
  for (size_t k = 0; k < N; ++k) {
    if (data[k] && walk.row_stride(k) == 0) return false;
  }
  return walk.row_stride(i) == 0 && walk.row_length() % length == 0 && along % length == 0 &&
         in_runs(walk, data, length);
}

/// y at each position = x at that position, with the coordinate of `dim` taken from the index. Where a run of 16 bytes
/// shares an index, as in the rows of an embedding, it is one element.
void take(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index, const Dims& index_strides) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Indexed from(x, dim);
  const auto walk = kernels::make_walk<3>(y.sizes(), {y.strides(), index_strides, from.others});
  const auto run = [&]<class Bits>(const Geometry<3>& geometry, int64_t along, Bits) {
    visit_index(index.dtype(), [&]<class Index>(Index) {
      launch(take_each<Bits, Index>, grid_stride(geometry.numel), geometry, static_cast<Bits*>(y.raw_bytes()),
             index.raw<Index>(), static_cast<const Bits*>(x.raw_bytes()), along, from.size);
    });
  };
  const int64_t length = 16 / static_cast<int64_t>(y.element_size());
  if (runs_share_index(walk, {y.raw_bytes(), nullptr, x.raw_bytes()}, 1, from.along, length)) {
    Geometry<3> runs = runs_of(walk, length);
    for (size_t k : {0, 2}) {
      for (int d = 0; d < runs.rank; ++d) runs.strides[k][d] /= length;
    }
    return run(runs, from.along / length, Pack<uint64_t, 2>());
  }
  visit_size(y.element_size(), [&](auto bits) { run(make_geometry(walk), from.along, bits); });
}

/// Strides and sizes along `dim`.
struct Along {
  int64_t count;  ///< indices per slice
  int64_t y, index, src;
  int64_t y_size;
};

/// One thread per slice combines the terms one after another. Operands: y, index, src, without `dim`.
template <class Combine, class Y, class S, class Index>
__global__ void __launch_bounds__(kThreads)
    add_slices(Geometry<3> slices, Along along, Y* y, const Index* index, const S* src) {
  constexpr Combine combine;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < slices.numel; i += step) {
    int64_t offset[3];
    slices.offsets(i, offset);
    for (int64_t j = 0; j < along.count; ++j) {
      Y& sum = y[offset[0] + checked(index[offset[1] + j * along.index], along.y_size) * along.y];
      sum = combine(sum, src[offset[2] + j * along.src]);
    }
  }
}

template <class Y>
inline constexpr bool kHasAtomics =
    std::same_as<Y, float> || std::same_as<Y, double> || std::same_as<Y, int32_t> || std::same_as<Y, int64_t>;

template <class Y>
__device__ __forceinline__ void add_atomically(Y* sum, Y value) {
  if constexpr (std::same_as<Y, int64_t>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
  } else {
    atomicAdd(sum, value);
  }
}

/// Terms per thread where they share an index.
inline constexpr int kTermRun = 4;

/// One thread per Run terms, which share an index. Operands: src, index, y without `dim`.
template <class Y, class S, class Index, int Run>
__global__ void __launch_bounds__(kThreads)
    add_terms(Geometry<3> runs, int64_t y_along, int64_t y_size, Y* y, const Index* index, const S* src) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < runs.numel; i += step) {
    int64_t offset[3];
    runs.offsets(i, offset);
    Y* const sums = y + offset[2] + checked(index[offset[1]], y_size) * y_along;
    const auto terms = *reinterpret_cast<const Pack<S, Run>*>(src + offset[0]);
#pragma unroll
    for (int j = 0; j < Run; ++j) add_atomically(sums + j, convert<Y>(terms.at[j]));
  }
}

/// One thread per term, each of which writes to its place. Operands: src, index, y without `dim`.
template <class Bits>
__global__ void __launch_bounds__(kThreads) assign_terms(Geometry<3> geometry, int64_t y_along, int64_t y_size, Bits* y,
                                                         const int64_t* index, const Bits* src) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[3];
    geometry.offsets(i, offset);
    y[offset[2] + checked(index[offset[1]], y_size) * y_along] = src[offset[0]];
  }
}

/// One thread per slice and index, with adjacent threads in different slices. The thread of the first among equal
/// indices in `order` (one row per slice, or one for all) combines all their terms. Operands: y, index, src, without
/// `dim`.
template <class Combine, class Y, class S, class Index>
__global__ void __launch_bounds__(kThreads) add_sorted(Geometry<3> slices, Along along, Y* y, const Index* index,
                                                       const S* src, const int64_t* order, bool one_order) {
  constexpr Combine combine;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < slices.numel * along.count; i += step) {
    const int64_t first = i / slices.numel, slice = i - first * slices.numel;
    const int64_t* const positions = order + (one_order ? 0 : slice * along.count);
    int64_t offset[3];
    slices.offsets(slice, offset);
    const auto value = [&](int64_t j) { return index[offset[1] + positions[j] * along.index]; };
    const Index place = value(first);
    if (first > 0 && value(first - 1) == place) continue;
    Y sum = y[offset[0] + place * along.y];
    for (int64_t j = first; j < along.count && value(j) == place; ++j) {
      sum = combine(sum, src[offset[2] + positions[j] * along.src]);
    }
    y[offset[0] + place * along.y] = sum;
  }
}

enum class Way { slices, terms, sorted };

template <class Combine>
inline constexpr bool kAssigns = std::same_as<Combine, kernels::Assign>;

/// Whether atomic operations can add the terms, in any order.
template <class Combine, class Y>
constexpr bool adds_atomically() {
  return std::same_as<Combine, kernels::Add> && kHasAtomics<Y>;
}
/// Whether they always may: sums of integers are the same in every order.
template <class Combine, class Y>
constexpr bool never_sorts() {
  return adds_atomically<Combine, Y>() && std::is_integral_v<Y>;
}

/// One thread per slice if that keeps the device busy, or finishes before the launches of the alternative would.
template <class Combine, class Y>
Way way_of(int64_t slices, int64_t count) {
  constexpr bool possible = kAssigns<Combine> || adds_atomically<Combine, Y>();
  const bool in_any_order = never_sorts<Combine, Y>() || (possible && !deterministic());
  if (slices >= int64_t{1} << 16 || count <= (in_any_order ? 32 : 512)) return Way::slices;
  return in_any_order ? Way::terms : Way::sorted;
}

template <class Combine, class Y, class S, class Index>
void add(const Tensor& y, int64_t dim, const Tensor& index, const Dims& index_strides, const Tensor& src,
         IntArrayRef shape) {
  const Indexed to(y, dim), from(src, dim);
  auto* const y_data = static_cast<Y*>(y.raw_bytes());
  const auto* const src_data = static_cast<const S*>(src.raw_bytes());
  Dims others(shape), index_others = index_strides;
  Along along{1, to.along, 0, from.along, to.size};
  if (!others.empty()) {
    const auto d = static_cast<size_t>(dim);
    along.count = others[d];
    along.index = index_strides[d];
    others[d] = 1;
    index_others[d] = 0;
  }
  const auto slices = make_geometry(kernels::make_walk<3>(others, {to.others, index_others, from.others}));
  const Way way = way_of<Combine, Y>(slices.numel, along.count);
  if constexpr (kAssigns<Combine> || adds_atomically<Combine, Y>()) {
    if (way == Way::terms) {
      // Every term counts, even in dimensions where no operand moves, which make_walk would drop.
      const auto walk = logical_walk<3>(shape, {src.strides(), index_strides, to.others});
      if constexpr (std::same_as<Combine, kernels::Add> && std::same_as<Y, float>) {
        if (runs_share_index(walk, {src.raw_bytes(), nullptr, y.raw_bytes()}, 1, along.y, kTermRun)) {
          launch(add_terms<Y, S, Index, kTermRun>, grid_stride(walk.numel, kTermRun), runs_of(walk, kTermRun), along.y,
                 along.y_size, y_data, index.raw<Index>(), src_data);
          return;
        }
      }
      const auto terms = make_geometry(walk);
      const auto kernel = [] {
        if constexpr (kAssigns<Combine>) {
          return assign_terms<Y>;
        } else {
          return add_terms<Y, S, Index, 1>;
        }
      }();
      launch(kernel, grid_stride(terms.numel), terms, along.y, along.y_size, y_data, index.raw<Index>(), src_data);
      return;
    }
  }
  if (way == Way::slices) {
    launch(add_slices<Combine, Y, S, Index>, grid_stride(slices.numel), slices, along, y_data, index.raw<Index>(),
           src_data);
    return;
  }
  if constexpr (!never_sorts<Combine, Y>()) {
    // The rows of the index in the order of the slices, or the single row that they share.
    IndexRows<Index> rows{{}, index.raw<Index>(), along.index, along.count, along.y_size};
    const bool shared = std::all_of(index_others.begin(), index_others.end(), [](int64_t s) { return s == 0; });
    if (!shared) rows.starts = slices.operand(1);
    const Tensor order = index_order(rows, y.device());
    launch(add_sorted<Combine, Y, S, Index>, grid_stride(slices.numel * along.count), slices, along, y_data,
           index.raw<Index>(), src_data, order.raw<int64_t>(), shared);
  }
}

/// y at each position, with the coordinate of `dim` taken from the index, += src at that position.
void add(const Tensor& y, int64_t dim, const Tensor& index, const Dims& index_strides, const Tensor& src,
         IntArrayRef shape) {
  if (numel_of(shape) == 0) return;
  const DeviceGuard on(y.device());
  visit_arithmetic_dtype(src.dtype(), [&]<class S>(S) {
    visit_index(index.dtype(), [&]<class Index>(Index) {
      if (y.dtype() == dtype_of<S>) return add<kernels::Add, S, S, Index>(y, dim, index, index_strides, src, shape);
      if constexpr (is_reduced_floating_point(dtype_of<S>)) {  // sums of 16-bit terms, kept in f32
        add<kernels::Add, float, S, Index>(y, dim, index, index_strides, src, shape);
      }
    });
  });
}

}  // namespace

void gather(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index) {
  take(y, x, dim, index, Dims(index.strides()));
}

void index_select(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index) {
  take(y, x, dim, index, expanded(index, x.dim(), dim));
}

void scatter_add(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src) {
  add(y, dim, index, Dims(index.strides()), src, index.sizes());
}

void index_add(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src) {
  add(y, dim, index, expanded(index, y.dim(), dim), src, src.sizes());
}

namespace {

/// y = x, or zeros if x is undefined, increased by add(sums); the sums of 16-bit dtypes are an f32 tensor.
template <class F>
void sum_in_passes(const Tensor& y, const Tensor& x, F add) {
  const bool widens = is_reduced_floating_point(y.dtype());
  const Tensor sums = widens ? empty(y.sizes(), y.options().dtype(kFloat)) : y;
  if (x.defined()) {
    copy(sums, x);
  } else {
    fill(sums, 0);
  }
  add(sums);
  if (widens) copy(y, sums);
}

}  // namespace

void scatter_sum(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  sum_in_passes(y, x, [&](const Tensor& sums) {
    if (src.numel() > 0) scatter_add(sums, dim, index, src);
  });
}

void index_sum(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  sum_in_passes(y, x, [&](const Tensor& sums) {
    if (src.numel() > 0) index_add(sums, dim, index, src);
  });
}

void scatter(const Tensor& y, kernels::Scatter op, int64_t dim, const Tensor& index, const Tensor& src) {
  if (index.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Dims strides(index.strides());
  if (op == kernels::Scatter::assign) {
    visit_size(y.element_size(), [&]<class Bits>(Bits) {
      add<kernels::Assign, Bits, Bits, int64_t>(y, dim, index, strides, src, index.sizes());
    });
    return;
  }
  visit_arithmetic_dtype(src.dtype(), [&]<class S>(S) {
    if (y.dtype() == dtype_of<S>) {
      return kernels::visit_combine(
          op, [&]<class Combine>(Combine) { add<Combine, S, S, int64_t>(y, dim, index, strides, src, index.sizes()); });
    }
    if constexpr (is_reduced_floating_point(dtype_of<S>)) {  // products of 16-bit terms, kept in f32
      add<kernels::Multiply, float, S, int64_t>(y, dim, index, strides, src, index.sizes());
    }
  });
}

}  // namespace tandem::cuda
