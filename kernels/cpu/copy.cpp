// copy, copy_list, fill, arange. Contract: conversions round once, to nearest even; floating to integer truncates;
// conversion to bool is x != 0. Equal dtypes are copied bit by bit. dst and src do not overlap, unless they are the
// same view.
#include <algorithm>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/transpose.h"
#include "tandem/math/arithmetic.h"

namespace tandem::cpu {
namespace {

constexpr bool is_compute(DType t) { return t == DType::F32 || t == DType::F64 || t == DType::I64; }

/// The dimension along which src is contiguous while dst is contiguous along the innermost one: a transposition, as
/// between NCHW and NHWC. -1 if there is none.
int transposed_dimension(const Space& space) {
  const int inner = space.rank - 1;
  if (space.strides[0][inner] != 1 || space.strides[1][inner] <= 1) return -1;
  for (int d = 0; d < inner; ++d) {
    if (space.strides[1][d] == 1) return d;
  }
  return -1;
}

/// Performs one transposition for each index of the other dimensions.
template <class T>
void copy_transposed(const Tensor& dst, const Tensor& src, const Space& space, int row_dim) {
  const int inner = space.rank - 1;
  const int64_t rows = space.sizes[row_dim], columns = space.sizes[inner];
  const int64_t dst_row = space.strides[0][row_dim], src_column = space.strides[1][inner];
  Space others = space;
  others.rank = 0;
  for (int d = 0; d < inner; ++d) {
    if (d == row_dim) continue;
    others.sizes[others.rank] = space.sizes[d];
    for (int k = 0; k < 2; ++k) others.strides[k][others.rank] = space.strides[k][d];
    ++others.rank;
  }
  constexpr int64_t kRows = 64;  // whole cache lines of src for every T
  const int64_t blocks = (rows + kRows - 1) / kRows;
  parallel_for(space.numel / (rows * columns) * blocks, grain_of(kRows * columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kRows;
      T* d = static_cast<T*>(dst.raw_bytes()) + offset_of(others, 0, i / blocks) + first * dst_row;
      const T* s = static_cast<const T*>(src.raw_bytes()) + offset_of(others, 1, i / blocks) + first;
      transpose(d, dst_row, s, src_column, std::min(kRows, rows - first), columns);
    }
  });
}

template <class T>
void copy_bits(const Tensor& dst, const Tensor& src) {
  const Space space = make_space({&dst, &src}, Order::memory);
  if (const int d = transposed_dimension(space); d >= 0) return copy_transposed<T>(dst, src, space, d);
  for_each_tile(space, [&] {
    return [out = TileWriter<T>(space, 0, dst), in = TileReader<T>(space, 1, src)](const Tile& tile) mutable {
      out.commit(tile, in.read(tile));
    };
  });
}

void copy_same_dtype(const Tensor& dst, const Tensor& src) {
  if (dst.impl().contiguous && src.impl().contiguous) {
    char* d = static_cast<char*>(dst.raw_bytes());
    const char* s = static_cast<const char*>(src.raw_bytes());
    if (d == s) return;
    return parallel_for(static_cast<int64_t>(dst.nbytes()), kParallelGrain * 4, [&](int64_t begin, int64_t end) {
      std::memcpy(d + begin, s + begin, static_cast<size_t>(end - begin));
    });
  }
  visit_size(dst.element_size(), [&](auto zero) { copy_bits<decltype(zero)>(dst, src); });
}

template <class C>
void convert(const Tensor& dst, const Tensor& src) {
  if (dst.impl().contiguous && src.impl().contiguous && (dst.dtype() == dtype_of<C> || src.dtype() == dtype_of<C>)) {
    const ConvertTable<C>& table = convert_tables().of<C>();
    char* d = static_cast<char*>(dst.raw_bytes());
    const char* s = static_cast<const char*>(src.raw_bytes());
    const int64_t dst_size = static_cast<int64_t>(dst.element_size()),
                  src_size = static_cast<int64_t>(src.element_size());
    return parallel_for(dst.numel(), kParallelGrain, [&](int64_t begin, int64_t end) {
      void* to = d + begin * dst_size;
      const void* from = s + begin * src_size;
      if (dst.dtype() == dtype_of<C>) {
        table.load[static_cast<int>(src.dtype())](static_cast<C*>(to), from, end - begin);
      } else {
        table.store[static_cast<int>(dst.dtype())](to, static_cast<const C*>(from), end - begin);
      }
    });
  }
  const Space space = make_space({&dst, &src}, Order::memory);
  for_each_tile(space, [&] {
    return [out = TileWriter<C>(space, 0, dst), in = TileReader<C>(space, 1, src)](const Tile& tile) mutable {
      C* target = out.target(tile);
      if (target == out.buffer()) {
        out.commit(tile, in.read(tile));
      } else {
        in.read_to(target, tile);
      }
    };
  });
}

/// The bits of one element of type `t` with the value, in the lowest bytes.
uint64_t element_bits(DType t, Scalar value) {
  uint64_t bits = 0;
  if (value.is_floating_point()) {
    const double v = value.to_double();
    convert_tables().f64.store[static_cast<int>(t)](&bits, &v, 1);
  } else {
    const int64_t v = value.to_int64();
    convert_tables().i64.store[static_cast<int>(t)](&bits, &v, 1);
  }
  return bits;
}

}  // namespace

void copy(const Tensor& dst, const Tensor& src) {
  if (!src.is_cpu()) return tandem::backend(src).copy(dst, src);
  if (dst.numel() == 0) return;
  if (dst.dtype() == src.dtype()) return copy_same_dtype(dst, src);
  // One step if either side is a compute type. Two steps between f16 and bf16, and between them and small integers.
  // i64 cannot hold all of u64: f64 for f16 and bf16.
  const DType compute = is_compute(dst.dtype())                                    ? dst.dtype()
                        : src.dtype() == kUInt64 && is_floating_point(dst.dtype()) ? kDouble
                                                                                   : compute_type(src.dtype());
  visit_compute(compute, [&](auto zero) { convert<decltype(zero)>(dst, src); });
}

void copy_list(const std::vector<Tensor>& dst, const std::vector<Tensor>& src) {
  // Large tensors are parallelised one by one, small ones as a list.
  std::vector<size_t> small;
  for (size_t i = 0; i < dst.size(); ++i) {
    if (dst[i].numel() > kParallelGrain || !src[i].is_cpu()) {
      copy(dst[i], src[i]);
    } else {
      small.push_back(i);
    }
  }
  parallel_for(static_cast<int64_t>(small.size()), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t k = small[static_cast<size_t>(i)];
      copy(dst[k], src[k]);
    }
  });
}

void fill(const Tensor& y, Scalar value) {
  const uint64_t bits = element_bits(y.dtype(), value);
  visit_size(y.element_size(), [&](auto zero) {
    using T = decltype(zero);
    const T element = static_cast<T>(bits);
    if (y.impl().contiguous) {
      T* p = static_cast<T*>(y.raw_bytes());
      return parallel_for(y.numel(), kParallelGrain,
                          [&](int64_t begin, int64_t end) { std::fill(p + begin, p + end, element); });
    }
    const Space space = make_space({&y}, Order::memory);
    for_each_tile(space, [&] {
      return [element, out = TileWriter<T>(space, 0, y)](const Tile& tile) mutable {
        T* target = out.target(tile);
        std::fill(target, target + tile.size(), element);
        out.commit(tile, target);
      };
    });
  });
}

void arange(const Tensor& y, Scalar start, Scalar step) {
  const bool integers = !start.is_floating_point() && !step.is_floating_point();
  const Space space = make_space({&y}, Order::logical);
  visit_compute(integers ? DType::I64 : DType::F64, [&](auto zero) {
    using C = decltype(zero);
    const C first = start.to<C>(), distance = step.to<C>();
    for_each_tile(space, [&] {
      return [first, distance, out = TileWriter<C>(space, 0, y)](const Tile& tile) mutable {
        C* target = out.target(tile);
        for (int64_t i = 0; i < tile.size(); ++i)
          target[i] = math::add(first, math::mul(static_cast<C>(tile.begin + i), distance));
        out.commit(tile, target);
      };
    });
  });
}

}  // namespace tandem::cpu
