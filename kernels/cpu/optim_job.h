#pragma once
// Job: the tensors of an optimizer step on the CPU, and access to blocks of their elements in the compute type.
#include <array>
#include <memory>
#include <vector>

#include "kernels/compact_states.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/optim_states.h"
#include "kernels/cpu/simd/random.h"
#include "kernels/cpu/tile.h"
#include "kernels/element_ranges.h"
#include "kernels/walk.h"
#include "tandem/backend.h"
#include "tandem/math/optim_state.h"
#include "tandem/math/split_float.h"

namespace tandem::cpu::steps {

using kernels::ElementRanges;
using kernels::make_walk;
using kernels::Walk;

constexpr int64_t kBlock = 1024;  // elements gathered from tensors that cannot be used in place
static_assert(kBlock % math::kStateBlock == 0);
constexpr size_t kStates = 3;
constexpr size_t kOperands = 3 + kStates;
enum : size_t { kParam, kGrad, kState, kShadow = kOperands - 1 };

// In steps over more elements than this, shadow writes bypass the caches. Their cache lines need not be read first, and
// the step's own traffic would evict them before the next forward pass.
constexpr int64_t kStreamElements = 2 << 20;

/// The tensors that belong to one parameter.
struct Group {
  int64_t numel = 0;
  char* data[kOperands] = {};
  DType dtypes[kOperands] = {};
  float* scales = nullptr;                ///< inverse scales of the first state's blocks, if it is float8
  uint64_t rounding_key = 0;              ///< key of the random numbers by which states in fewer bits are rounded
  std::unique_ptr<Walk<kOperands>> walk;  ///< null if all tensors have the same dense layout
};

struct Job {
  std::vector<Group> groups;
  /// The tensors' elements or, if `compact`, their blocks of kStateBlock elements.
  ElementRanges ranges;
  bool compact = false;  ///< some states have fewer bits than the compute type
  float factor = 1;
  bool stream = false;

  /// The elements of an entry of `ranges`.
  int64_t unit() const { return compact ? math::kStateBlock : 1; }
};

/// By state. Null or empty: absent.
using StateLists = std::array<const std::vector<Tensor>*, kStates>;

inline std::unique_ptr<Walk<kOperands>> make_group_walk(const std::array<const Tensor*, kOperands>& tensors,
                                                        bool row_major) {
  std::array<IntArrayRef, kOperands> strides;
  for (size_t k = 0; k < kOperands; ++k) strides[k] = (tensors[k] ? tensors[k] : tensors[kParam])->strides();
  auto walk = std::make_unique<Walk<kOperands>>(make_walk<kOperands>(tensors[kParam]->sizes(), strides, row_major));
  if (walk->linear()) return nullptr;
  return walk;
}

/// `scales`: of first states in e4m3fn; may be empty.
inline Job make_job(const OptimizerTensors& call, const StateLists& states, const std::vector<Tensor>& scales = {}) {
  Job job;
  job.compact = kernels::any_compact(states);
  if (call.scaling.inverse_scale.defined()) job.factor = *call.scaling.inverse_scale.raw<float>();
  const size_t count = call.params.size();
  job.groups.resize(count);
  job.ranges.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Group& group = job.groups[i];
    std::array<const Tensor*, kOperands> tensors = {&call.params[i], &call.grads[i]};
    for (size_t k = 0; k < kStates; ++k)
      tensors[kState + k] = !states[k] || states[k]->empty() ? nullptr : &(*states[k])[i];
    tensors[kShadow] = call.shadows.empty() || !call.shadows[i].defined() ? nullptr : &call.shadows[i];
    bool contiguous = true;
    for (size_t k = 0; k < kOperands; ++k) {
      if (!tensors[k]) continue;
      group.data[k] = static_cast<char*>(tensors[k]->raw_bytes());
      group.dtypes[k] = tensors[k]->impl().dtype;
      contiguous &= tensors[k]->impl().contiguous;
    }
    if (!contiguous) group.walk = make_group_walk(tensors, job.compact);
    if (!scales.empty() && scales[i].defined()) group.scales = scales[i].raw<float>();
    group.numel = tensors[kParam]->impl().numel;
    job.ranges.push_back((group.numel + job.unit() - 1) / job.unit());
  }
  job.stream = !job.compact && job.ranges.total() > kStreamElements;
  return job;
}

/// Calls f(element, i) for elements begin + i of a strided operand, i < n. Bits: any type of the elements' size.
template <class Bits, class F>
void for_each_element(const Group& group, size_t k, int64_t begin, int64_t n, F&& f) {
  auto* data = reinterpret_cast<Bits*>(group.data[k]);
  int64_t at = 0;
  const int64_t step = group.walk->row_stride(k);
  for_each_row(*group.walk, begin, begin + n, [&](const auto& offset, int64_t length) {
    for (int64_t i = 0; i < length; ++i) f(data[offset[k] + i * step], at + i);
    at += length;
  });
}

/// Calls f(run) with n elements of an operand as a contiguous run of Bits: in place, or in a buffer.
template <class Bits, class F>
void read_run(const Group& group, size_t k, int64_t begin, int64_t n, const F& f) {
  if (!group.walk) return f(reinterpret_cast<const Bits*>(group.data[k]) + begin);
  Bits collected[kBlock];
  for_each_element<Bits>(group, k, begin, n, [&](Bits x, int64_t i) { collected[i] = x; });
  f(collected);
}
/// Calls f(run), which writes a contiguous run of n Bits, and puts them into an operand.
template <class Bits, class F>
void write_run(const Group& group, size_t k, int64_t begin, int64_t n, const F& f) {
  if (!group.walk) return f(reinterpret_cast<Bits*>(group.data[k]) + begin);
  Bits rounded[kBlock];
  f(rounded);
  for_each_element<Bits>(group, k, begin, n, [&](Bits& x, int64_t i) { x = rounded[i]; });
}

/// Loads n <= kBlock elements of an operand as T.
template <class T>
void load(T* row, const Group& group, size_t k, int64_t begin, int64_t n) {
  const auto convert = convert_tables().of<T>().load[static_cast<int>(group.dtypes[k])];
  visit_size(element_size(group.dtypes[k]), [&]<class Bits>(Bits) {
    read_run<Bits>(group, k, begin, n, [&](const Bits* run) { convert(row, run, n); });
  });
}

template <class T>
void store(const Group& group, size_t k, int64_t begin, int64_t n, const T* row) {
  const auto convert = convert_tables().of<T>().store[static_cast<int>(group.dtypes[k])];
  visit_size(element_size(group.dtypes[k]),
             [&]<class Bits>(Bits) { write_run<Bits>(group, k, begin, n, [&](Bits* run) { convert(run, row, n); }); });
}

// ---- states, which in f32 steps may have fewer bits

template <class T>
void load_state(T* row, const Group& group, size_t k, int64_t begin, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (group.dtypes[k] == DType::F8E4M3FN) {
      return read_run<uint8_t>(group, k, begin, n, [&](const uint8_t* codes) {
        optim_states_table().load_e4m3fn(row, codes, group.scales + begin / math::kStateBlock, n);
      });
    }
  }
  load<T>(row, group, k, begin, n);
}

/// Stores a state; `lanes` are the random numbers of its blocks.
template <class T>
void store_state(const Group& group, size_t k, int64_t begin, int64_t n, const T* row, const uint32_t* lanes) {
  if constexpr (std::is_same_v<T, float>) {
    if (group.dtypes[k] == DType::F8E4M3FN) {
      return write_run<uint8_t>(group, k, begin, n, [&](uint8_t* codes) {
        optim_states_table().store_e4m3fn(codes, group.scales + begin / math::kStateBlock, row, lanes, n);
      });
    }
    if (group.dtypes[k] == DType::BF16) {
      return write_run<uint16_t>(group, k, begin, n,
                                 [&](uint16_t* bits) { optim_states_table().store_bf16(bits, row, lanes, n); });
    }
  }
  store<T>(group, k, begin, n, row);
}

/// Whether the parameter consists of a bf16 number and a remainder.
inline bool is_split(const Group& group) { return group.data[kShadow] && group.dtypes[kShadow] == DType::I16; }

/// Moves data between a row of bits and a 16-bit operand by calling move(element, bits).
template <class Move>
void move_bits(const Group& group, size_t k, int64_t begin, int64_t n, uint16_t* bits, const Move& move) {
  if (group.walk) {
    for_each_element<uint16_t>(group, k, begin, n, [&](uint16_t& x, int64_t i) { move(x, bits[i]); });
  } else {
    uint16_t* x = reinterpret_cast<uint16_t*>(group.data[k]) + begin;
    for (int64_t i = 0; i < n; ++i) move(x[i], bits[i]);
  }
}

inline void load_split(float* row, const Group& group, int64_t begin, int64_t n) {
  uint16_t rounded[kBlock], remainder[kBlock];
  const auto read = [](uint16_t x, uint16_t& bits) { bits = x; };
  move_bits(group, kParam, begin, n, rounded, read);
  move_bits(group, kShadow, begin, n, remainder, read);
  for (int64_t i = 0; i < n; ++i) row[i] = math::join_float({rounded[i], remainder[i]});
}

inline void store_split(const Group& group, int64_t begin, int64_t n, const float* row) {
  uint16_t rounded[kBlock], remainder[kBlock];
  for (int64_t i = 0; i < n; ++i) {
    const math::SplitFloat halves = math::split_float(row[i]);
    rounded[i] = halves.rounded;
    remainder[i] = halves.remainder;
  }
  const auto write = [](uint16_t& x, uint16_t bits) { x = bits; };
  move_bits(group, kParam, begin, n, rounded, write);
  move_bits(group, kShadow, begin, n, remainder, write);
}

template <class T>
void load_param(T* row, const Group& group, int64_t begin, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    if (is_split(group)) return load_split(row, group, begin, n);
  }
  load<T>(row, group, kParam, begin, n);
}

/// `row` may be the parameter itself.
template <class T>
void store_param(const Group& group, int64_t begin, int64_t n, const T* row) {
  if constexpr (std::is_same_v<T, float>) {
    if (is_split(group)) return store_split(group, begin, n, row);
  }
  if (row != reinterpret_cast<const T*>(group.data[kParam]) + begin) store<T>(group, kParam, begin, n, row);
  if (group.data[kShadow]) store<T>(group, kShadow, begin, n, row);
}

}  // namespace tandem::cpu::steps
