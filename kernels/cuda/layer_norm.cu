// Layer normalisation over the rows of [rows, n], or of the sums of two tensors' rows; without `mean`, RMS
// normalisation. Contract: f16 and bf16 are widened to f32 and rounded once; f64 stays f64. Sums are in math::Sum over
// groups of 8 terms. The variance is computed from deviations from the mean, so that a large mean does not reduce its
// accuracy. Rows whose squares are beyond the range of f32 are scaled. Deterministic.
#include <algorithm>
#include <initializer_list>

#include "kernels/compute.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/pair_sums.h"
#include "tandem/math/norm.h"

namespace tandem::cuda {
namespace {

/// Maximum threads per row whose elements still fit into registers.
template <class C>
constexpr int max_width(bool packed) {
  return sizeof(C) == 8 ? 256 : packed ? 1024 : 512;
}

/// The same for gradients. Parts of two rows and the loop over them need more than 64 registers.
template <class C>
constexpr int max_backward_width(bool cached, bool packed) {
  return cached ? max_width<C>(packed) : std::min(max_width<C>(packed), 512);
}

/// A contiguous matrix of any floating dtype, or none.
struct Matrix {
  void* data = nullptr;
  DType dtype = DType::F32;
  explicit Matrix(const Tensor& x) {
    if (!x.defined()) return;
    data = x.raw_bytes();
    dtype = x.dtype();
  }

  template <class C>
  __device__ void load_row(int64_t at, const Share<false>& share, C (&v)[kPerThread]) const {
    share.load(data, dtype, v, [at](int64_t i) { return at + i; });
  }
  template <class C>
  __device__ void store_row(int64_t at, const Share<false>& share, const C (&v)[kPerThread]) const {
    share.store(data, dtype, v, [at](int64_t i) { return at + i; });
  }
  /// v += the elements of this matrix.
  template <class C>
  __device__ void add_row(int64_t at, const Share<false>& share, C (&v)[kPerThread]) const {
    C terms[kPerThread];
    load_row(at, share, terms);
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) v[e] += terms[e];
  }
};

/// This thread's part of a parameter vector, or `otherwise` if the vector is absent.
template <class C>
__device__ void load_part(const Vector& vector, const Share<false>& share, C (&v)[kPerThread], C otherwise) {
  if (vector.data) {
    share.load(vector.data, vector.dtype, v, [&](int64_t i) { return i * vector.stride; });
  } else {
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) v[e] = otherwise;
  }
}

/// The sum over the group of term(e) over this thread's elements e. A Part is a C or a math::Sum<C>.
template <class C, class Part, class Each>
__device__ math::Sum<C> group_sum(Each each) {
  math::Sum<C> total{};
  each([&](const Share<false>& share, auto term) {
    Part part{};
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) part += share.has(e) ? term(e) : C(0);
    total += part;
  });
  return Group<false>::sum(total);
}

template <class C, bool kCentred, bool kCached, bool kPacked>
__global__ void __launch_bounds__(max_width<C>(kPacked))
    normalise_rows(Matrix y, Matrix sum, C* means, C* rstds, Matrix x, Matrix residual, Vector weight, Vector bias,
                   int64_t rows, int64_t length, math::Sum<C> inverse_n, C eps) {
  using G = Group<false>;
  for (int64_t first = G::first_row(); first < rows; first += G::row_step()) {
    const int64_t row = first + G::row(), at = row * length;
    const int64_t n = row < rows ? length : 0;  // threads without a row still take part in the folds
    C v[kPerThread];
    if constexpr (kCached) {
      if (residual.data) {
        // One step. The sums are read back, rounded: to hold them across the branch would take more registers than
        // there are for 1024 threads.
        for (int64_t begin = 0; begin < n; begin += int64_t{kPerThread} * G::width()) {
          const Share<false> share{begin, n, kPacked};
          x.load_row(at, share, v);
          residual.add_row(at, share, v);
          sum.store_row(at, share, v);
        }
      }
      const Matrix in = residual.data ? sum : x;
      in.load_row(at, {0, n, kPacked}, v);
    }
    const auto each = [&](auto f) {
      for (int64_t begin = 0; begin < n; begin += int64_t{kPerThread} * G::width()) {
        const Share<false> share{begin, n, kPacked};
        if constexpr (!kCached) x.load_row(at, share, v);
        f(share);
        if constexpr (kCached) break;
      }
    };
    // The statistics of the row times `scale`, which is not 1 where the row's squares are beyond the range of f32.
    C mean = 0, rstd = 0, scale = 1;
    const auto value = [&](int e) { return kCached ? v[e] : v[e] * scale; };
    for (bool first = true;; first = false) {
      // In math::Sum throughout: for a row of one value the result would consist of the error of the mean alone.
      if constexpr (kCentred) {
        mean = group_sum<C, math::Sum<C>>([&](auto add) {
                 each([&](const Share<false>& share) { add(share, [&](int e) { return value(e); }); });
               }).times(inverse_n);
      }
      const C variance = group_sum<C, C>([&](auto add) {
                           each([&](const Share<false>& share) {
                             add(share, [&](int e) {
                               const C d = value(e) - mean;
                               return d * d;
                             });
                           });
                         }).times(inverse_n);
      rstd = math::rstd_of(variance, eps * scale * scale);
      if constexpr (!std::is_same_v<C, float>) break;
      const bool fits = n == 0 || math::is_in_range_of_f32(static_cast<double>(rstd));
      if (!first || !G::any(!fits)) break;
      C largest = 0;
      each([&](const Share<false>& share) {
        for (int e = 0; e < kPerThread; ++e) largest = share.has(e) ? math::maximum(largest, math::abs(v[e])) : largest;
      });
      largest = G::fold(largest, [](C a, C b) { return math::maximum(a, b); });
      if (!fits && largest > 0 && largest < math::kInf<C>) scale = math::inverse_power_of_two(largest);
      for (int e = 0; kCached && e < kPerThread; ++e) v[e] *= scale;
    }
    if (n > 0 && G::thread() == 0) {
      if constexpr (kCentred) means[row] = mean / scale;
      rstds[row] = rstd * scale;
    }
    each([&](const Share<false>& share) {
      C w[kPerThread], b[kPerThread], result[kPerThread];
      load_part(weight, share, w, C(1));
      load_part(bias, share, b, C(0));
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) result[e] = math::normalised_affine(value(e), mean, rstd, w[e], b[e]);
      y.store_row(at, share, result);
    });
  }
}

template <class C, bool kCentred, bool kCached, bool kPacked>
__global__ void __launch_bounds__(max_backward_width<C>(kCached, kPacked))
    backward_rows(Matrix gx, Matrix gy, Matrix gsum, Matrix x, const C* means, const C* rstds, Vector weight,
                  int64_t rows, int64_t length, math::Sum<C> inverse_n) {
  using G = Group<false>;
  for (int64_t first = G::first_row(); first < rows; first += G::row_step()) {
    const int64_t row = first + G::row(), at = row * length;
    const int64_t n = row < rows ? length : 0;
    const C mean = kCentred && n > 0 ? means[row] : C(0), rstd = n > 0 ? rstds[row] : C(0);
    C g[kPerThread], xhat[kPerThread];
    const auto load_both = [&](const Share<false>& share) {
      C w[kPerThread];
      gy.load_row(at, share, g);
      x.load_row(at, share, xhat);
      load_part(weight, share, w, C(1));
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) {
        g[e] *= w[e];
        xhat[e] = normalised(xhat[e], mean, rstd);
      }
    };
    if constexpr (kCached) load_both({0, n, kPacked});
    const auto each = [&](auto f) {
      for (int64_t begin = 0; begin < n; begin += int64_t{kPerThread} * G::width()) {
        const Share<false> share{begin, n, kPacked};
        if constexpr (!kCached) load_both(share);
        f(share);
        if constexpr (kCached) break;
      }
    };
    math::Sum<C> sum{}, sum_xhat{};
    each([&](const Share<false>& share) {
      C part = 0, part_xhat = 0;
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) {
        part += share.has(e) ? g[e] : C(0);
        part_xhat += share.has(e) ? g[e] * xhat[e] : C(0);
      }
      if constexpr (kCentred) sum += part;
      sum_xhat += part_xhat;
    });
    C mean_g = 0;
    if constexpr (kCentred) mean_g = G::sum(sum).times(inverse_n);
    const C mean_gx = G::sum(sum_xhat).times(inverse_n);
    each([&](const Share<false>& share) {
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) g[e] = math::normalised_backward(g[e], xhat[e], mean_g, mean_gx, rstd);
      if (gsum.data) gsum.add_row(at, share, g);
      gx.store_row(at, share, g);
    });
  }
}

template <class C>
__global__ void __launch_bounds__(256)
    store_pairs(const math::Sum<C>* partial, int64_t splits, int64_t columns, Vector gweight, Vector gbias) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  math::Sum<C> g, gx;
  total_pairs(partial, splits, columns, c, g, gx);
  if (c >= columns || threadIdx.y != 0) return;
  gbias.set(c, g.wide());
  gweight.set(c, gx.wide());
}

/// Whether the last dimension of all tensors that are defined divides into runs of kPerThread elements.
bool rows_in_runs(std::initializer_list<const Tensor*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return !t->defined() || in_runs(*t, t->sizes().size() - 1, kPerThread); });
}

}  // namespace

void layer_norm(const Tensor& y, const Tensor& sum, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                const Tensor& residual, const Tensor& weight, const Tensor& bias, double eps) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  const bool packed = rows_in_runs({&x, &residual, &sum, &y, &weight, &bias});
  kernels::visit_floating_compute(rstd.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const GroupShape shape = make_group_shape(rows, n, false, max_width<C>(packed));
    const bool fits = n <= int64_t{kPerThread} * shape.width;
    if (residual.defined() && !fits) {  // the kernel would read such rows again anyway
      binary(sum, kernels::Binary::add, x, residual, 1);
      return layer_norm(y, Tensor(), mean, rstd, sum, Tensor(), weight, bias, eps);
    }
    visit_flags(fits, packed, [&](auto cached, auto runs) {
      const auto kernel = mean.defined() ? normalise_rows<C, true, cached.value, runs.value>
                                         : normalise_rows<C, false, cached.value, runs.value>;
      launch(kernel, launch_of(shape), Matrix(y), Matrix(sum), mean.defined() ? mean.raw<C>() : nullptr, rstd.raw<C>(),
             Matrix(x), Matrix(residual), Vector(weight), Vector(bias), rows, n,
             math::Sum<C>::of(1 / static_cast<double>(n)), eps);
    });
  });
}

void layer_norm_backward(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy,
                         const Tensor& gsum, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight) {
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  if (n == 0) return;
  const DeviceGuard on(x.device());
  kernels::visit_floating_compute(rstd.dtype(), [&](auto zero) {
    using C = decltype(zero);
    if (gx.defined() && rows > 0) {
      const bool packed = rows_in_runs({&gx, &gy, &gsum, &x, &weight});
      const bool fits = n <= int64_t{kPerThread} * max_width<C>(packed);
      const GroupShape shape = make_group_shape(rows, n, false, max_backward_width<C>(fits, packed));
      visit_flags(fits, packed, [&](auto cached, auto runs) {
        const auto kernel = mean.defined() ? backward_rows<C, true, cached.value, runs.value>
                                           : backward_rows<C, false, cached.value, runs.value>;
        launch(kernel, launch_of(shape), Matrix(gx), Matrix(gy), Matrix(gsum), Matrix(x),
               mean.defined() ? mean.raw<C>() : nullptr, rstd.raw<C>(), Vector(weight), rows, n,
               math::Sum<C>::of(1 / static_cast<double>(n)));
      });
    }
    if (!gweight.defined() && !gbias.defined()) return;
    const PartialPairs<C> sums = column_pairs<C, Pairs::by_row>(PairOperands(x, gy, mean, rstd), rows, n,
                                                                is_aligned(x) && is_aligned(gy), x.device());
    launch(store_pairs<C>, pair_shape(n), sums.get(), sums.splits, n, Vector(gweight), Vector(gbias));
  });
}

}  // namespace tandem::cuda
