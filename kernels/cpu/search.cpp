// search_sorted. Contract: NaN in `sorted` is greater than all numbers, as in sort(); a NaN in x gets index n.
#include "kernels/cpu/indexed.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {

void search_sorted(const Tensor& y, const Tensor& sorted, const Tensor& x, bool right) {
  const int64_t n = sorted.sizes()[1], columns = x.sizes()[1];
  const int64_t row_step = sorted.sizes()[0] == 1 ? 0 : n;
  visit_arithmetic_dtype(x.dtype(), [&]<class T>(T) {
    using C = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
    const T *all = sorted.raw<T>(), *wanted = x.raw<T>();
    const auto find = [&](int64_t i) {
      const T* row = all + i / columns * row_step;
      const C value = static_cast<C>(wanted[i]);
      int64_t begin = 0, end = n;
      while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        const C at = static_cast<C>(row[middle]);
        value == value && !(right ? at <= value : at < value) ? end = middle : begin = middle + 1;
      }
      return begin;
    };
    visit_index(y.dtype(), [&]<class Index>(Index) {
      parallel_for(x.numel(), 1024, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y.raw<Index>()[i] = static_cast<Index>(find(i));
      });
    });
  });
}

}  // namespace tandem::cpu
