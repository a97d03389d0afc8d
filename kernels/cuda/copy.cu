// copy, copy_list, fill, arange. Contract: conversions round once, to nearest even; floating to integer truncates;
// conversion to bool is x != 0. Equal dtypes are copied bit by bit. dst and src do not overlap, unless they are the
// same view. A list is copied in one launch. A copy between memory orders (NCHW to NHWC, a transposed matrix) goes
// through tiles in shared memory.
#include "kernels/cuda/chunks.h"
#include "kernels/cuda/cross_device_copy.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/element_bits.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/loads.h"
#include "kernels/cuda/logical.h"
#include "kernels/cuda/storage_only_copy.h"
#include "kernels/cuda/tile_plan.h"

namespace tandem::cuda {
namespace {

// ---- conversion of an element from one dtype to another

/// Bit by bit, between equal dtypes.
template <class T>
struct Move {
  using Value = T;
  static __device__ T load(const void* src, DType, int64_t i) { return static_cast<const T*>(src)[i]; }
  static __device__ void store(void* dst, DType, int64_t i, T value) { static_cast<T*>(dst)[i] = value; }
};

/// Through the compute type C.
template <class C>
struct Convert {
  using Value = C;
  static __device__ C load(const void* src, DType from, int64_t i) { return cuda::load<C>(src, from, i); }
  static __device__ void store(void* dst, DType to, int64_t i, C value) { cuda::store<C>(dst, to, i, value); }
};

/// Calls f with the Move or Convert for the two dtypes.
#pragma nv_exec_check_disable
template <class F>
TANDEM_HOST_DEVICE inline void visit_conversion(DType to, DType from, F&& f) {
  if (to == from) {
    switch (to) {
      case DType::U8:
      case DType::I8:
      case DType::Bool:
      case DType::F8E4M3FN:
      case DType::F8E5M2:
      case DType::F8E8M0FNU:
        return f(Move<uint8_t>());
      case DType::I16:
      case DType::F16:
      case DType::BF16:
      case DType::U16:
        return f(Move<uint16_t>());
      case DType::I32:
      case DType::U32:
      case DType::F32:
        return f(Move<uint32_t>());
      default:
        return f(Move<uint64_t>());
    }
  }
  // One step if either side is a compute type. Two steps between f16 and bf16, and between them and small integers.
  switch (to == DType::F32 || to == DType::F64 || to == DType::I64 ? to : from) {
    case DType::F32:
    case DType::F16:
    case DType::BF16:
      return f(Convert<float>());
    case DType::F64:
      return f(Convert<double>());
    default:
      return f(Convert<int64_t>());
  }
}

// ---- runs of elements, in the destination's order

/// Copies the packs of elements [begin, end) of an entry that allows packs; returns the end of the last pack. A thread
/// loads up to four packs before it stores the first one.
template <class T>
__device__ __forceinline__ int64_t copy_packs(Move<T>, const ListEntry<2>& entry, int64_t begin, int64_t end) {
  constexpr int kPack = 16 / static_cast<int>(sizeof(T)), kAll = kChunk / (kThreads * kPack);
  constexpr int kPacks = kAll < 4 ? kAll : 4;
  using P = Pack<T, kPack>;
  P* const dst = reinterpret_cast<P*>(static_cast<T*>(entry.data[0]) + begin);
  const P* const src = reinterpret_cast<const P*>(static_cast<const T*>(entry.data[1]) + begin);
  const int count = static_cast<int>(end - begin) / kPack;
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kPacks * kThreads) {
    P packs[kPacks];
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      if (first + u * kThreads < count) packs[u] = src[first + u * kThreads];
    }
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
      if (first + u * kThreads < count) dst[first + u * kThreads] = packs[u];
    }
  }
  return begin + int64_t{count} * kPack;
}

/// The dtypes of autocast's casts.
__device__ __forceinline__ bool is_cast_by_runs(DType t) {
  return t == DType::F32 || t == DType::F16 || t == DType::BF16;
}

/// Casts between these: again all loads of a chunk come first.
__device__ __forceinline__ int64_t cast_packs(const ListEntry<2>& entry, int64_t begin, int64_t end) {
  constexpr int kRuns = kChunk / (kThreads * kPerThread);
  const int64_t runs_end = begin + (end - begin) / kPerThread * kPerThread;
  const auto at = [&](int u) {
    const int64_t i = begin + (u * kThreads + static_cast<int>(threadIdx.x)) * kPerThread;
    return i < runs_end ? i : -1;
  };
  float x[kRuns * kPerThread];
  load_runs<float, kRuns, kPerThread>(entry.data[1], entry.dtypes[1], x, at);
  store_runs<float, kRuns, kPerThread>(entry.data[0], entry.dtypes[0], x, at);
  return runs_end;
}
template <class C>
__device__ __forceinline__ int64_t copy_packs(Convert<C>, const ListEntry<2>& entry, int64_t begin, int64_t end) {
  if constexpr (sizeof(C) == 4) {
    if (is_cast_by_runs(entry.dtypes[0]) && is_cast_by_runs(entry.dtypes[1])) return cast_packs(entry, begin, end);
  }
  const int64_t quads_end = begin + (end - begin) / 4 * 4;
  for (int64_t i = begin + threadIdx.x * 4; i < quads_end; i += blockDim.x * 4) {
    C x[4];
    load_quad<C>(entry.data[1], entry.dtypes[1], i, x);
    store_quad<C>(entry.data[0], entry.dtypes[0], i, x);
  }
  return quads_end;
}

// Two blocks per multiprocessor: with four, the compiler's default, values spill to memory.
template <class Table>
__global__ void __launch_bounds__(kThreads, 2)
    copy_chunks(const Table __grid_constant__ table, int64_t count, int64_t chunks) {
  const uint64_t* words = table.data();
  for_each_chunk<2>(words, count, chunks, [&](int64_t, const ListEntry<2>& entry, int64_t begin, int64_t end) {
    visit_conversion(entry.dtypes[0], entry.dtypes[1], [&](auto how) {
      // Chunks start at multiples of a pack.
      const int64_t rest = entry.packs ? copy_packs(how, entry, begin, end) : begin;
      for (int64_t i = rest + threadIdx.x; i < end; i += blockDim.x) {
        int64_t offset[2];
        offsets_of(words, entry, i, offset);
        how.store(entry.data[0], entry.dtypes[0], offset[0], how.load(entry.data[1], entry.dtypes[1], offset[1]));
      }
    });
  });
}

void copy_on_device(const TensorList<2>& list) {
  if (list.chunks() == 0) return;
  with_table(list.words(), [&](const auto& table) {
    launch(copy_chunks<std::decay_t<decltype(table)>>, block_stride(list.chunks()), table, list.count(), list.chunks());
  });
}

// ---- from one memory order to another

/// Each block copies a tile at a time: reads lines of 32 adjacent elements, then writes such lines, blockDim.y lines at
/// a time. For more than four blocks on a multiprocessor, the compiler would spill registers on compute capability 10.
template <class How>
__global__ void __launch_bounds__(kThreads, 4)
    copy_tiles(TilePlan plan, void* dst, DType to, const void* src, DType from) {
  constexpr int kRow = tile_row(sizeof(typename How::Value));
  __shared__ typename How::Value values[kTile * kRow];
  const int x = static_cast<int>(threadIdx.x), lines = static_cast<int>(blockDim.y);
  for (int64_t t = blockIdx.x; t < plan.tiles(); t += gridDim.x) {
    const TilePlan::Tile tile = plan.locate(t);
    for (int j = static_cast<int>(threadIdx.y); j < kTile; j += lines) {
      const int64_t row = tile.row + j, column = tile.column + x;
      if (row < plan.rows && column < plan.columns) {
        values[j * kRow + x] = How::load(src, from, tile.src + row * plan.src_step + column);
      }
    }
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.y); j < kTile; j += lines) {
      const int64_t row = tile.row + x, column = tile.column + j;
      if (row < plan.rows && column < plan.columns) {
        How::store(dst, to, tile.dst + column * plan.dst_step + row, values[x * kRow + j]);
      }
    }
    __syncthreads();  // all threads have read the values
  }
}

/// Copies in tiles if that is faster; returns false if not.
bool try_tiles(const Tensor& dst, const Tensor& src) {
  if (dst.is_contiguous() && src.is_contiguous()) return false;
  const auto plan = plan_tiles(kernels::make_walk<2>(dst.sizes(), {dst.strides(), src.strides()}));
  if (!plan) return false;
  visit_conversion(dst.dtype(), src.dtype(), [&](auto how) {
    Launch shape = block_stride(plan->tiles());
    shape.block = dim3(kTile, kThreads / kTile);
    launch(copy_tiles<decltype(how)>, shape, *plan, dst.raw_bytes(), dst.dtype(), src.raw_bytes(), src.dtype());
  });
  return true;
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.raw_bytes() == b.raw_bytes() && a.dtype() == b.dtype() && a.strides() == b.strides();
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill_any(Geometry<1> geometry, T* y, T value) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[1];
    geometry.offsets(i, offset);
    y[offset[0]] = value;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill_packs(T* y, int64_t numel, T value) {
  constexpr int kPack = 16 / static_cast<int>(sizeof(T));
  const int64_t packs = numel / kPack, step = int64_t{gridDim.x} * blockDim.x;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Pack<T, kPack> pack;
#pragma unroll
  for (int j = 0; j < kPack; ++j) pack.at[j] = value;
  for (int64_t p = first; p < packs; p += step) reinterpret_cast<Pack<T, kPack>*>(y)[p] = pack;
  const int64_t i = packs * kPack + first;
  if (i < numel) y[i] = value;
}

template <class Bits>
void fill_bits(const Tensor& y, Bits value) {
  const auto walk = kernels::make_walk<1>(y.sizes(), {y.strides()});
  auto* data = static_cast<Bits*>(y.raw_bytes());
  if (walk.linear() && is_aligned(data)) {
    launch(fill_packs<Bits>, grid_stride(walk.numel, 16 / sizeof(Bits)), data, walk.numel, value);
  } else {
    launch(fill_any<Bits>, grid_stride(walk.numel), make_geometry(walk), data, value);
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    arange_any(Geometry<1> geometry, void* y, DType dtype, C first, C distance) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < geometry.numel; i += step) {
    int64_t offset[1];
    geometry.offsets(i, offset);
    store<C>(y, dtype, offset[0], math::add(first, math::mul(static_cast<C>(i), distance)));
  }
}

}  // namespace

void copy(const Tensor& dst, const Tensor& src) {
  if (dst.numel() == 0) return;
  if (dst.device() != src.device()) return cross_device_copy(dst, src);
  if (is_same_view(dst, src)) return;
  const DeviceGuard on(dst.device());
  if (converts_storage_only(dst, src)) return copy_storage_only(dst, src);
  if (try_tiles(dst, src)) return;
  TensorList<2> list;
  list.add({&dst, &src});
  copy_on_device(list);
}

void copy_list(const std::vector<Tensor>& dst, const std::vector<Tensor>& src) {
  if (dst.empty()) return;
  const Device device = dst[0].device();
  TensorList<2> list;
  for (size_t i = 0; i < dst.size(); ++i) {
    const bool on_device = dst[i].device() == device && src[i].device() == device && device.is_cuda();
    if (on_device && !converts_storage_only(dst[i], src[i])) {
      if (!is_same_view(dst[i], src[i])) list.add({&dst[i], &src[i]});
    } else {
      copy(dst[i], src[i]);
    }
  }
  const DeviceGuard on(device);
  copy_on_device(list);
}

void fill(const Tensor& y, Scalar value) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  with_bits(y.dtype(), value, [&](auto bits) { fill_bits(y, bits); });
}

void arange(const Tensor& y, Scalar start, Scalar step) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const Geometry<1> geometry = logical_geometry<1>(y.sizes(), {y.strides()});
  const auto run = [&]<class C>(C) {
    launch(arange_any<C>, grid_stride(geometry.numel), geometry, y.raw_bytes(), y.dtype(), start.to<C>(), step.to<C>());
  };
  if (start.is_floating_point() || step.is_floating_point()) {
    run(double{});
  } else {
    run(int64_t{});
  }
}

}  // namespace tandem::cuda
