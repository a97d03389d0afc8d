#pragma once
// The kernels of optimizer steps over lists of tensors; optim.cu and optim_rules.cu have the slots.
#include <array>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <utility>

#include "kernels/cuda/chunks.h"
#include "kernels/cuda/element.h"
#include "tandem/backend.h"
#include "tandem/math/optim.h"
#include "tandem/math/split_float.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda::steps {

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

inline Scaling scaling_of(const FusedUnscale& s, bool maximize) {
  return {s.inverse_scale.defined() ? s.inverse_scale.raw<float>() : nullptr,
          s.found_inf.defined() ? s.found_inf.raw<float>() : nullptr, maximize};
}

/// The update of one element by a rule (math/optim.h).
template <class C, class R>
struct Update {
  typename R::template Constants<C> constants;
  __device__ C operator()(C p, C g, C (&s)[kStates]) const { return R::update(p, g, s[0], s[1], s[2], constants); }
};

/// A rule with the hyperparameters of a call.
template <class C, class R>
struct Rule {
  using Compute = C;
  R rule;
  double lr;
  const double* captured_lr;
  unsigned states;  ///< the states present
  /// Per-tensor output of the preceding launch.
  struct PerTensor {
    float next, scalar;  ///< the step count and the scalar after this step
    typename R::template Constants<C> constants;
  };
  const PerTensor* per_tensor;  ///< null without step counts

  /// The constants for a tensor with this step count and scalar, before the step.
  __device__ PerTensor prepare(float count, float scalar) const {
    PerTensor of{count + 1, scalar, {}};
    of.constants = rule.template constants<C>(captured_lr ? *captured_lr : lr, count + 1, of.scalar);
    if constexpr (R::kOptional != 0) of.constants.states = states;
    return of;
  }
  __device__ Update<C, R> update(int64_t tensor) const {
    if constexpr (R::kStepless) {
      if (!per_tensor) return {prepare(0, 0).constants};
    }
    return {per_tensor[tensor].constants};
  }
};

// ---- the kernels

/// Runs in one block. All counts and scalars are read before any is written, even if tensors share one. The table
/// contains the addresses of the counts, followed by those of the scalars.
template <class C, class R, class Table>
__global__ void __launch_bounds__(kThreads)
    prepare_steps(const Table __grid_constant__ table, int64_t count, Scaling scaling, Rule<C, R> rule,
                  typename Rule<C, R>::PerTensor* per_tensor) {
  if (scaling.overflowed()) return;
  const uint64_t* steps = table.data();
  const uint64_t* scalars = steps + count;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    float scalar = 0;
    if constexpr (R::kScalar) scalar = *reinterpret_cast<const float*>(scalars[i]);
    per_tensor[i] = rule.prepare(*reinterpret_cast<const float*>(steps[i]), scalar);
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {  // written by this thread
    *reinterpret_cast<float*>(steps[i]) = per_tensor[i].next;
    if constexpr (R::kScalar) *reinterpret_cast<float*>(scalars[i]) = per_tensor[i].scalar;
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
    update_list(const Table __grid_constant__ table, int64_t count, int64_t chunks, Scaling scaling, Rule rule) {
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

/// By state. Null or empty: absent.
using StateLists = std::array<const std::vector<Tensor>*, kStates>;

/// The tensors of a call whose compute type is C, with the addresses of their step counts and scalars.
struct StepList {
  TensorList<kOperands> tensors;
  std::vector<uint64_t> counts, scalars;
};

template <class C>
StepList list_of(const OptimizerTensors& call, const StateLists& states, const std::vector<Tensor>& steps,
                 const std::vector<Tensor>& scalars, bool row_major = false) {
  StepList list;
  for (size_t i = 0; i < call.params.size(); ++i) {
    if ((call.params[i].impl().dtype == DType::F64) != std::is_same_v<C, double>) continue;
    std::array<const Tensor*, kOperands> tensors = {&call.params[i], &call.grads[i]};
    for (size_t s = 0; s < kStates; ++s) {
      tensors[kState + s] = !states[s] || states[s]->empty() ? nullptr : &(*states[s])[i];
    }
    tensors[kShadow] = call.shadows.empty() ? nullptr : &call.shadows[i];
    list.tensors.add(tensors, row_major);
    if (!steps.empty()) list.counts.push_back(reinterpret_cast<uint64_t>(steps[i].raw_bytes()));
    if (!scalars.empty()) list.scalars.push_back(reinterpret_cast<uint64_t>(scalars[i].raw_bytes()));
  }
  return list;
}

/// The launches of a step. All calls of a step are prepared before the first launch, so that a failing allocation
/// leaves parameters and states as they are. Takes memory of the host's heap only for more launches than usual.
class Launches {
 public:
  Launches() = default;
  ~Launches() {
    for (Launch* launch = first_; launch;) std::exchange(launch, launch->next)->~Launch();
  }
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  /// Adds f(table) for the current device; `f` is copied. Allocates the table.
  template <class F>
  void add(const std::vector<uint64_t>& words, const F& f) {
    with_table_owner(words, [&](auto owner) {
      using Own = LaunchOf<decltype(owner), F>;
      last_ = &(*last_ = new (memory_.allocate(sizeof(Own), alignof(Own))) Own(std::move(owner), f))->next;
    });
  }
  void run() const {
    for (const Launch* launch = first_; launch; launch = launch->next) launch->run();
  }

 private:
  struct Launch {
    virtual ~Launch() = default;
    virtual void run() const = 0;
    Launch* next = nullptr;
  };
  template <class Owner, class F>
  struct LaunchOf final : Launch {
    LaunchOf(Owner own, const F& function) : owner(std::move(own)), f(function) {}
    void run() const override {
      const DeviceGuard on(Device(kCUDA, device));
      f(owner.parameter());
    }
    Owner owner;
    F f;
    int device = current_device();
  };

  std::array<std::byte, 80 << 10> first_bytes_;  // enough for two launches with large tables
  std::pmr::monotonic_buffer_resource memory_{first_bytes_.data(), first_bytes_.size()};
  Launch* first_ = nullptr;
  Launch** last_ = &first_;
};

/// Adds the updates of a list's elements.
template <class UpdateRule>
void add_updates(Launches& launches, const TensorList<kOperands>& list, const Scaling& scaling,
                 const UpdateRule& rule) {
  if (list.chunks() == 0) return;
  launches.add(list.words(), [count = list.count(), chunks = list.chunks(), scaling, rule](const auto& table) {
    launch(update_list<UpdateRule, std::decay_t<decltype(table)>>, block_stride(chunks), table, count, chunks, scaling,
           rule);
  });
}

/// The lists of the states that are present, as bits.
inline unsigned states_present(const StateLists& states) {
  unsigned present = 0;
  for (size_t s = 0; s < kStates; ++s) present |= states[s] && !states[s]->empty() ? 1U << s : 0U;
  return present;
}

/// Adds the computation of the constants of a step, if it has step counts, and returns the rule that uses them.
template <class C, class R>
Rule<C, R> add_constants(Launches& launches, const StepList& list, const Scaling& scaling, Rule<C, R> rule,
                         Device device) {
  if (list.counts.empty()) return rule;
  using PerTensor = typename Rule<C, R>::PerTensor;
  const size_t count = list.counts.size();
  const Tensor memory = empty({static_cast<int64_t>(count * sizeof(PerTensor))}, TensorOptions(kByte).device(device));
  auto* per_tensor = static_cast<PerTensor*>(memory.raw_bytes());
  std::vector<uint64_t> addresses = list.counts;
  addresses.insert(addresses.end(), list.scalars.begin(), list.scalars.end());
  launches.add(addresses, [memory, per_tensor, count, scaling, rule](const auto& table) {
    launch(prepare_steps<C, R, std::decay_t<decltype(table)>>, Launch{}, table, static_cast<int64_t>(count), scaling,
           rule, per_tensor);
  });
  rule.per_tensor = per_tensor;
  return rule;
}

/// Adds the step of the parameters whose compute type is C.
template <class C, class R>
void add_step(Launches& launches, const OptimizerTensors& call, const R& rule, const StateLists& states,
              const std::vector<Tensor>& steps, const std::vector<Tensor>& scalars, double lr,
              const double* captured_lr, bool maximize) {
  const StepList list = list_of<C>(call, states, steps, scalars);
  if (list.tensors.count() == 0) return;
  const Device device = call.params[0].device();
  const DeviceGuard on(device);
  const Scaling scaling = scaling_of(call.scaling, maximize);
  const auto with_constants = add_constants(launches, list, scaling,
                                            Rule<C, R>{rule, lr, captured_lr, states_present(states), nullptr}, device);
  add_updates(launches, list.tensors, scaling, with_constants);
}

/// Adds a whole step: one launch for all parameters, two if some are f64 and others are not.
template <class R>
void add_step(Launches& launches, const OptimizerTensors& call, const R& rule, const StateLists& states,
              const std::vector<Tensor>& steps, const std::vector<Tensor>& scalars, double lr,
              const double* captured_lr, bool maximize) {
  add_step<float>(launches, call, rule, states, steps, scalars, lr, captured_lr, maximize);
  add_step<double>(launches, call, rule, states, steps, scalars, lr, captured_lr, maximize);
}

}  // namespace tandem::cuda::steps
