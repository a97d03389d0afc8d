// scatter_sum and index_sum: sums of slices of floating dtypes, each element of which is written once. Terms of one
// place are added in the order of the indices, to x's element or 0, whatever the number of threads. Sums of f16 and
// bf16 are held in f32 and rounded once.
//
//   slices: along the dimension that is contiguous, a slice of y is filled and the terms are added while it is in
//   cache. rows:   the positions of the index are grouped by row of y; each row is the sum of its terms. passes: in all
//   other cases y (for f16 and bf16, an f32 copy) is filled and then increased by scatter_add or
//           index_add.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/compute.h"
#include "kernels/cpu/check_index.h"
#include "kernels/cpu/indexed.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/walk.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu {
namespace {

/// Up to `n` sums of elements of type T: in y's memory, or for 16-bit types in an f32 buffer.
template <class T>
class RunOfSums {
 public:
  using Sum = kernels::FloatingCompute<T>;
  explicit RunOfSums(int64_t n) : sums_(kWidens ? n : 0), terms_(kWidens ? n : 0) {}

  /// Begins n sums for y with x's elements, or 0 if x is null.
  Sum* begin(T* y, const T* x, int64_t n) const {
    Sum* sums = nullptr;
    if constexpr (kWidens) {
      sums = sums_.data();
    } else {
      sums = y;
    }
    if (!x) {
      std::memset(static_cast<void*>(sums), 0, static_cast<size_t>(n) * sizeof(Sum));
    } else if constexpr (kWidens) {
      widen(sums, x, n);
    } else {
      std::memcpy(sums, x, static_cast<size_t>(n) * sizeof(T));
    }
    return sums;
  }
  /// n terms in the type of the sums, valid until the next call.
  const Sum* terms(const T* s, int64_t n) const {
    if constexpr (kWidens) {
      widen(terms_.data(), s, n);
      return terms_.data();
    } else {
      return s;
    }
  }
  /// Writes the sums that begin(y, x, n) returned to y.
  void end(T* y, int64_t n) const {
    if constexpr (kWidens) {
      convert_tables().of<float>().store[static_cast<size_t>(dtype_of<T>)](y, sums_.data(), n);
    }
  }

 private:
  static constexpr bool kWidens = sizeof(T) == 2;
  static void widen(float* to, const T* from, int64_t n) {
    convert_tables().of<float>().load[static_cast<size_t>(dtype_of<T>)](to, from, n);
  }

  Scratch<Sum> sums_, terms_;
};

/// The operands of a sum along `dim`. `index` has the given strides.
struct Sums {
  const Tensor &y, &x;
  int64_t dim;
  const Tensor& index;
  Dims index_strides;
  const Tensor& src;

  int64_t size() const { return size_along(y, dim); }
  int64_t count() const { return size_along(src, dim); }
  /// The loops over all dimensions of y but `dim`. Operands: y, x (without a step if undefined), index, src.
  kernels::Walk<4> others() const {
    Dims sizes(y.sizes());
    sizes[static_cast<size_t>(dim)] = 1;
    const Dims none(sizes.size(), 0);
    return kernels::make_walk<4>(
        sizes, {y.strides(), x.defined() ? IntArrayRef(x.strides()) : IntArrayRef(none), index_strides, src.strides()});
  }
  int64_t along(const Tensor& t) const { return t.strides()[static_cast<size_t>(dim)]; }
};

constexpr int64_t kTermsAtATime = 1024;
constexpr int64_t kLongestSlice = 1 << 16;  ///< whose sums fit into the second-level cache

/// Whether all slices of y have an index and are contiguous.
bool has_slices(const Sums& s) {
  for (int64_t d = 0; d < s.y.dim(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (d != s.dim && s.src.sizes()[i] != s.y.sizes()[i]) return false;
  }
  const bool dense = s.along(s.y) == 1 && (!s.x.defined() || s.along(s.x) == 1) && s.along(s.src) == 1 &&
                     s.index_strides[static_cast<size_t>(s.dim)] == 1;
  return dense && s.size() <= kLongestSlice && s.y.numel() / s.size() >= get_num_threads();
}

void sum_slices(const Sums& s) {
  const auto walk = s.others();
  const int64_t size = s.size(), count = s.count();
  kernels::visit_floating(s.y.dtype(), [&]<class T>(T) {
    visit_index(s.index.dtype(), [&]<class Index>(Index) {
      T* const y = s.y.raw<T>();
      const T* const x = s.x.defined() ? s.x.raw<T>() : nullptr;
      const T* const src = s.src.raw<T>();
      const Index* const index = s.index.raw<Index>();
      const auto sum_slice = [&](const RunOfSums<T>& run, T* to, const T* from, const Index* k, const T* terms) {
        auto* const sums = run.begin(to, from, size);
        for (int64_t i = 0; i < count; i += kTermsAtATime) {
          const int64_t n = std::min(kTermsAtATime, count - i);
          const auto* const block = run.terms(terms + i, n);
          for (int64_t j = 0; j < n; ++j) {
            check_index(k[i + j], size, s.dim);
            sums[k[i + j]] += block[j];
          }
        }
        run.end(to, size);
      };
      parallel_for(walk.numel, grain_of(size + count), [&](int64_t begin, int64_t end) {
        const RunOfSums<T> run(std::max(size, kTermsAtATime));
        kernels::for_each_row(walk, begin, end, [&](const auto& offset, int64_t length) {
          for (int64_t i = 0; i < length; ++i) {
            sum_slice(run, y + offset[0] + i * walk.row_stride(0), x ? x + offset[1] + i * walk.row_stride(1) : nullptr,
                      index + offset[2] + i * walk.row_stride(2), src + offset[3] + i * walk.row_stride(3));
          }
        });
      });
    });
  });
}

/// Groups the positions of a rank-1 index by value: first[k] is the first position with index k, next[j] the position
/// after j with the same index, or -1.
class PositionsByIndex {
 public:
  PositionsByIndex(const Tensor& index, int64_t size, int64_t dim) : first_(size), next_(index.numel()) {
    std::fill_n(first_.data(), size, -1);
    const int64_t step = index.dim() == 0 ? 1 : index.strides()[0];
    visit_index(index.dtype(), [&]<class Index>(Index) {
      const Index* const k = index.raw<Index>();
      for (int64_t j = index.numel(); j-- > 0;) {
        check_index(k[j * step], size, dim);
        int32_t& first = first_.data()[k[j * step]];
        next_.data()[j] = first;
        first = static_cast<int32_t>(j);
      }
    });
  }
  int32_t first(int64_t k) const { return first_.data()[k]; }
  int32_t next(int32_t j) const { return next_.data()[j]; }

 private:
  Scratch<int32_t> first_, next_;
};

/// Whether the rows of y across `dim` are contiguous, and long enough to pay for grouping.
bool has_rows(const Sums& s, const kernels::Walk<4>& walk) {
  constexpr int64_t kShortestRow = 16;
  const bool dense = walk.row_stride(0) == 1 && (!s.x.defined() || walk.row_stride(1) == 1) && walk.row_stride(3) == 1;
  return dense && walk.row_length() >= kShortestRow && s.count() <= std::numeric_limits<int32_t>::max();
}

void sum_rows(const Sums& s, const kernels::Walk<4>& walk) {
  const PositionsByIndex positions(s.index, s.size(), s.dim);
  const int64_t size = s.size(), y_step = s.along(s.y), src_step = s.along(s.src);
  const int64_t x_step = s.x.defined() ? s.along(s.x) : 0;
  // Threads divide rows if there are few terms, else parts of all rows, so that rows of many terms are divided too.
  const int64_t parts = s.count() < size ? 1 : get_num_threads();
  const int64_t part = std::clamp<int64_t>((walk.numel + parts - 1) / parts, 64, 2048);
  const int64_t across = (walk.numel + part - 1) / part;
  const int64_t work = part * (1 + s.count() / size);
  const bool dense = across == 1 && !s.x.defined() && walk.rank == 1 && y_step == walk.numel;
  kernels::visit_floating(s.y.dtype(), [&]<class T>(T) {
    T* const y = s.y.raw<T>();
    const T* const x = s.x.defined() ? s.x.raw<T>() : nullptr;
    const T* const src = s.src.raw<T>();
    const auto sum_part = [&](const RunOfSums<T>& run, int64_t k, const auto& offset, int64_t n) {
      T* const to = y + offset[0] + k * y_step;
      const T* const from = x ? x + offset[1] + k * x_step : nullptr;
      int32_t j = positions.first(k);
      if (j < 0) {
        if (from) {
          std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(n) * sizeof(T));
        } else {
          std::memset(static_cast<void*>(to), 0, static_cast<size_t>(n) * sizeof(T));
        }
        return;
      }
      auto* const sums = run.begin(to, from, n);
      for (; j >= 0; j = positions.next(j)) {
        const auto* const terms = run.terms(src + offset[3] + j * src_step, n);
        for (int64_t i = 0; i < n; ++i) sums[i] += terms[i];
      }
      run.end(to, n);
    };
    parallel_for(across * size, grain_of(work), [&](int64_t begin, int64_t end) {
      const RunOfSums<T> run(part);
      for (int64_t i = begin; i < end; ++i) {
        if (dense) {  // one call for all rows without terms in between is faster than one for each
          int64_t empty = i;
          while (empty < end && positions.first(empty) < 0) ++empty;
          std::memset(static_cast<void*>(y + i * y_step), 0, static_cast<size_t>((empty - i) * y_step) * sizeof(T));
          i = empty;
          if (i == end) break;
        }
        const int64_t first = i / size * part, last = std::min(walk.numel, first + part);
        kernels::for_each_row(walk, first, last,
                              [&](const auto& offset, int64_t n) { sum_part(run, i % size, offset, n); });
      }
    });
  });
}

/// add(sums) adds the terms to y, or to an f32 tensor for 16-bit y.
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
  if (is_floating_point(y.dtype()) && y.numel() > 0 && src.numel() > 0) {
    const Sums sums{y, x, dim, index, Dims(index.strides()), src};
    if (has_slices(sums)) return sum_slices(sums);
  }
  sum_in_passes(y, x, [&](const Tensor& sums) {
    if (src.numel() > 0) scatter_add(sums, dim, index, src);
  });
}

void index_sum(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  if (is_floating_point(y.dtype()) && y.numel() > 0 && src.numel() > 0) {
    const Sums sums{y, x, dim, index, expanded(index, y.dim(), dim), src};
    if (has_slices(sums)) return sum_slices(sums);
    const auto walk = sums.others();
    if (has_rows(sums, walk)) return sum_rows(sums, walk);
  }
  sum_in_passes(y, x, [&](const Tensor& sums) {
    if (src.numel() > 0) index_add(sums, dim, index, src);
  });
}

}  // namespace tandem::cpu
