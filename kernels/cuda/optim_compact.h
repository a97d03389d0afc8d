#pragma once
// The kernel of steps with states in fewer bits than f32 (math/optim_state.h). A warp updates one block of kStateBlock
// elements at a time, four in each thread, and finds its largest magnitude by shuffles.
#include "kernels/compact_states.h"
#include "kernels/cuda/group.h"
#include "kernels/cuda/optim_update.h"
#include "tandem/math/optim_state.h"
#include "tandem/math/philox.h"

namespace tandem::cuda::steps {

static_assert(math::kStateBlock == 32 * 4 && kChunk % math::kStateBlock == 0);

/// Loads L elements of a state as load_lanes() does, or e4m3fn with the inverse scale of their block.
template <int L>
__device__ __forceinline__ void load_state(const Entry& entry, size_t k, int64_t at, float inverse, float (&x)[L]) {
  if (entry.dtypes[k] != DType::F8E4M3FN) return load_lanes<float, L>(entry, k, at, x);
  using Lanes = std::conditional_t<L == 4, Quad<uint8_t>, Pack<uint8_t, 1>>;
  const Lanes codes = static_cast<const Lanes*>(entry.data[k])[at / L];
#pragma unroll
  for (int j = 0; j < L; ++j) x[j] = tandem::detail::E4m3fn::widen(codes.at[j]) * inverse;
}

/// Stores L elements of a state, rounded by their random bits.
template <int L>
__device__ __forceinline__ void store_state(const Entry& entry, size_t k, int64_t at, float scale,
                                            const uint32_t (&random)[L], const float (&x)[L]) {
  if (entry.dtypes[k] == DType::F8E4M3FN) {
    using Lanes = std::conditional_t<L == 4, Quad<uint8_t>, Pack<uint8_t, 1>>;
    Lanes codes;
#pragma unroll
    for (int j = 0; j < L; ++j) codes.at[j] = math::round_to_e4m3fn_stochastically(x[j], scale, random[j]);
    static_cast<Lanes*>(entry.data[k])[at / L] = codes;
  } else if (entry.dtypes[k] == DType::BF16) {
    Bits<L> bits;
#pragma unroll
    for (int j = 0; j < L; ++j) bits.at[j] = math::round_to_bf16_stochastically(x[j], random[j]);
    static_cast<Bits<L>*>(entry.data[k])[at / L] = bits;
  } else {
    store_lanes<float, L>(entry, k, at, x);
  }
}

/// One thread's elements of a block.
struct Held {
  float p[4], g[4], states[kStates][4];
};

/// Moves elements [j, j + L) of a thread, which are at these offsets, between memory and registers.
template <int L>
__device__ __forceinline__ void load_held(const Entry& entry, const int64_t (&at)[kOperands], float inverse, int j,
                                          Held& held) {
  float x[L];
  const auto keep = [&](float* to) {
#pragma unroll
    for (int l = 0; l < L; ++l) to[j + l] = x[l];
  };
  load_param<float, L>(entry, at, x);
  keep(held.p);
  load_lanes<float, L>(entry, kGrad, at[kGrad], x);
  keep(held.g);
#pragma unroll
  for (size_t s = 0; s < kStates; ++s) {
    if (!entry.data[kState + s]) continue;
    load_state<L>(entry, kState + s, at[kState + s], inverse, x);
    keep(held.states[s]);
  }
}

template <int L>
__device__ __forceinline__ void store_held(const Entry& entry, const int64_t (&at)[kOperands], float scale,
                                           const uint32_t (&bits)[4], int j, const Held& held) {
  float x[L];
  uint32_t random[L];
  const auto take = [&](const float* from) {
#pragma unroll
    for (int l = 0; l < L; ++l) x[l] = from[j + l];
  };
#pragma unroll
  for (int l = 0; l < L; ++l) random[l] = bits[j + l];
  take(held.p);
  store_param<float, L>(entry, at, x);
#pragma unroll
  for (size_t s = 0; s < kStates; ++s) {
    if (!entry.data[kState + s]) continue;
    take(held.states[s]);
    store_state<L>(entry, kState + s, at[kState + s], scale, random, x);
  }
}

/// The table: the list, and from word `scales_at` on the address of each tensor's inverse scales, or 0.
template <class R, class Table>
__global__ void __launch_bounds__(kThreads, kBlocksOfUpdates)
    update_compact(const Table __grid_constant__ table, int64_t count, int64_t chunks, int64_t scales_at,
                   Scaling scaling, Rule<float, R> rule) {
  if (scaling.overflowed()) return;
  const uint64_t* words = table.data();
  const float factor = scaling.factor();
  const int lane = threadIdx.x % 32;
  const int64_t step = blockDim.x / 32 * math::kStateBlock;
  for_each_chunk<kOperands>(
      words, count,
      chunks, [&](int64_t tensor, const Entry& entry, int64_t begin, int64_t end) __attribute__((always_inline)) {
        const auto update = rule.update(tensor);
        const uint64_t key = math::state_key(rule.per_tensor[tensor].next);
        float* const scales = reinterpret_cast<float*>(words[scales_at + tensor]);
        for (int64_t block = begin + threadIdx.x / 32 * math::kStateBlock; block < end; block += step) {
          float* const own_scale = scales ? scales + block / math::kStateBlock : nullptr;
          const float inverse = own_scale ? *own_scale : 1.0f;
          const int64_t first = block + lane * 4;
          const int inside = first + 4 <= end ? 4 : first < end ? static_cast<int>(end - first) : 0;
          const bool quad = entry.packs && inside == 4;
          Held held = {};
          int64_t at[kOperands];
          if (quad) {
#pragma unroll
            for (size_t k = 0; k < kOperands; ++k) at[k] = first;
            load_held<4>(entry, at, inverse, 0, held);
          } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              if (j >= inside) continue;
              offsets_of(words, entry, first + j, at);
              load_held<1>(entry, at, inverse, j, held);
            }
          }
          uint32_t largest = 0;
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            float own[kStates] = {held.states[0][j], held.states[1][j], held.states[2][j]};
            held.p[j] = update(held.p[j], held.g[j] * factor, own);
#pragma unroll
            for (size_t s = 0; s < kStates; ++s) held.states[s][j] = own[s];
            const uint32_t magnitude = j < inside ? math::finite_magnitude(own[0]) : 0u;
            largest = magnitude > largest ? magnitude : largest;
          }
          math::Float8Scale scale{1.0f, 1.0f};
          if (own_scale) {
            for (int lanes = 16; lanes > 0; lanes /= 2) {
              const uint32_t other = shuffle_xor(largest, lanes);
              largest = other > largest ? other : largest;
            }
            scale = math::state_scale(math::bits_as<float>(largest));
            if (lane == 0) *own_scale = scale.inverse;
          }
          // Two threads share a counter.
          const int64_t counter = block / math::kStateBlock * math::kStateCounters + lane % math::kStateCounters;
          const math::PhiloxBlock lanes = math::philox(key, static_cast<uint64_t>(counter), math::kStateStream);
          uint32_t random[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) random[j] = math::state_random(lanes.lane[j], lane >= math::kStateCounters);
          if (quad) {
            store_held<4>(entry, at, scale.scale, random, 0, held);
          } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              if (j >= inside) continue;
              offsets_of(words, entry, first + j, at);
              store_held<1>(entry, at, scale.scale, random, j, held);
            }
          }
        }
      });
}

/// Adds the step of a rule with step counts, some of whose states have fewer bits than f32. `scales`: inverse
/// scales of the first states; may be empty or have undefined entries.
template <class R>
void add_compact_step(Launches& launches, const OptimizerTensors& call, const R& rule, const StateLists& states,
                      const std::vector<Tensor>& steps, const std::vector<Tensor>& scales, double lr,
                      const double* captured_lr, bool maximize) {
  const StepList list = list_of<float>(call, states, steps, {}, /*row_major=*/true);
  if (list.tensors.count() == 0) return;
  const Device device = call.params[0].device();
  const DeviceGuard on(device);
  const Scaling scaling = scaling_of(call.scaling, maximize);
  const auto with_constants = add_constants(
      launches, list, scaling, Rule<float, R>{rule, lr, captured_lr, states_present(states), nullptr}, device);
  if (list.tensors.chunks() == 0) return;
  std::vector<uint64_t> words = list.tensors.words();
  const auto scales_at = static_cast<int64_t>(words.size());
  for (size_t i = 0; i < call.params.size(); ++i) {
    const bool has = !scales.empty() && scales[i].defined();
    words.push_back(has ? reinterpret_cast<uint64_t>(scales[i].raw_bytes()) : 0);
  }
  launches.add(words, [count = list.tensors.count(), chunks = list.tensors.chunks(), scales_at, scaling,
                       with_constants](const auto& table) {
    launch(update_compact<R, std::decay_t<decltype(table)>>, block_stride(chunks), table, count, chunks, scales_at,
           scaling, with_constants);
  });
}

}  // namespace tandem::cuda::steps
