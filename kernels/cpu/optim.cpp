// Optimizer steps over lists of tensors: one parallel region for the whole list, divided by elements. f64 parameters
// are updated in f64, all others in f32 by simd/optim.cpp. 16-bit parameters and shadows are rounded once, to nearest
// even; a bf16 parameter with a remainder represents its f32 value exactly. Gradients are multiplied by inverse_scale
// as they are read, and rounded to the compute type. If found_inf is not 0, nothing is written. Results do not depend
// on the number of threads.
//
// Tensors with the same dense layout (a module's parameters, state created like them, and their gradients) are used in
// place. Other strides go through blocks.
#include <array>
#include <memory>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/optim.h"
#include "kernels/cpu/tile.h"
#include "kernels/element_ranges.h"
#include "kernels/walk.h"
#include "tandem/math/split_float.h"

namespace tandem::cpu {

using kernels::ElementRanges;
using kernels::make_walk;
using kernels::Walk;

namespace {

constexpr int64_t kBlock = 1024;  // elements gathered from tensors that cannot be used in place
constexpr size_t kStates = 3;
constexpr size_t kOperands = 3 + kStates;
enum : size_t { kParam, kGrad, kState, kShadow = kOperands - 1 };

// In steps over more elements than this, shadow writes bypass the caches. Their cache lines need not be read first, and
// the step's own traffic would evict them before the next forward pass.
constexpr int64_t kStreamElements = 2 << 20;

/// The tensors that belong to one parameter.
struct Group {
  char* data[kOperands] = {};
  DType dtypes[kOperands] = {};
  float step_value = 0;  ///< before this step
  float* step = nullptr;
  std::unique_ptr<Walk<kOperands>> walk;  ///< null if all tensors have the same dense layout
};

struct Job {
  std::vector<Group> groups;
  ElementRanges ranges;
  float factor = 1;
  bool stream = false;
};

using StateLists = std::array<const std::vector<Tensor>*, kStates>;

std::unique_ptr<Walk<kOperands>> make_group_walk(const std::array<const Tensor*, kOperands>& tensors) {
  std::array<IntArrayRef, kOperands> strides;
  for (size_t k = 0; k < kOperands; ++k) strides[k] = (tensors[k] ? tensors[k] : tensors[kParam])->strides();
  auto walk = std::make_unique<Walk<kOperands>>(make_walk<kOperands>(tensors[kParam]->sizes(), strides));
  if (walk->linear()) return nullptr;
  return walk;
}

Job make_job(const OptimizerTensors& call, const std::vector<Tensor>& steps, const StateLists& states) {
  Job job;
  if (call.scaling.inverse_scale.defined()) job.factor = *call.scaling.inverse_scale.raw<float>();
  const size_t count = call.params.size();
  job.groups.resize(count);
  job.ranges.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Group& group = job.groups[i];
    std::array<const Tensor*, kOperands> tensors = {&call.params[i], &call.grads[i]};
    for (size_t k = 0; k < kStates; ++k) tensors[kState + k] = states[k]->empty() ? nullptr : &(*states[k])[i];
    tensors[kShadow] = call.shadows.empty() || !call.shadows[i].defined() ? nullptr : &call.shadows[i];
    bool contiguous = true;
    for (size_t k = 0; k < kOperands; ++k) {
      if (!tensors[k]) continue;
      group.data[k] = static_cast<char*>(tensors[k]->raw_bytes());
      group.dtypes[k] = tensors[k]->impl().dtype;
      contiguous &= tensors[k]->impl().contiguous;
    }
    if (!contiguous) group.walk = make_group_walk(tensors);
    job.ranges.push_back(tensors[kParam]->impl().numel);
    if (!steps.empty()) {
      group.step = steps[i].raw<float>();
      group.step_value = *group.step;
    }
  }
  job.stream = job.ranges.total() > kStreamElements;
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

/// Loads n <= kBlock elements of an operand as T.
template <class T>
void load(T* row, const Group& group, size_t k, int64_t begin, int64_t n) {
  const auto convert = convert_tables().of<T>().load[static_cast<int>(group.dtypes[k])];
  const size_t width = element_size(group.dtypes[k]);
  if (!group.walk) return convert(row, group.data[k] + static_cast<size_t>(begin) * width, n);
  visit_size(width, [&]<class Bits>(Bits) {
    Bits collected[kBlock];
    for_each_element<Bits>(group, k, begin, n, [&](Bits x, int64_t i) { collected[i] = x; });
    convert(row, collected, n);
  });
}

template <class T>
void store(const Group& group, size_t k, int64_t begin, int64_t n, const T* row) {
  const auto convert = convert_tables().of<T>().store[static_cast<int>(group.dtypes[k])];
  const size_t width = element_size(group.dtypes[k]);
  if (!group.walk) return convert(group.data[k] + static_cast<size_t>(begin) * width, row, n);
  visit_size(width, [&]<class Bits>(Bits) {
    Bits rounded[kBlock];
    convert(rounded, row, n);
    for_each_element<Bits>(group, k, begin, n, [&](Bits& x, int64_t i) { x = rounded[i]; });
  });
}

/// Whether the parameter consists of a bf16 number and a remainder.
bool is_split(const Group& group) { return group.data[kShadow] && group.dtypes[kShadow] == DType::I16; }

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

void load_split(float* row, const Group& group, int64_t begin, int64_t n) {
  uint16_t rounded[kBlock], remainder[kBlock];
  const auto read = [](uint16_t x, uint16_t& bits) { bits = x; };
  move_bits(group, kParam, begin, n, rounded, read);
  move_bits(group, kShadow, begin, n, remainder, read);
  for (int64_t i = 0; i < n; ++i) row[i] = math::join_float({rounded[i], remainder[i]});
}

void store_split(const Group& group, int64_t begin, int64_t n, const float* row) {
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

template <class T>
void store_param(const Group& group, int64_t begin, int64_t n, const T* row) {
  if constexpr (std::is_same_v<T, float>) {
    if (is_split(group)) return store_split(group, begin, n, row);
  }
  store<T>(group, kParam, begin, n, row);
  if (group.data[kShadow]) store<T>(group, kShadow, begin, n, row);
}

/// Updates elements [begin, end) of a group through blocks of T: update(index, p, g, states, n).
template <class T, class Update>
void run_collected(const Job& job, size_t index, int64_t begin, int64_t end, const Update& update) {
  const Group& group = job.groups[index];
  T blocks[kShadow][kBlock];
  T* states[kStates];
  for (size_t k = 0; k < kStates; ++k) states[k] = group.data[kState + k] ? blocks[kState + k] : nullptr;
  for (; begin < end; begin += kBlock) {
    const int64_t n = std::min(kBlock, end - begin);
    load_param<T>(blocks[kParam], group, begin, n);
    for (size_t k = kGrad; k < kShadow; ++k) {
      if (group.data[k]) load<T>(blocks[k], group, k, begin, n);
    }
    update(index, blocks[kParam], blocks[kGrad], states, n);
    store_param<T>(group, begin, n, blocks[kParam]);
    for (size_t k = kState; k < kShadow; ++k) {
      if (group.data[k]) store<T>(group, k, begin, n, blocks[k]);
    }
  }
}

RowType row_type(DType dtype) {
  return dtype == DType::F32 ? RowType::f32 : dtype == DType::F16 ? RowType::f16 : RowType::bf16;
}

/// Whether simd/optim.cpp can work directly on the tensors.
bool in_place(const Group& group) {
  return !group.walk && group.dtypes[kParam] == DType::F32 && group.dtypes[kGrad] != DType::F64 &&
         (!group.data[kShadow] || is_reduced_floating_point(group.dtypes[kShadow]));
}

OptimRows rows_of(const Job& job, const Group& group, int64_t begin, int64_t n) {
  OptimRows rows;
  rows.n = n;
  rows.p = reinterpret_cast<float*>(group.data[kParam]) + begin;
  rows.g = group.data[kGrad] + begin * static_cast<int64_t>(element_size(group.dtypes[kGrad]));
  for (size_t k = 0; k < kStates; ++k) {
    if (group.data[kState + k]) rows.states[k] = reinterpret_cast<float*>(group.data[kState + k]) + begin;
  }
  rows.factor = job.factor;
  rows.g_type = row_type(group.dtypes[kGrad]);
  if (group.data[kShadow]) {
    rows.shadow = reinterpret_cast<uint16_t*>(group.data[kShadow]) + begin;
    rows.shadow_type = row_type(group.dtypes[kShadow]);
    rows.stream = job.stream;
  }
  return rows;
}

/// Runs the whole step. update_rows(index, rows) updates f32 rows, update_f64(index, p, g, states, n) f64 ones.
template <class UpdateRows, class UpdateF64>
void run(const Job& job, const UpdateRows& update_rows, const UpdateF64& update_f64) {
  // Parts start at multiples of a cache line of 16-bit elements, so that threads share no line of a large tensor.
  constexpr int64_t kLine = 32;
  const int64_t total = job.ranges.total();
  const auto update_f32 = [&](size_t index, float* p, const float* g, float* const* states, int64_t n) {
    OptimRows rows;
    rows.n = n;
    rows.p = p;
    rows.g = g;
    for (size_t k = 0; k < kStates; ++k) rows.states[k] = states[k];
    rows.factor = job.factor;
    update_rows(index, rows);
  };
  parallel_for((total + kLine - 1) / kLine, kParallelGrain / kLine, [&](int64_t first, int64_t last) {
    job.ranges.visit(first * kLine, std::min(last * kLine, total), [&](size_t index, int64_t begin, int64_t end) {
      const Group& group = job.groups[index];
      if (in_place(group)) {
        update_rows(index, rows_of(job, group, begin, end - begin));
      } else if (group.dtypes[kParam] == DType::F64) {
        run_collected<double>(job, index, begin, end, update_f64);
      } else {
        run_collected<float>(job, index, begin, end, update_f32);
      }
    });
    if (job.stream) optim_table().fence();
  });
  for (const Group& group : job.groups) {
    if (group.step) *group.step = group.step_value + 1;
  }
}

bool overflowed(const FusedUnscale& scaling) {
  return scaling.found_inf.defined() && *scaling.found_inf.raw<float>() != 0;
}

template <class T>
math::SgdConstants<T> sgd_constants(const SgdCall& call) {
  return {static_cast<T>(call.lr), static_cast<T>(call.momentum), static_cast<T>(1 - call.dampening),
          static_cast<T>(call.weight_decay), call.nesterov};
}

/// The constants for one step count.
struct AdamStep {
  float t;
  math::AdamConstants<float> f32;
  math::AdamConstants<double> f64;
};

AdamStep adam_step(const AdamCall& call, float t) {
  return {
      t, math::adam_constants<float>(call.lr, call.beta1, call.beta2, call.eps, call.weight_decay, call.decoupled, t),
      math::adam_constants<double>(call.lr, call.beta1, call.beta2, call.eps, call.weight_decay, call.decoupled, t)};
}

}  // namespace

void sgd(const SgdCall& call) {
  if (overflowed(call.scaling)) return;
  static const std::vector<Tensor> none;
  Job job = make_job(call, call.steps, {&call.momentum_buffers, &none, &none});
  if (call.maximize) job.factor = -job.factor;
  const auto f32 = sgd_constants<float>(call);
  const auto f64 = sgd_constants<double>(call);
  const OptimTable& table = optim_table();
  const auto update_rows = [&](size_t index, const OptimRows& rows) {
    if (rows.states[0]) {
      table.sgd_momentum(rows, job.groups[index].step_value == 0, f32);
    } else {
      table.sgd(rows, f32);
    }
  };
  run(job, update_rows, [&](size_t index, double* p, const double* g, double* const* states, int64_t n) {
    double* buffer = states[0];
    const bool first = job.groups[index].step_value == 0;
    for (int64_t i = 0; i < n; ++i) {
      const double unscaled = g[i] * job.factor;
      p[i] = buffer ? math::sgd_momentum(p[i], unscaled, buffer[i], first, f64) : math::sgd(p[i], unscaled, f64);
    }
  });
}

void adam(const AdamCall& call) {
  if (overflowed(call.scaling)) return;
  Job job = make_job(call, call.steps, {&call.exp_avgs, &call.exp_avg_sqs, &call.max_exp_avg_sqs});
  if (call.maximize) job.factor = -job.factor;
  // Computed once per step count, which parameters usually share: the powers are expensive.
  std::vector<AdamStep> steps;
  std::vector<uint32_t> step_of(job.groups.size());
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const float t = job.groups[i].step_value + 1;
    if (steps.empty() || steps.back().t != t) steps.push_back(adam_step(call, t));
    step_of[i] = static_cast<uint32_t>(steps.size() - 1);
  }
  const OptimTable& table = optim_table();
  const auto update_rows = [&](size_t index, const OptimRows& rows) {
    const auto& constants = steps[step_of[index]].f32;
    if (rows.states[2]) {
      table.adam_amsgrad(rows, constants);
    } else {
      table.adam(rows, constants);
    }
  };
  run(job, update_rows, [&](size_t index, double* p, const double* g, double* const* states, int64_t n) {
    double *m = states[0], *v = states[1], *v_max = states[2];
    const auto& constants = steps[step_of[index]].f64;
    for (int64_t i = 0; i < n; ++i) {
      const double unscaled = g[i] * job.factor;
      double unused = 0;
      p[i] = v_max ? math::adam<true>(p[i], unscaled, m[i], v[i], v_max[i], constants)
                   : math::adam<false>(p[i], unscaled, m[i], v[i], unused, constants);
    }
  });
}

}  // namespace tandem::cpu
