// gather, index_select, their adjoints scatter_add, index_add, and scatter. The latter three check all indices before
// they write anything. Terms of one place are combined in the order of the indices along `dim`, whatever the number of
// threads: work is divided only between slices, and no index leads from one slice into another. Each addition is
// rounded to y's dtype (f16, bf16: computed in f32). Integers wrap around; for bool, addition is `or`.
#include <cstring>

#include "kernels/compute.h"
#include "kernels/cpu/check_index.h"
#include "kernels/cpu/indexed.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/tile.h"
#include "kernels/scatter.h"
#include "kernels/walk.h"
#include "tandem/base/check.h"

namespace tandem::cpu {

using kernels::make_walk;
using kernels::Scatter;

void throw_index(int64_t k, int64_t size, int64_t dim) {
  TANDEM_THROW(IndexError,
               "index {} is out of range for dimension {} of size {}; indices start at 0 and may be at most {}", k, dim,
               size, size - 1);
}

namespace {

/// Throws IndexError unless n contiguous indices are in [0, size). The sign bit of k | (size - 1 - k) is set if k is
/// not: a loop without branches, which is vectorised.
template <class Index>
void check_run(const Index* indices, int64_t n, int64_t size, int64_t dim) {
  uint64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<uint64_t>(int64_t{indices[i]});
    outside |= k | (static_cast<uint64_t>(size - 1) - k);
  }
  if (outside >> 63 == 0) return;
  for (int64_t i = 0; i < n; ++i) check_index(indices[i], size, dim);
}

}  // namespace

void check_indices(const Tensor& index, int64_t size, int64_t dim) {
  const auto walk = make_walk<1>(index.sizes(), {index.strides()});
  const int64_t step = walk.row_stride(0);
  visit_index(index.dtype(), [&]<class Index>(Index) {
    const Index* data = index.raw<Index>();
    parallel_for(walk.numel, kParallelGrain, [&](int64_t begin, int64_t end) {
      for_each_row(walk, begin, end, [&](const auto& offset, int64_t length) {
        const Index* row = data + offset[0];
        if (step == 1) return check_run(row, length, size, dim);
        for (int64_t i = 0; i < length; ++i) check_index(row[i * step], size, dim);
      });
    });
  });
}

namespace {

/// y[i] = x[k[i] * step] for n contiguous elements. Throws IndexError unless every index is in [0, size). The branch in
/// the loop is always predicted, and cheaper than a separate pass over the indices.
template <class Bits, class Index>
void take_row(Bits* y, const Bits* x, int64_t step, const Index* k, int64_t n, int64_t size, int64_t dim) {
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) {
      check_index(k[i], size, dim);
      y[i] = x[k[i]];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      check_index(k[i], size, dim);
      y[i] = x[k[i] * step];
    }
  }
}

/// Fetches a contiguous slice of x that is about to be read in random order, unless it is long or few elements of it
/// are read. Hardware prefetchers recognise only ordered accesses.
template <class Bits>
void prefetch_slice(const Bits* x, int64_t size, int64_t reads) {
  constexpr int64_t kLongest = 16384 / sizeof(Bits), kLine = 64 / sizeof(Bits);
  if (size > kLongest || reads < size / 2) return;
  for (int64_t i = 0; i < size; i += kLine) __builtin_prefetch(x + i);
}

/// y at each position = x at that position, with the coordinate of `dim` taken from the index. Throws IndexError if an
/// index is out of range.
void take(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index, const Dims& index_strides) {
  const Indexed from(x, dim);
  const int64_t size = size_along(x, dim);
  const auto walk = make_walk<3>(y.sizes(), {y.strides(), index_strides, from.others});
  const int64_t y_step = walk.row_stride(0), index_step = walk.row_stride(1), x_step = walk.row_stride(2);
  visit_index(index.dtype(), [&]<class Index>(Index) {
    visit_size(y.element_size(), [&]<class Bits>(Bits) {
      auto* to = static_cast<Bits*>(y.raw_bytes());
      const auto* source = static_cast<const Bits*>(x.raw_bytes());
      const Index* indices = index.raw<Index>();
      parallel_for(walk.numel, kParallelGrain, [&](int64_t begin, int64_t end) {
        for_each_row(walk, begin, end, [&](const auto& offset, int64_t length) {
          Bits* row = to + offset[0];
          const Index* k = indices + offset[1];
          const Bits* base = source + offset[2];
          if (index_step == 0 && y_step == 1 && x_step == 1) {
            check_index(*k, size, dim);
            std::memcpy(row, base + *k * from.along, static_cast<size_t>(length) * sizeof(Bits));
            return;
          }
          if (index_step == 1 && y_step == 1 && x_step == 0) {
            if (from.along == 1) prefetch_slice(base, size, length);
            take_row(row, base, from.along, k, length, size, dim);
            return;
          }
          for (int64_t i = 0; i < length; ++i) {
            const int64_t at = k[i * index_step];
            check_index(at, size, dim);
            row[i * y_step] = base[i * x_step + at * from.along];
          }
        });
      });
    });
  });
}

/// Strides across slices and along `dim`.
struct Steps {
  int64_t across, along;
};

/// For n slices: y[i][k[j][i]] is combined with s[j][i] for j < count, one j after another along `dim`. Reads s in the
/// order of its memory, or follows y's memory if s is one element.
template <class Combine, class Y, class S, class Index>
void add_slices(Y* y, Steps y_steps, const Index* k, Steps k_steps, const S* s, Steps s_steps, int64_t n,
                int64_t count) {
  constexpr Combine combine;
  const Steps order = s_steps.along == s_steps.across ? y_steps : s_steps;
  if (order.along < order.across) {
    const bool dense = y_steps.along == 1 && k_steps.along == 1 && s_steps.along == 1;
    for (int64_t i = 0; i < n; ++i, y += y_steps.across, k += k_steps.across, s += s_steps.across) {
      if (dense) {
        for (int64_t j = 0; j < count; ++j) y[k[j]] = combine(y[k[j]], s[j]);
        continue;
      }
      for (int64_t j = 0; j < count; ++j) {
        Y& sum = y[k[j * k_steps.along] * y_steps.along];
        sum = combine(sum, s[j * s_steps.along]);
      }
    }
    return;
  }
  const bool rows = k_steps.across == 0 && y_steps.across == 1 && s_steps.across == 1;  // as in an embedding
  for (int64_t j = 0; j < count; ++j, k += k_steps.along, s += s_steps.along) {
    if (rows) {
      Y* row = y + *k * y_steps.along;
      for (int64_t i = 0; i < n; ++i) row[i] = combine(row[i], s[i]);
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      Y& sum = y[i * y_steps.across + k[i * k_steps.across] * y_steps.along];
      sum = combine(sum, s[i * s_steps.across]);
    }
  }
}

/// y at each position, with the coordinate of `dim` taken from the index, is combined with src at that position. Y and
/// S are types of the size of the elements, or their types.
template <class Combine, class Y, class S, class Index>
void add(const Tensor& y, int64_t dim, const Tensor& index, const Dims& index_strides, const Tensor& src,
         IntArrayRef shape) {
  Dims slices(shape);
  const Indexed to(y, dim), from(src, dim);
  int64_t count = 1, index_along = 0;
  if (!slices.empty()) {
    const auto d = static_cast<size_t>(dim);
    count = slices[d];
    index_along = index_strides[d];
    slices[d] = 1;
  }
  const auto walk = make_walk<3>(slices, {to.others, index_strides, from.others});
  const Steps y_steps{walk.row_stride(0), to.along}, k_steps{walk.row_stride(1), index_along};
  const Steps s_steps{walk.row_stride(2), from.along};
  parallel_for(walk.numel, grain_of(count), [&](int64_t begin, int64_t end) {
    for_each_row(walk, begin, end, [&](const auto& offset, int64_t length) {
      add_slices<Combine>(static_cast<Y*>(y.raw_bytes()) + offset[0], y_steps, index.raw<Index>() + offset[1], k_steps,
                          static_cast<const S*>(src.raw_bytes()) + offset[2], s_steps, length, count);
    });
  });
}

void add(const Tensor& y, int64_t dim, const Tensor& index, const Dims& index_strides, const Tensor& src,
         IntArrayRef shape) {
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
  check_indices(index, size_along(y, dim), dim);
  add(y, dim, index, Dims(index.strides()), src, index.sizes());
}

void index_add(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src) {
  check_indices(index, size_along(y, dim), dim);
  add(y, dim, index, expanded(index, y.dim(), dim), src, src.sizes());
}

void scatter(const Tensor& y, Scatter op, int64_t dim, const Tensor& index, const Tensor& src) {
  check_indices(index, size_along(y, dim), dim);
  const Dims strides(index.strides());
  if (op == Scatter::assign) {
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

void index_offsets(const Tensor& y, const Tensor& index, int64_t dim, int64_t size, int64_t stride, bool add) {
  const auto walk = make_walk<2>(y.sizes(), {y.strides(), index.strides()});
  const int64_t y_step = walk.row_stride(0), index_step = walk.row_stride(1);
  visit_index(index.dtype(), [&]<class Index>(Index) {
    const Index* indices = index.raw<Index>();
    parallel_for(walk.numel, kParallelGrain, [&](int64_t begin, int64_t end) {
      for_each_row(walk, begin, end, [&](const auto& offset, int64_t length) {
        int64_t* row = y.raw<int64_t>() + offset[0];
        for (int64_t i = 0; i < length; ++i) {
          const int64_t k = indices[offset[1] + i * index_step];
          TANDEM_CHECK(k >= -size && k < size, IndexError,
                       "index {} is out of range for dimension {} of size {}; indices may be from {} to {}", k, dim,
                       size, -size, size - 1);
          int64_t& sum = row[i * y_step];
          sum = (add ? sum : 0) + (k < 0 ? k + size : k) * stride;
        }
      });
    });
  });
}

}  // namespace tandem::cpu
