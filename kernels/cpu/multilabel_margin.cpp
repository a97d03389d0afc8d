// multilabel_margin, multilabel_margin_backward. Contract: f32 and f64, with sums in f64.
#include "kernels/compute.h"
#include "kernels/cpu/check_index.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {
namespace {

/// Calls f(n) for every sample, in parallel.
template <class F>
void for_rows_of(const Tensor& x, F f) {
  const int64_t classes = x.sizes()[1];
  parallel_for(x.sizes()[0], grain_of(8 * classes), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) f(n);
  });
}

}  // namespace

void multilabel_margin(const Tensor& loss, const Tensor& is_target, const Tensor& x, const Tensor& target) {
  const int64_t classes = x.sizes()[1];
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    for_rows_of(x, [&](int64_t n) {
      const C* const v = x.raw<C>() + n * classes;
      const int64_t* const listed = target.raw<int64_t>() + n * classes;
      bool* const marked = is_target.raw<bool>() + n * classes;
      std::fill(marked, marked + classes, false);
      int64_t count = 0;
      for (; count < classes && listed[count] >= 0; ++count) {
        check_index(listed[count], classes, 1);
        marked[listed[count]] = true;
      }
      double sum = 0;
      for (int64_t j = 0; j < count; ++j) {
        const double reach = 1 - static_cast<double>(v[listed[j]]);
        for (int64_t k = 0; k < classes; ++k) sum += marked[k] ? 0 : math::maximum(reach + v[k], 0.0);
      }
      loss.raw<C>()[n] = static_cast<C>(sum / static_cast<double>(classes));
    });
  });
}

void multilabel_margin_backward(const Tensor& gx, const Tensor& gy, const Tensor& x, const Tensor& target,
                                const Tensor& is_target) {
  const int64_t classes = x.sizes()[1];
  kernels::visit_floating_compute(x.dtype(), [&]<class C>(C) {
    for_rows_of(x, [&](int64_t n) {
      const C* const v = x.raw<C>() + n * classes;
      const int64_t* const listed = target.raw<int64_t>() + n * classes;
      const bool* const marked = is_target.raw<bool>() + n * classes;
      C* const g = gx.raw<C>() + n * classes;
      const C step = gy.raw<C>()[n] / static_cast<C>(classes);
      std::fill(g, g + classes, C(0));
      for (int64_t j = 0; j < classes && listed[j] >= 0; ++j) {
        const C reach = C(1) - v[listed[j]];
        for (int64_t k = 0; k < classes; ++k) {
          if (marked[k] || !(reach + v[k] > C(0))) continue;
          g[k] += C(1);
          g[listed[j]] -= C(1);
        }
      }
      for (int64_t k = 0; k < classes; ++k) g[k] *= step;
    });
  });
}

}  // namespace tandem::cpu
