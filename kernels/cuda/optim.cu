// Optimizer steps over lists of tensors, in one launch for the whole list (two if it has both f64 and other
// parameters). f64 parameters are updated in f64, all others in f32. 16-bit parameters and shadows are rounded once, to
// nearest even; a bf16 parameter with a remainder represents its f32 value exactly. Gradients are multiplied by
// inverse_scale as they are read, and rounded to the compute type. found_inf and the step counts are on the device. If
// found_inf is not 0, nothing is written.
//
// Before the update, a launch of one block reads and increments the step counts and stores each tensor's constants in
// temporary memory, so that no block of the update reads a count that another has incremented.
#include "tandem/math/optim.h"
#include "tandem/math/split_float.h"

#include "kernels/cuda/chunks.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/kernels.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr size_t kStates = 3;
constexpr size_t kOperands = 3 + kStates;
enum : size_t { kParam, kGrad, kState, kShadow = kOperands - 1 };
using Entry = ListEntry<kOperands>;

/// FusedUnscale on the device.
struct Scaling {
  const float* inverse_scale;
  const float* found_inf;
  bool maximize;
  __device__ bool overflowed() const { return found_inf && *found_inf != 0; }  // NaN counts as an overflow
  __device__ float factor() const {
    const float factor = inverse_scale ? *inverse_scale : 1.0f;
    return maximize ? -factor : factor;
  }
};

Scaling scaling_of(const FusedUnscale& s, bool maximize) {
  return {s.inverse_scale.defined() ? s.inverse_scale.raw<float>() : nullptr,
          s.found_inf.defined() ? s.found_inf.raw<float>() : nullptr, maximize};
}

// ---- the rules: the constants with which a tensor's elements are updated

template <class C>
struct Sgd {
  using Compute = C;
  math::SgdConstants<C> constants;
  bool momentum;
  /// Per-tensor output of the preceding launch; null without step counts.
  struct PerTensor {
    float next;  ///< the count after this step
    bool first;
  };
  const PerTensor* per_tensor;
  const double* captured_lr;

  __device__ PerTensor prepare(float count) const { return {count + 1, count == 0}; }

  struct Update {
    math::SgdConstants<C> constants;
    bool momentum, first;
    __device__ C operator()(C p, C g, C (&states)[kStates]) const {
      return momentum ? math::sgd_momentum(p, g, states[0], first, constants) : math::sgd(p, g, constants);
    }
  };
  __device__ Update update(int64_t tensor) const {
    Update update{constants, momentum, !per_tensor || per_tensor[tensor].first};
    if (captured_lr) update.constants.lr = static_cast<C>(*captured_lr);
    return update;
  }
};

template <class C, bool amsgrad>
struct Adam {
  using Compute = C;
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;
  struct PerTensor {
    float next;
    math::AdamConstants<C> constants;
  };
  const PerTensor* per_tensor;
  const double* captured_lr;

  __device__ PerTensor prepare(float count) const {
    const float next = count + 1;
    const double rate = captured_lr ? *captured_lr : lr;
    return {next, math::adam_constants<C>(rate, beta1, beta2, eps, weight_decay, decoupled, next)};
  }

  struct Update {
    math::AdamConstants<C> constants;
    __device__ C operator()(C p, C g, C (&states)[kStates]) const {
      return math::adam<amsgrad>(p, g, states[0], states[1], states[2], constants);
    }
  };
  __device__ Update update(int64_t tensor) const { return {per_tensor[tensor].constants}; }
};

// ---- the kernels

/// Runs in one block. All counts are read before any is incremented, even if tensors share one. The table contains the
/// addresses of the counts.
template <class Rule, class Table>
__global__ void __launch_bounds__(kThreads)
    prepare_steps(const __grid_constant__ Table table, int64_t count, Scaling scaling, Rule rule,
                  typename Rule::PerTensor* per_tensor) {
  if (scaling.overflowed()) return;
  const uint64_t* steps = table.data();
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    per_tensor[i] = rule.prepare(*reinterpret_cast<const float*>(steps[i]));
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    *reinterpret_cast<float*>(steps[i]) = per_tensor[i].next;  // written by this thread
  }
}

/// Whether the parameter consists of a bf16 number and a remainder.
__device__ __forceinline__ bool is_split(const Entry& entry) {
  return entry.data[kShadow] && entry.dtypes[kShadow] == DType::I16;
}

/// Loads L elements of an operand from element `at` on; L is 1, or 4 with `at` a multiple of 4.
template <class C, int L>
__device__ __forceinline__ void load_lanes(const Entry& entry, size_t k, int64_t at, C (&x)[L]) {
  visit_floating(
      entry.dtypes[k], [&]<class T>(T) __attribute__((always_inline)) {
        using Lanes = std::conditional_t<L == 4, Quad<T>, Pack<T, 1>>;
        const Lanes lanes = static_cast<const Lanes*>(entry.data[k])[at / L];
#pragma unroll
        for (int j = 0; j < L; ++j) x[j] = convert<C>(lanes.at[j]);
      });
}
template <class C, int L>
__device__ __forceinline__ void store_lanes(const Entry& entry, size_t k, int64_t at, const C (&x)[L]) {
  visit_floating(
      entry.dtypes[k], [&]<class T>(T) __attribute__((always_inline)) {
        using Lanes = std::conditional_t<L == 4, Quad<T>, Pack<T, 1>>;
        Lanes lanes;
#pragma unroll
        for (int j = 0; j < L; ++j) lanes.at[j] = convert<T>(x[j]);
        static_cast<Lanes*>(entry.data[k])[at / L] = lanes;
      });
}

/// L elements of a 16-bit operand, as bits.
template <int L>
using Bits = std::conditional_t<L == 4, Quad<uint16_t>, Pack<uint16_t, 1>>;

template <class C, int L>
__device__ __forceinline__ void load_param(const Entry& entry, const int64_t (&at)[kOperands], C (&p)[L]) {
  if constexpr (std::is_same_v<C, float>) {
    if (is_split(entry)) {
      const auto rounded = static_cast<const Bits<L>*>(entry.data[kParam])[at[kParam] / L];
      const auto remainder = static_cast<const Bits<L>*>(entry.data[kShadow])[at[kShadow] / L];
#pragma unroll
      for (int j = 0; j < L; ++j) p[j] = math::join_float({rounded.at[j], remainder.at[j]});
      return;
    }
  }
  load_lanes<C, L>(entry, kParam, at[kParam], p);
}
template <class C, int L>
__device__ __forceinline__ void store_param(const Entry& entry, const int64_t (&at)[kOperands], const C (&p)[L]) {
  if constexpr (std::is_same_v<C, float>) {
    if (is_split(entry)) {
      Bits<L> rounded, remainder;
#pragma unroll
      for (int j = 0; j < L; ++j) {
        const math::SplitFloat halves = math::split_float(p[j]);
        rounded.at[j] = halves.rounded;
        remainder.at[j] = halves.remainder;
      }
      static_cast<Bits<L>*>(entry.data[kParam])[at[kParam] / L] = rounded;
      static_cast<Bits<L>*>(entry.data[kShadow])[at[kShadow] / L] = remainder;
      return;
    }
  }
  store_lanes<C, L>(entry, kParam, at[kParam], p);
  if (entry.data[kShadow]) store_lanes<C, L>(entry, kShadow, at[kShadow], p);
}

template <class C, int L, class Update>
__device__ __forceinline__ void update_lanes(const Entry& entry, const int64_t (&at)[kOperands], C factor,
                                             const Update& update) {
  C p[L], g[L], states[kStates][L];
  load_param<C, L>(entry, at, p);
  load_lanes<C, L>(entry, kGrad, at[kGrad], g);
#pragma unroll
  for (size_t s = 0; s < kStates; ++s) {
    if (entry.data[kState + s]) load_lanes<C, L>(entry, kState + s, at[kState + s], states[s]);
  }
#pragma unroll
  for (int j = 0; j < L; ++j) {
    C own[kStates] = {states[0][j], states[1][j], states[2][j]};
    p[j] = update(p[j], g[j] * factor, own);
#pragma unroll
    for (size_t s = 0; s < kStates; ++s) states[s][j] = own[s];
  }
  store_param<C, L>(entry, at, p);
#pragma unroll
  for (size_t s = 0; s < kStates; ++s) {
    if (entry.data[kState + s]) store_lanes<C, L>(entry, kState + s, at[kState + s], states[s]);
  }
}

/// By default the compiler makes room for four blocks per multiprocessor, which causes spills.
constexpr int kBlocksOfUpdates = 2;

template <class Rule, class Table>
__global__ void __launch_bounds__(kThreads, kBlocksOfUpdates)
    update_list(const __grid_constant__ Table table, int64_t count, int64_t chunks, Scaling scaling, Rule rule) {
  if (scaling.overflowed()) return;
  using C = typename Rule::Compute;
  const uint64_t* words = table.data();
  const C factor = static_cast<C>(scaling.factor());
  for_each_chunk<kOperands>(
      words, count,
      chunks, [&](int64_t tensor, const Entry& entry, int64_t begin, int64_t end) __attribute__((always_inline)) {
        const auto update = rule.update(tensor);
        int64_t at[kOperands];
        if (entry.packs) {  // chunks start at multiples of 4
          const int64_t quads_end = begin + (end - begin) / 4 * 4;
          for (int64_t i = begin + threadIdx.x * 4; i < quads_end; i += blockDim.x * 4) {
#pragma unroll
            for (size_t k = 0; k < kOperands; ++k) at[k] = i;
            update_lanes<C, 4>(entry, at, factor, update);
          }
          begin = quads_end;
        }
        for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
          offsets_of(words, entry, i, at);
          update_lanes<C, 1>(entry, at, factor, update);
        }
      });
}

// ---- host code

using StateLists = std::array<const std::vector<Tensor>*, kStates>;

/// Runs the step of the parameters whose compute type is the rule's.
template <class Rule>
void run(const OptimizerTensors& call, const std::vector<Tensor>& steps, const StateLists& states, bool maximize,
         Rule rule) {
  constexpr bool f64 = std::is_same_v<typename Rule::Compute, double>;
  TensorList<kOperands> list;
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < call.params.size(); ++i) {
    if ((call.params[i].impl().dtype == DType::F64) != f64) continue;
    std::array<const Tensor*, kOperands> tensors = {&call.params[i], &call.grads[i]};
    for (size_t s = 0; s < kStates; ++s) tensors[kState + s] = states[s]->empty() ? nullptr : &(*states[s])[i];
    tensors[kShadow] = call.shadows.empty() ? nullptr : &call.shadows[i];
    list.add(tensors);
    if (!steps.empty()) counts.push_back(reinterpret_cast<uint64_t>(steps[i].raw_bytes()));
  }
  if (list.count() == 0) return;

  const DeviceGuard on(call.params[0].device());
  const Scaling scaling = scaling_of(call.scaling, maximize);
  Tensor prepared;
  if (!counts.empty()) {
    using PerTensor = typename Rule::PerTensor;
    const auto bytes = static_cast<int64_t>(counts.size() * sizeof(PerTensor));
    prepared = empty({bytes}, TensorOptions(kByte).device(call.params[0].device()));
    auto* per_tensor = static_cast<PerTensor*>(prepared.raw_bytes());
    with_table(counts, [&](const auto& table) {
      launch(prepare_steps<Rule, std::decay_t<decltype(table)>>, Launch{}, table, counts.size(), scaling, rule,
             per_tensor);
    });
    rule.per_tensor = per_tensor;
  }
  if (list.chunks() == 0) return;
  with_table(list.words(), [&](const auto& table) {
    launch(update_list<Rule, std::decay_t<decltype(table)>>, block_stride(list.chunks()), table, list.count(),
           list.chunks(), scaling, rule);
  });
}

template <class C>
Sgd<C> sgd_rule(const SgdCall& call) {
  return {{static_cast<C>(call.lr), static_cast<C>(call.momentum), static_cast<C>(1 - call.dampening),
           static_cast<C>(call.weight_decay), call.nesterov},
          !call.momentum_buffers.empty(),
          nullptr,
          call.captured_lr};
}

template <bool amsgrad>
void run_adam(const AdamCall& call) {
  const StateLists states = {&call.exp_avgs, &call.exp_avg_sqs, &call.max_exp_avg_sqs};
  run(call, call.steps, states, call.maximize,
      Adam<float, amsgrad>{call.lr, call.beta1, call.beta2, call.eps, call.weight_decay, call.decoupled, nullptr,
                           call.captured_lr});
  run(call, call.steps, states, call.maximize,
      Adam<double, amsgrad>{call.lr, call.beta1, call.beta2, call.eps, call.weight_decay, call.decoupled, nullptr,
                            call.captured_lr});
}

}  // namespace

void sgd(const SgdCall& call) {
  static const std::vector<Tensor> none;
  const StateLists states = {&call.momentum_buffers, &none, &none};
  run(call, call.steps, states, call.maximize, sgd_rule<float>(call));
  run(call, call.steps, states, call.maximize, sgd_rule<double>(call));
}

void adam(const AdamCall& call) {
  if (call.max_exp_avg_sqs.empty()) {
    run_adam<false>(call);
  } else {
    run_adam<true>(call);
  }
}

}  // namespace tandem::cuda
