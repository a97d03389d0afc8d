// Batch normalisation of [N, C, ...], contiguous or channels-last. Contract: f16 and bf16 are widened to f32 and
// rounded once; f64 stays f64. Statistics are sums of differences from the channel's first element and of their
// squares, in math::Sum over groups of at most 8 terms, so that a large mean does not reduce the accuracy of the
// variance. Statistics beyond the range of f32 are computed again in f64. Deterministic.
#include <algorithm>

#include "kernels/compute.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/pair_sums.h"
#include "tandem/math/norm.h"

namespace tandem::cuda {
namespace {

/// x as contiguous [outer, channels, inner]; inner is 1 if channels are innermost.
struct Layout {
  int64_t outer, channels, inner;
  explicit Layout(const Tensor& x) : channels(x.size(1)) {
    inner = x.is_contiguous() ? x.numel() / (x.size(0) * channels) : 1;
    outer = x.numel() / (channels * inner);
  }
  int64_t numel() const { return outer * inner * channels; }
};

template <class C, Pairs kPairs>
PartialPairs<C> pairs_of(const PairOperands& operands, const Layout& layout, bool aligned, Device device) {
  if (layout.inner == 1) return column_pairs<C, kPairs>(operands, layout.outer, layout.channels, aligned, device);
  return channel_pairs<C, kPairs>(operands, layout.outer, layout.channels, layout.inner, aligned, device);
}

/// The per-channel values used to map elements.
template <class C>
struct ChannelVectors {
  Vector mean, rstd, weight, bias;
  bool rstd_is_variance = false;
  C eps = 0;
  const C *mean_g = nullptr, *mean_gx = nullptr;  ///< contiguous

  struct Numbers {
    C mean, rstd, weight, bias, mean_g, mean_gx;
  };
  __device__ Numbers of(int64_t c) const {
    Numbers v;
    v.mean = mean.get<C>(c, C(0));
    v.rstd = rstd.get<C>(c, C(0));
    if (rstd_is_variance) v.rstd = math::rstd_of(v.rstd, eps);
    v.weight = weight.get<C>(c, C(1));
    v.bias = bias.get<C>(c, C(0));
    v.mean_g = mean_g ? mean_g[c] : C(0);
    v.mean_gx = mean_gx ? mean_gx[c] : C(0);
    return v;
  }
};

/// out is y = normalised x; with kBackward, gx computed from gy and x.
struct Elements {
  void* out;
  DType out_dtype;
  const void* x;
  DType x_dtype;
  const void* gy = nullptr;
  DType gy_dtype = DType::F32;
};

template <bool kBackward, class C>
__device__ __forceinline__ C apply(C x, C gy, const typename ChannelVectors<C>::Numbers& v) {
  if constexpr (kBackward) {
    const C xhat = normalised(x, v.mean, v.rstd);
    return math::normalised_backward(gy, xhat, v.mean_g, v.mean_gx, v.rstd) * v.weight;
  } else {
    return normalised(x, v.mean, v.rstd) * v.weight + v.bias;
  }
}

/// Channels innermost: a thread keeps `Length` columns and steps through rows.
template <class C, bool kBackward, int Length>
__global__ void __launch_bounds__(kThreads)
    map_columns(Elements elements, ChannelVectors<C> vectors, int64_t rows, int64_t columns) {
  constexpr int kRows = Length == 1 ? 4 : 1, kTerms = kRows * Length;
  const int64_t lanes = columns / Length, thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t row_step = int64_t{gridDim.x} * blockDim.x / lanes;  // at least 1; surplus threads do nothing
  if (thread >= row_step * lanes) return;
  const int64_t c = thread % lanes * Length;
  typename ChannelVectors<C>::Numbers v[Length];
#pragma unroll
  for (int j = 0; j < Length; ++j) v[j] = vectors.of(c + j);
  for (int64_t first = thread / lanes; first < rows; first += kRows * row_step) {
    const auto at = [&](int u) {
      const int64_t row = first + u * row_step;
      return row < rows ? row * columns + c : -1;
    };
    C x[kTerms], gy[kTerms] = {}, result[kTerms];
    load_runs<C, kRows, Length>(elements.x, elements.x_dtype, x, at);
    if constexpr (kBackward) load_runs<C, kRows, Length>(elements.gy, elements.gy_dtype, gy, at);
#pragma unroll
    for (int i = 0; i < kTerms; ++i) result[i] = apply<kBackward>(x[i], gy[i], v[i % Length]);
    store_runs<C, kRows, Length>(elements.out, elements.out_dtype, result, at);
  }
}

/// [outer, channels, inner]: a thread takes kPerThread adjacent elements, which may span channels. For more than four
/// blocks on a multiprocessor, the compiler would spill registers on compute capability 12.
template <class C, bool kBackward>
__global__ void __launch_bounds__(kThreads, 4) map_channels(Elements elements, ChannelVectors<C> vectors, int64_t numel,
                                                            int64_t channels, int64_t inner, bool packed) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x * kPerThread;
  for (int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPerThread; first < numel; first += step) {
    const bool is_run = packed && first + kPerThread <= numel;
    const auto at = [&](int u) { return first + u < numel ? first + u : -1; };
    C x[kPerThread], gy[kPerThread] = {}, result[kPerThread];
    if (is_run) {
      load_runs<C, 1, kPerThread>(elements.x, elements.x_dtype, x, at);
      if constexpr (kBackward) load_runs<C, 1, kPerThread>(elements.gy, elements.gy_dtype, gy, at);
    } else {
      load_runs<C, kPerThread, 1>(elements.x, elements.x_dtype, x, at);
      if constexpr (kBackward) load_runs<C, kPerThread, 1>(elements.gy, elements.gy_dtype, gy, at);
    }
    const int64_t plane =
        numel <= 0x7fffffff ? static_cast<uint32_t>(first) / static_cast<uint32_t>(inner) : first / inner;
    int64_t c = plane % channels, left = (plane + 1) * inner - first;  // elements of the channel from here on
    typename ChannelVectors<C>::Numbers v = vectors.of(c);
#pragma unroll
    for (int e = 0; e < kPerThread; ++e) {
      if (left == 0) {
        c = c + 1 == channels ? 0 : c + 1;
        left = inner;
        v = vectors.of(c);
      }
      --left;
      result[e] = apply<kBackward>(x[e], gy[e], v);
    }
    if (is_run) {
      store_runs<C, 1, kPerThread>(elements.out, elements.out_dtype, result, at);
    } else {
      store_runs<C, kPerThread, 1>(elements.out, elements.out_dtype, result, at);
    }
  }
}

template <class C, bool kBackward>
void map(const Elements& elements, const ChannelVectors<C>& vectors, const Layout& layout, bool aligned) {
  if (layout.inner > 1) {
    launch(map_channels<C, kBackward>, grid_stride(layout.numel(), kPerThread), elements, vectors, layout.numel(),
           layout.channels, layout.inner, aligned);
    return;
  }
  constexpr int kLength = kBackward ? 4 : kPerThread;  // fewer in backward, where each column needs more registers
  const bool packed = aligned && layout.channels % kLength == 0;
  const int64_t lanes = packed ? layout.channels / kLength : layout.channels;
  Launch shape = grid_stride(layout.numel(), packed ? kLength : 4);
  shape.grid.x = std::max(shape.grid.x, static_cast<unsigned>((lanes + kThreads - 1) / kThreads));
  launch(packed ? map_columns<C, kBackward, kLength> : map_columns<C, kBackward, 1>, shape, elements, vectors,
         layout.outer, layout.channels);
}

/// Computes mean, rstd and running statistics of the channels from the sums of Pairs::moments.
template <class C>
__global__ void __launch_bounds__(256)
    finish_statistics(const math::Sum<C>* partial, int64_t splits, Layout layout, const void* x, DType dtype,
                      Vector mean, Vector rstd, Vector running_mean, Vector running_var, double momentum, double eps) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  math::Sum<C> total, total_squares;
  total_pairs(partial, splits, layout.channels, c, total, total_squares);
  const bool has_channel = c < layout.channels;
  const double sum = total.wide(), squares = total_squares.wide();
  const double n = static_cast<double>(layout.outer * layout.inner), distance = sum / n;
  double m = (has_channel ? load<double>(x, dtype, c * layout.inner) : 0.0) + distance;
  const double deviations = squares - sum * distance;
  double variance = deviations < 0 ? 0 : deviations / n;  // NaN is kept
  // Beyond the range of f32 the sums are computed again in f64, of the elements instead of their differences from the
  // first one, which may be infinite.
  const double r = math::rstd_of(variance, eps);
  const bool fits = std::is_same_v<C, float> ? math::is_in_range_of_f32(r) : variance < math::kInf<double>;
  const bool again = has_channel && !fits;
  if (__syncthreads_or(again)) {
    using G = Group<true>;
    const auto sum_of = [&](auto term) {
      double part = 0;
      for (int64_t o = 0, i = G::thread(); again; i += G::width()) {  // without divisions, which cost registers
        for (; i >= layout.inner; i -= layout.inner) ++o;
        if (o >= layout.outer) break;
        part += term(load<double>(x, dtype, (o * layout.channels + c) * layout.inner + i));
      }
      return G::sum(part);
    };
    const double mean_again = sum_of([](double v) { return v; }) / n;
    const double variance_again = sum_of([&](double v) { return (v - mean_again) * (v - mean_again); }) / n;
    m = again ? mean_again : m;
    variance = again ? variance_again : variance;
  }
  if (!has_channel || threadIdx.y != 0) return;
  mean.set(c, m);
  rstd.set(c, math::rstd_of(variance, eps));
  const double unbiased = variance * (n / max(n - 1, 1.0));
  running_mean.set(c, (1 - momentum) * running_mean.get<double>(c, 0.0) + momentum * m);
  running_var.set(c, (1 - momentum) * running_var.get<double>(c, 0.0) + momentum * unbiased);
}

/// Computes gbias and gweight from the sums of Pairs::by_column, and their means per element, mean_g and mean_gx.
template <class C>
__global__ void __launch_bounds__(256) finish_gradients(const math::Sum<C>* partial, int64_t splits, Layout layout,
                                                        Vector gweight, Vector gbias, C* mean_g, C* mean_gx) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  math::Sum<C> sum_g, sum_gx;
  total_pairs(partial, splits, layout.channels, c, sum_g, sum_gx);
  if (c >= layout.channels || threadIdx.y != 0) return;
  const double g = sum_g.wide(), gx = sum_gx.wide();
  gbias.set(c, g);
  gweight.set(c, gx);
  const double n = static_cast<double>(layout.outer * layout.inner);
  mean_g[c] = static_cast<C>(g / n);
  mean_gx[c] = static_cast<C>(gx / n);
}

}  // namespace

void batch_norm_train(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& running_mean,
                      const Tensor& running_var, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      double momentum, double eps) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const Layout layout(x);
  kernels::visit_floating_compute(x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const PartialPairs<C> sums = pairs_of<C, Pairs::moments>(PairOperands(x), layout, is_aligned(x), x.device());
    launch(finish_statistics<C>, pair_shape(layout.channels), sums.get(), sums.splits, layout, x.raw_bytes(), x.dtype(),
           Vector(mean), Vector(rstd), Vector(running_mean), Vector(running_var), momentum, eps);
    map<C, false>({y.raw_bytes(), y.dtype(), x.raw_bytes(), x.dtype()},
                  {Vector(mean), Vector(rstd), Vector(weight), Vector(bias)}, layout, is_aligned(x) && is_aligned(y));
  });
}

void batch_norm_inference(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& spread,
                          const Tensor& weight, const Tensor& bias, std::optional<double> eps) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  kernels::visit_floating_compute(x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    map<C, false>(
        {y.raw_bytes(), y.dtype(), x.raw_bytes(), x.dtype()},
        {Vector(mean), Vector(spread), Vector(weight), Vector(bias), eps.has_value(), static_cast<C>(eps.value_or(0))},
        Layout(x), is_aligned(x) && is_aligned(y));
  });
}

void batch_norm_backward(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, bool train) {
  if (x.numel() == 0) return;
  const DeviceGuard on(x.device());
  const Layout layout(x);
  const bool aligned = is_aligned(x) && is_aligned(gy) && (!gx.defined() || is_aligned(gx));
  kernels::visit_floating_compute(x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    Tensor means;  // mean_g and mean_gx per channel
    if (gweight.defined() || gbias.defined() || (gx.defined() && train)) {
      means = empty({2, layout.channels}, TensorOptions(dtype_of<C>).device(x.device()));
      const PartialPairs<C> sums =
          pairs_of<C, Pairs::by_column>(PairOperands(x, gy, mean, rstd), layout, aligned, x.device());
      launch(finish_gradients<C>, pair_shape(layout.channels), sums.get(), sums.splits, layout, Vector(gweight),
             Vector(gbias), means.raw<C>(), means.raw<C>() + layout.channels);
    }
    if (!gx.defined()) return;
    ChannelVectors<C> vectors{Vector(), Vector(rstd), Vector(weight), Vector()};
    if (!train)  // y is linear in x
      return map<C, false>({gx.raw_bytes(), gx.dtype(), gy.raw_bytes(), gy.dtype()}, vectors, layout, aligned);
    vectors.mean = Vector(mean);
    vectors.mean_g = means.raw<C>();
    vectors.mean_gx = means.raw<C>() + layout.channels;
    map<C, true>({gx.raw_bytes(), gx.dtype(), x.raw_bytes(), x.dtype(), gy.raw_bytes(), gy.dtype()}, vectors, layout,
                 aligned);
  });
}

}  // namespace tandem::cuda
