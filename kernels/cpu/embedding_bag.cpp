// embedding_bag, gathered_dots. Contract: f16 and bf16 are widened to f32; sums are held in f32 (f64 for f64) and
// rounded once. All indices and offsets are checked before anything is written.
#include <algorithm>
#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/check_index.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "tandem/base/check.h"

namespace tandem::cpu {
namespace {

using kernels::Bag;

void check_bags(const Tensor& indices, const Tensor& offsets, int64_t rows) {
  const int64_t n = indices.numel();
  const auto* const k = indices.raw<int64_t>();
  for (int64_t j = 0; j < n; ++j) check_index(k[j], rows, 0);
  const auto* const begin = offsets.raw<int64_t>();
  for (int64_t b = 0; b < offsets.numel(); ++b) {
    const int64_t least = b == 0 ? 0 : begin[b - 1];
    TANDEM_CHECK(begin[b] >= least && begin[b] <= n && (b > 0 || begin[0] == 0), IndexError,
                 "offsets[{}] is {}; offsets must start at 0, must not decrease, and must be at most {}, the number of "
                 "indices",
                 b, begin[b], n);
  }
}

}  // namespace

void embedding_bag(const Tensor& y, const Tensor& winner, const Tensor& weight, const Tensor& indices,
                   const Tensor& offsets, const Tensor& scale, Bag bag, int64_t padding_idx) {
  const int64_t bags = y.sizes()[0], width = y.sizes()[1], n = indices.numel();
  check_bags(indices, offsets, weight.sizes()[0]);
  const auto* const k = indices.raw<int64_t>();
  const auto* const begin = offsets.raw<int64_t>();
  const int64_t row_step = weight.strides()[0], step = weight.strides()[1];
  const int64_t y_row = y.strides()[0], y_step = y.strides()[1];
  const int64_t work = width * std::max<int64_t>(1, n / std::max<int64_t>(1, bags));
  kernels::visit_floating(weight.dtype(), [&]<class T>(T) {
    using C = kernels::FloatingCompute<T>;
    const T* const table = weight.raw<T>();
    const T* const factors = scale.defined() ? scale.raw<T>() : nullptr;
    parallel_for(bags, grain_of(work), [&](int64_t first, int64_t last) {
      std::vector<C> sums(static_cast<size_t>(width));
      for (int64_t b = first; b < last; ++b) {
        const int64_t end = b + 1 < offsets.numel() ? begin[b + 1] : n;
        int64_t* const from = winner.defined() ? winner.raw<int64_t>() + b * width : nullptr;
        std::fill(sums.begin(), sums.end(), C(0));
        if (from) std::fill(from, from + width, int64_t{-1});
        int64_t count = 0;
        for (int64_t j = begin[b]; j < end; ++j) {
          if (k[j] == padding_idx) continue;
          const T* const row = table + k[j] * row_step;
          C* const sum = sums.data();
          if (from) {
            for (int64_t d = 0; d < width; ++d) {
              const C v = static_cast<C>(row[d * step]);
              if (count > 0 && !(v > sum[d])) continue;
              sum[d] = v;
              from[d] = k[j];
            }
          } else if (factors) {
            const C f = static_cast<C>(factors[j]);
            for (int64_t d = 0; d < width; ++d) sum[d] += f * static_cast<C>(row[d * step]);
          } else {
            for (int64_t d = 0; d < width; ++d) sum[d] += static_cast<C>(row[d * step]);
          }
          ++count;
        }
        const C divisor = bag == Bag::mean && count > 0 ? static_cast<C>(count) : C(1);
        T* const out = y.raw<T>() + b * y_row;
        for (int64_t d = 0; d < width; ++d) out[d * y_step] = T(sums[static_cast<size_t>(d)] / divisor);
      }
    });
  });
}

void gathered_dots(const Tensor& y, const Tensor& a, const Tensor& a_rows, const Tensor& b, const Tensor& b_rows) {
  const int64_t width = a.sizes()[1];
  const int64_t a_row = a.strides()[0], a_step = a.strides()[1], b_row = b.strides()[0], b_step = b.strides()[1];
  kernels::visit_floating(a.dtype(), [&]<class T>(T) {
    parallel_for(y.numel(), grain_of(width), [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        const T* const u = a.raw<T>() + a_rows.raw<int64_t>()[j] * a_row;
        const T* const v = b.raw<T>() + b_rows.raw<int64_t>()[j] * b_row;
        double sum = 0;
        for (int64_t d = 0; d < width; ++d) {
          sum += static_cast<double>(u[d * a_step]) * static_cast<double>(v[d * b_step]);
        }
        y.raw<T>()[j] = T(static_cast<kernels::FloatingCompute<T>>(sum));
      }
    });
  });
}

}  // namespace tandem::cpu
