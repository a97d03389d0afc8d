// cast_float8. Contract: f16, bf16 and f32 are scaled in f32; f64 is scaled in f64 and rounded once. Element i uses
// Philox lane i, counted in row-major order; results equal the CPU's bit for bit. Each thread casts the four elements
// of a counter; the largest magnitude is found in registers and shared memory, and then by one atomic operation a
// block.
#include "kernels/cuda/element.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/logical.h"
#include "kernels/cuda/philox_position.h"
#include "tandem/math/philox.h"

namespace tandem::cuda {
namespace {

struct CastPlan {
  Geometry<2> geometry;
  uint8_t* y;
  const void* x;
  DType from;
  const float* scale;  ///< null: 1
  uint32_t* amax;      ///< the bits of a float; null if not wanted
  PhiloxState state;
  Float8Overflow overflow;
  bool stochastic;
  bool quads;  ///< element i is at offset i in both, aligned to 16 bytes
};

template <class Format, class C>
__global__ void __launch_bounds__(kThreads) cast_each(CastPlan plan) {
  const PhiloxState state = position_of(plan.state);
  const int64_t numel = plan.geometry.numel, step = int64_t{gridDim.x} * blockDim.x;
  const C scale = plan.scale ? static_cast<C>(*plan.scale) : C(1);
  uint32_t largest = 0;
  for (int64_t first = 4 * (int64_t{blockIdx.x} * blockDim.x + threadIdx.x); first < numel; first += 4 * step) {
    math::PhiloxBlock lanes{};
    if (plan.stochastic) lanes = math::philox(state.seed, state.offset + static_cast<uint64_t>(first / 4), 0);
    const bool whole = plan.quads && first + 4 <= numel;
    C values[4] = {};
    int64_t offset[4][2];
    if (whole) {
      load_quad<C>(plan.x, plan.from, first, values);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (first + j >= numel) continue;
        plan.geometry.offsets(first + j, offset[j]);
        values[j] = load<C>(plan.x, plan.from, offset[j][1]);
      }
    }
    Quad<uint8_t> codes;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float scaled, plain;
      if constexpr (sizeof(C) == 8) {
        scaled = math::round_to_odd(values[j] * scale);
        plain = static_cast<float>(values[j]);
      } else {
        scaled = values[j] * scale;
        plain = values[j];
      }
      const uint32_t magnitude = math::bits_as<uint32_t>(plain) & 0x7fffffffu;
      largest = magnitude > largest ? magnitude : largest;
      codes.at[j] = plan.stochastic ? Format::round_stochastically(scaled, lanes.lane[j], plan.overflow)
                                    : Format::round(scaled, plan.overflow);
    }
    if (whole) {
      reinterpret_cast<Quad<uint8_t>*>(plan.y)[first / 4] = codes;
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (first + j < numel) plan.y[offset[j][0]] = codes.at[j];
      }
    }
  }
  if (!plan.amax) return;
  const uint32_t all = Group<false>::fold(largest, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
  if (threadIdx.x == 0) atomicMax(plan.amax, all);
}

}  // namespace

void cast_float8(const Float8CastCall& call) {
  if (call.x.numel() == 0) return;
  const DeviceGuard on(call.y.device());
  CastPlan plan{};
  plan.geometry = logical_geometry<2>(call.y.sizes(), {call.y.strides(), call.x.strides()});
  plan.y = static_cast<uint8_t*>(call.y.raw_bytes());
  plan.x = call.x.raw_bytes();
  plan.from = call.x.dtype();
  plan.scale = call.scale.defined() ? call.scale.raw<float>() : nullptr;
  plan.amax = call.amax.defined() ? static_cast<uint32_t*>(call.amax.raw_bytes()) : nullptr;
  plan.state = call.state;
  plan.overflow = call.overflow;
  plan.stochastic = call.stochastic;
  plan.quads = is_linear(plan.geometry) && reinterpret_cast<uintptr_t>(plan.y) % 16 == 0 &&
               reinterpret_cast<uintptr_t>(plan.x) % 16 == 0;
  const Launch shape = grid_stride(call.x.numel(), 4);
  const auto run = [&]<class Format>(Format) {
    if (plan.from == kDouble) {
      launch(cast_each<Format, double>, shape, plan);
    } else {
      launch(cast_each<Format, float>, shape, plan);
    }
  };
  if (call.y.dtype() == kFloat8_e4m3fn) {
    run(tandem::detail::E4m3fn());
  } else {
    run(tandem::detail::E5m2());
  }
}

}  // namespace tandem::cuda
