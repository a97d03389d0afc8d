// uniform, normal, random_int, bernoulli, random_from, poisson, binomial, pick_weighted, dropout. Contract: the rules
// of math/philox.h and math/distributions.h, with element i counted in row-major order of the sizes. So the numbers do
// not depend on strides, and are equal in every dtype except for rounding. uniform stays below `to` in every dtype.
// Each thread computes the four elements of a counter. The lanes, and so dropout's masks, equal the CPU's bit for bit;
// so do uniform numbers if the CPU has fused multiply-add, or for [0, 1).
#include <algorithm>

#include "kernels/compute.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/logical.h"
#include "kernels/cuda/philox_position.h"
#include "kernels/largest_below.h"
#include "kernels/weighted_index.h"
#include "tandem/math/distributions.h"
#include "tandem/tensor/tensor.h"

namespace tandem::cuda {
namespace {

/// The positions of the elements of N operands, in logical order.
template <size_t N>
struct Target {
  Geometry<N> geometry;
  void* data[N];
  DType dtypes[N];
  bool quads;  ///< element i is at offset i in all operands, aligned to 16 bytes
};

template <size_t N>
Target<N> target_of(const std::array<const Tensor*, N>& tensors) {
  Target<N> t;
  std::array<IntArrayRef, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = tensors[k]->strides();
  t.geometry = logical_geometry<N>(tensors[0]->sizes(), strides);
  t.quads = is_linear(t.geometry);
  for (size_t k = 0; k < N; ++k) {
    t.data[k] = tensors[k]->raw_bytes();
    t.dtypes[k] = tensors[k]->dtype();
    t.quads = t.quads && reinterpret_cast<uintptr_t>(t.data[k]) % 16 == 0;
  }
  return t;
}

/// make(values, lanes, further) computes the four elements of a counter; `further` is set only for 64-bit C.
template <class C, class Make>
__global__ void __launch_bounds__(kThreads) generate(Target<1> y, PhiloxState given, Make make) {
  const PhiloxState state = position_of(given);
  const int64_t numel = y.geometry.numel, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t first = 4 * (int64_t{blockIdx.x} * blockDim.x + threadIdx.x); first < numel; first += 4 * step) {
    const uint64_t position = state.offset + static_cast<uint64_t>(first / 4);
    const math::PhiloxBlock lanes = math::philox(state.seed, position, 0);
    math::PhiloxBlock further{};
    if constexpr (sizeof(C) == 8) further = math::philox(state.seed, position, 1);
    C values[4];
    make(values, lanes.lane, further.lane);
    if (y.quads && first + 4 <= numel) {
      store_quad<C>(y.data[0], y.dtypes[0], first, values);
      continue;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (first + j >= numel) break;
      int64_t offset[1];
      y.geometry.offsets(first + j, offset);
      store<C>(y.data[0], y.dtypes[0], offset[0], values[j]);
    }
  }
}

template <class C, class Make>
void run(const Tensor& y, PhiloxState state, const Make& make) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  launch(generate<C, Make>, grid_stride(y.numel(), 4), target_of<1>({&y}), state, make);
}

template <class C>
struct Uniform {
  C from, range, last;
  __device__ void operator()(C (&y)[4], const uint32_t* lanes, const uint32_t* further) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      C u;
      if constexpr (sizeof(C) == 8) {
        u = math::uniform_f64(lanes[j], further[j]);
      } else {
        u = math::uniform_f32(lanes[j]);
      }
      y[j] = math::minimum(from + u * range, last);
    }
  }
};

template <class C>
struct Normal {
  C mean, std;
  __device__ void operator()(C (&y)[4], const uint32_t* lanes, const uint32_t* further) const {
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      C z0, z1;
      if constexpr (sizeof(C) == 8) {
        math::normal_f64(lanes[j], lanes[j + 1], further[j], further[j + 1], z0, z1);
      } else {
        math::normal_f32(lanes[j], lanes[j + 1], z0, z1);
      }
      y[j] = mean + std * z0;
      y[j + 1] = mean + std * z1;
    }
  }
};

struct Integers {
  int64_t low;
  uint64_t range;
  __device__ void operator()(int64_t (&y)[4], const uint32_t* lanes, const uint32_t* further) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) y[j] = math::random_integer(lanes[j], further[j], low, range);
  }
};

struct Bernoulli {
  uint32_t threshold;
  __device__ void operator()(float (&y)[4], const uint32_t* lanes, const uint32_t*) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) y[j] = (lanes[j] >> 8) < threshold ? 1.0f : 0.0f;
  }
};

template <class C, kernels::Distribution kWhich>
struct Draw {
  C a, b;
  __device__ void operator()(C (&y)[4], const uint32_t* lanes, const uint32_t* further) const {
    math::draw(kWhich, a, b, lanes, further, y);
  }
};

/// One thread per element. Operands: y and the parameters.
template <class Distribution>
__global__ void __launch_bounds__(kThreads) draw_each(Target<1 + Distribution::kParameters> t, PhiloxState given) {
  const PhiloxState state = position_of(given);
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < t.geometry.numel; i += step) {
    int64_t offset[1 + Distribution::kParameters];
    t.geometry.offsets(i, offset);
    double p[Distribution::kParameters];
#pragma unroll
    for (int k = 0; k < Distribution::kParameters; ++k)
      p[k] = load<double>(t.data[k + 1], t.dtypes[k + 1], offset[k + 1]);
    store<double>(t.data[0], t.dtypes[0], offset[0],
                  Distribution()(p, {state.seed, state.offset, static_cast<uint64_t>(i)}));
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    pick_each(int64_t numel, int64_t n, int64_t k, int64_t* y, const C* sums, const C* u) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
    y[i] = kernels::weighted_index(sums + i / k * n, n, u[i]);
  }
}

/// Operands: y, mask, x.
template <class C>
__global__ void __launch_bounds__(kThreads, 4) drop(Target<3> t, PhiloxState given, uint32_t threshold, C scale) {
  const PhiloxState state = position_of(given);
  const int64_t numel = t.geometry.numel, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t first = 4 * (int64_t{blockIdx.x} * blockDim.x + threadIdx.x); first < numel; first += 4 * step) {
    const math::PhiloxBlock lanes = math::philox(state.seed, state.offset + static_cast<uint64_t>(first / 4), 0);
    if (t.quads && first + 4 <= numel) {
      C x[4];
      Quad<bool> kept;
      load_quad<C>(t.data[2], t.dtypes[2], first, x);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        kept.at[j] = (lanes.lane[j] >> 8) >= threshold;
        x[j] = kept.at[j] ? x[j] * scale : C(0);
      }
      store_quad<C>(t.data[0], t.dtypes[0], first, x);
      static_cast<Quad<bool>*>(t.data[1])[first / 4] = kept;
      continue;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (first + j >= numel) break;
      int64_t offset[3];
      t.geometry.offsets(first + j, offset);
      const bool kept = (lanes.lane[j] >> 8) >= threshold;
      const C x = load<C>(t.data[2], t.dtypes[2], offset[2]);
      store<C>(t.data[0], t.dtypes[0], offset[0], kept ? x * scale : C(0));
      static_cast<bool*>(t.data[1])[offset[1]] = kept;
    }
  }
}

}  // namespace

void uniform(const Tensor& y, double from, double to, PhiloxState state) {
  const double last = std::max(from, kernels::largest_below(y.dtype(), to));
  if (y.dtype() == DType::F64) return run<double>(y, state, Uniform<double>{from, to - from, last});
  const auto first = static_cast<float>(from);
  run<float>(y, state, Uniform<float>{first, static_cast<float>(to) - first, static_cast<float>(last)});
}

void normal(const Tensor& y, double mean, double std, PhiloxState state) {
  if (y.dtype() == DType::F64) return run<double>(y, state, Normal<double>{mean, std});
  run<float>(y, state, Normal<float>{static_cast<float>(mean), static_cast<float>(std)});
}

void random_int(const Tensor& y, int64_t low, int64_t high, PhiloxState state) {
  run<int64_t>(y, state, Integers{low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)});
}

void bernoulli(const Tensor& y, double p, PhiloxState state) {
  run<float>(y, state, Bernoulli{math::bernoulli_threshold(p)});
}

void random_from(const Tensor& y, kernels::Distribution which, double a, double b, PhiloxState state) {
  using kernels::Distribution;
  kernels::visit_floating_compute(y.dtype(), [&]<class C>(C) {
    const C ca = static_cast<C>(a), cb = static_cast<C>(b);
    switch (which) {
      case Distribution::exponential:
        return run<C>(y, state, Draw<C, Distribution::exponential>{ca, cb});
      case Distribution::geometric:
        return run<C>(y, state, Draw<C, Distribution::geometric>{ca, cb});
      case Distribution::cauchy:
        return run<C>(y, state, Draw<C, Distribution::cauchy>{ca, cb});
      case Distribution::log_normal:
        return run<C>(y, state, Draw<C, Distribution::log_normal>{ca, cb});
    }
  });
}

void poisson(const Tensor& y, const Tensor& rate, PhiloxState state) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  launch(draw_each<math::Poisson>, grid_stride(y.numel()), target_of<2>({&y, &rate}), state);
}

void binomial(const Tensor& y, const Tensor& count, const Tensor& prob, PhiloxState state) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  launch(draw_each<math::Binomial>, grid_stride(y.numel()), target_of<3>({&y, &count, &prob}), state);
}

void pick_weighted(const Tensor& y, const Tensor& sums, const Tensor& u) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  kernels::visit_floating_compute(u.dtype(), [&]<class C>(C) {
    launch(pick_each<C>, grid_stride(y.numel()), y.numel(), sums.sizes()[1], u.sizes()[1], y.raw<int64_t>(),
           sums.raw<C>(), u.raw<C>());
  });
}

void dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double p, PhiloxState state) {
  if (y.numel() == 0) return;
  const DeviceGuard on(y.device());
  const uint32_t threshold = math::bernoulli_threshold(p);
  const double scale = 1.0 / (1.0 - p);
  const Target<3> target = target_of<3>({&y, &mask, &x});
  const Launch shape = grid_stride(y.numel(), 4);
  if (kernels::compute_type(promote_types(y.dtype(), x.dtype())) == DType::F64) {
    launch(drop<double>, shape, target, state, threshold, scale);
  } else {
    launch(drop<float>, shape, target, state, threshold, scale);
  }
}

}  // namespace tandem::cuda
