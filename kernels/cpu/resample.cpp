// resample, window_argmax. Contract: f16 and bf16 are widened, sums are held in f32 (f64 for f64) and rounded once.
#include <algorithm>
#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/resample.h"

namespace tandem::cpu {
namespace {

using kernels::Along;
using kernels::FloatingCompute;
using kernels::visit_floating;
using math::Resampling;

constexpr int64_t kRun = 64;  // elements that are summed at a time

/// The terms of each result: those of result i are [begin[i], begin[i + 1]).
template <class C>
struct Terms {
  std::vector<int64_t> begin, index;
  std::vector<C> weight;

  Terms(const Resampling& r, bool transposed) : begin{0} {
    const int64_t n = transposed ? r.in : r.out;
    for (int64_t i = 0; i < n; ++i) {
      const auto add = [&](int64_t k, C w) {
        index.push_back(k);
        weight.push_back(w);
      };
      if (transposed) {
        r.for_outputs<C>(i, add);
      } else {
        const math::Taps<C> taps = r.taps<C>(i);
        for (int64_t k = 0; k < taps.count; ++k) add(taps.first + k, taps.at(k));
      }
      begin.push_back(static_cast<int64_t>(index.size()));
    }
  }
};

template <class C, class Y, class X>
void combine(Y* y, const X* x, const Along& to, const Along& from, const Terms<C>& terms) {
  const int64_t work = to.inner * static_cast<int64_t>(terms.index.size()) / std::max<int64_t>(1, to.n);
  parallel_for(to.outer * to.n, grain_of(work), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const auto i = static_cast<size_t>(row % to.n);
      const X* const in = x + row / to.n * from.n * from.inner;
      Y* const out = y + row * to.inner;
      for (int64_t run = 0; run < to.inner; run += kRun) {
        const int64_t count = std::min(kRun, to.inner - run);
        C sums[kRun] = {};
        for (auto k = static_cast<size_t>(terms.begin[i]); k < static_cast<size_t>(terms.begin[i + 1]); ++k) {
          const C w = terms.weight[k];
          const X* const v = in + terms.index[k] * from.inner + run;
          for (int64_t e = 0; e < count; ++e) sums[e] += w * static_cast<C>(v[e]);
        }
        for (int64_t e = 0; e < count; ++e) out[run + e] = Y(sums[e]);
      }
    }
  });
}

}  // namespace

void resample(const Tensor& y, const Tensor& x, int64_t dim, const Resampling& r, bool transposed) {
  const Along to(y, dim), from(x, dim);
  visit_floating(x.dtype(), [&]<class X>(X) {
    using C = FloatingCompute<X>;
    const Terms<C> terms(r, transposed);
    visit_floating(y.dtype(), [&]<class Y>(Y) {
      if constexpr (std::is_same_v<FloatingCompute<Y>, C>) combine<C>(y.raw<Y>(), x.raw<X>(), to, from, terms);
    });
  });
}

void window_argmax(const Tensor& index, const Tensor& x, int64_t dim, const Resampling& r) {
  const Along to(index, dim), from(x, dim);
  visit_floating(x.dtype(), [&]<class X>(X) {
    using C = FloatingCompute<X>;
    const X* const data = x.raw<X>();
    int64_t* const found = index.raw<int64_t>();
    parallel_for(to.outer * to.n, grain_of(4 * to.inner), [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const X* const in = data + row / to.n * from.n * from.inner;
        for (int64_t e = 0; e < to.inner; ++e) {
          found[row * to.inner + e] = kernels::largest_in_window(
              r, row % to.n, [&](int64_t i) { return static_cast<C>(in[i * from.inner + e]); });
        }
      }
    });
  });
}

}  // namespace tandem::cpu
