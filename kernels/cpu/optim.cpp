// Optimizer steps over lists of tensors: one parallel region for the whole list, divided by elements. f64 parameters
// are updated in f64, all others in f32 by simd/optim.cpp. 16-bit parameters and shadows are rounded once, to nearest
// even; a bf16 parameter with a remainder represents its f32 value exactly. States in bf16 or e4m3fn are rounded
// stochastically (math/optim_state.h). Gradients are multiplied by inverse_scale as they are read, and rounded to the
// compute type. If found_inf is not 0, nothing is written. Results do not depend on the number of threads.
//
// Tensors with the same dense layout (a module's parameters, state created like them, and their gradients) are used in
// place. Other strides go through blocks.
#include <array>
#include <cmath>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/optim_job.h"
#include "kernels/cpu/simd/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/optimizer_call.h"

namespace tandem::cpu {
namespace steps {
namespace {

/// Updates elements [begin, end) of a group through blocks of T: update(index, p, g, states, n).
template <class T, class Update>
void run_collected(const Job& job, size_t index, int64_t begin, int64_t end, const Update& update) {
  const Group& group = job.groups[index];
  const auto own = [&](size_t k) { return !group.walk && group.dtypes[k] == dtype_of<T>; };  // needs no conversion
  const bool own_param = own(kParam) && !is_split(group);
  T blocks[kShadow][kBlock];
  uint32_t lanes[kBlock / 2];
  T* states[kStates];
  for (size_t k = 0; k < kStates; ++k) states[k] = group.data[kState + k] ? blocks[kState + k] : nullptr;
  for (; begin < end; begin += kBlock) {
    const int64_t n = std::min(kBlock, end - begin);
    T* p = blocks[kParam];
    const T* g = blocks[kGrad];
    if (own_param) {
      p = reinterpret_cast<T*>(group.data[kParam]) + begin;
    } else {
      load_param<T>(p, group, begin, n);
    }
    if (own(kGrad)) {
      g = reinterpret_cast<const T*>(group.data[kGrad]) + begin;
    } else {
      load<T>(blocks[kGrad], group, kGrad, begin, n);
    }
    for (size_t k = kState; k < kShadow; ++k) {
      if (group.data[k]) load_state<T>(blocks[k], group, k, begin, n);
    }
    update(index, p, g, states, n);
    store_param<T>(group, begin, n, p);
    if (job.compact) {
      const int64_t first = begin / math::kStateBlock, count = (n + math::kStateBlock - 1) / math::kStateBlock;
      random_table().lanes(lanes, group.rounding_key, static_cast<uint64_t>(first * math::kStateCounters),
                           math::kStateStream, count * math::kStateCounters);
    }
    for (size_t k = kState; k < kShadow; ++k) {
      if (group.data[k]) store_state<T>(group, k, begin, n, blocks[k], lanes);
    }
  }
}

RowType row_type(DType dtype) {
  return dtype == DType::F32 ? RowType::f32 : dtype == DType::F16 ? RowType::f16 : RowType::bf16;
}

/// Whether simd/optim.cpp can work directly on the tensors.
bool in_place(const Job& job, const Group& group) {
  return !group.walk && !job.compact && group.dtypes[kParam] == DType::F32 && group.dtypes[kGrad] != DType::F64 &&
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
  const int64_t unit = job.unit(), line = std::max<int64_t>(32 / unit, 1), total = job.ranges.total();
  const auto update_f32 = [&](size_t index, float* p, const float* g, float* const* states, int64_t n) {
    OptimRows rows;
    rows.n = n;
    rows.p = p;
    rows.g = g;
    for (size_t k = 0; k < kStates; ++k) rows.states[k] = states[k];
    rows.factor = job.factor;
    update_rows(index, rows);
  };
  parallel_for((total + line - 1) / line, grain_of(line * unit), [&](int64_t first, int64_t last) {
    job.ranges.visit(first * line, std::min(last * line, total), [&](size_t index, int64_t begin, int64_t end) {
      const Group& group = job.groups[index];
      begin *= unit;
      end = std::min(end * unit, group.numel);
      if (in_place(job, group)) {
        update_rows(index, rows_of(job, group, begin, end - begin));
      } else if (group.dtypes[kParam] == DType::F64) {
        run_collected<double>(job, index, begin, end, update_f64);
      } else {
        run_collected<float>(job, index, begin, end, update_f32);
      }
    });
    if (job.stream) optim_table().fence();
  });
}

bool overflowed(const FusedUnscale& scaling) {
  return scaling.found_inf.defined() && *scaling.found_inf.raw<float>() != 0;
}

/// The constants of a rule for one step count and scalar.
template <class Rule>
struct OfStep {
  float count, scalar;  ///< before the step
  float scalar_after;
  typename Rule::template Constants<float> f32;
  typename Rule::template Constants<double> f64;
};

template <class Rule>
OfStep<Rule> constants_of(const Rule& rule, double lr, unsigned states, float count, float scalar) {
  OfStep<Rule> of{count, scalar, scalar, {}, {}};
  float unused = scalar;
  of.f32 = rule.template constants<float>(lr, count + 1, of.scalar_after);
  of.f64 = rule.template constants<double>(lr, count + 1, unused);
  if constexpr (Rule::kOptional != 0) of.f32.states = of.f64.states = states;
  return of;
}

float value_of(const std::vector<Tensor>& list, size_t i) { return list.empty() ? 0 : *list[i].raw<float>(); }

/// One step of a rule.
template <class Rule>
void step(const OptimizerTensors& call, const Rule& rule, const StateLists& states, const std::vector<Tensor>& counts,
          const std::vector<Tensor>& scalars, double lr, bool maximize, const std::vector<Tensor>& scales = {}) {
  if (overflowed(call.scaling)) return;
  Job job = make_job(call, states, scales);
  if (maximize) job.factor = -job.factor;
  unsigned present = 0;
  for (size_t k = 0; k < kStates; ++k) present |= states[k] && !states[k]->empty() ? 1U << k : 0U;
  // Computed once per step count, which parameters usually share: the powers are expensive.
  std::vector<OfStep<Rule>> steps;
  std::vector<uint32_t> step_of(job.groups.size());
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const float count = value_of(counts, i), scalar = value_of(scalars, i);
    if (steps.empty() || steps.back().count != count || steps.back().scalar != scalar) {
      steps.push_back(constants_of(rule, lr, present, count, scalar));
    }
    step_of[i] = static_cast<uint32_t>(steps.size() - 1);
    job.groups[i].rounding_key = math::state_key(count + 1);
  }
  const auto row_step = static_cast<const RowStep<Rule>&>(optim_table()).step;
  const auto update_rows = [&](size_t index, const OptimRows& rows) { row_step(rows, steps[step_of[index]].f32); };
  run(job, update_rows, [&](size_t index, double* p, const double* g, double* const* rows, int64_t n) {
    const auto& constants = steps[step_of[index]].f64;
    for (int64_t i = 0; i < n; ++i) {
      double s[kStates] = {};
      for (size_t k = 0; k < kStates; ++k) {
        if (rows[k]) s[k] = rows[k][i];
      }
      p[i] = Rule::update(p[i], g[i] * job.factor, s[0], s[1], s[2], constants);
      for (size_t k = 0; k < kStates; ++k) {
        if (rows[k]) rows[k][i] = s[k];
      }
    }
  });
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const OfStep<Rule>& of = steps[step_of[i]];
    if (!counts.empty()) *counts[i].raw<float>() = of.count + 1;
    if (!scalars.empty()) *scalars[i].raw<float>() = of.scalar_after;
  }
}

// ---- LAMB: the moments and updates u, the norms, and the parameters

constexpr int64_t kNormBlock = 32 * kBlock;  // elements of a partial sum

struct Squares {
  double p = 0, u = 0;
};

double squares_of(const float* x, int64_t n) { return optim_table().squares(x, n); }
double squares_of(const double* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

template <class T>
Squares squares_of(const Group& group, int64_t begin, int64_t end) {
  T buffer[kBlock];
  // Operands that need no conversion are read in place.
  const auto squares = [&](size_t k, int64_t n) {
    if (!group.walk && group.dtypes[k] == dtype_of<T>) {
      return squares_of(reinterpret_cast<const T*>(group.data[k]) + begin, n);
    }
    if (k == kParam) {
      load_param<T>(buffer, group, begin, n);
    } else {
      load<T>(buffer, group, k, begin, n);
    }
    return squares_of(buffer, n);
  };
  Squares sum;
  for (; begin < end; begin += kBlock) {
    const int64_t n = std::min(kBlock, end - begin);
    sum.p += squares(kParam, n);
    sum.u += squares(kGrad, n);
  }
  return sum;
}

/// The trust ratio of each parameter. The job's gradients are the updates. Sums are held in f64, in blocks that do not
/// depend on the number of threads.
std::vector<double> trust_ratios(const Job& job) {
  struct Block {
    size_t group;
    int64_t begin, end;
    Squares squares;
  };
  std::vector<Block> blocks;
  for (size_t i = 0; i < job.groups.size(); ++i) {
    const int64_t numel = job.groups[i].numel;
    for (int64_t begin = 0; begin < numel; begin += kNormBlock) {
      blocks.push_back({i, begin, std::min(begin + kNormBlock, numel), {}});
    }
  }
  parallel_for(static_cast<int64_t>(blocks.size()), 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      Block& block = blocks[static_cast<size_t>(b)];
      const Group& group = job.groups[block.group];
      const bool f64 = group.dtypes[kParam] == DType::F64;
      block.squares =
          f64 ? squares_of<double>(group, block.begin, block.end) : squares_of<float>(group, block.begin, block.end);
    }
  });
  std::vector<Squares> sums(job.groups.size());
  for (const Block& block : blocks) {
    sums[block.group].p += block.squares.p;
    sums[block.group].u += block.squares.u;
  }
  std::vector<double> ratios;
  for (const Squares& s : sums) ratios.push_back(math::trust_ratio(s.p, s.u));
  return ratios;
}

void lamb_step(const OptimizerCall& call, const math::Lamb& rule) {
  if (overflowed(call.scaling)) return;
  std::vector<Tensor> updates;
  for (const Tensor& p : call.params) updates.push_back(empty_like(p, p.dtype() == kDouble ? kDouble : kFloat));
  step(call, rule, {&call.states[0], &call.states[1], &updates}, call.steps, call.scalars, call.lr, call.maximize);
  Job job = make_job({call.params, updates, call.shadows, {}}, {});
  const std::vector<double> ratios = trust_ratios(job);
  // A step of SGD on the updates, with a learning rate for each parameter.
  const auto row_step = static_cast<const RowStep<math::Sgd>&>(optim_table()).step;
  const auto constants = [&]<class T>(T, size_t index) {
    float none = 0;
    return math::Sgd().constants<T>(call.lr * ratios[index], 1, none);
  };
  run(
      job, [&](size_t index, const OptimRows& rows) { row_step(rows, constants(0.0F, index)); },
      [&](size_t index, double* p, const double* u, double* const*, int64_t n) {
        const auto c = constants(0.0, index);
        double none = 0;
        for (int64_t i = 0; i < n; ++i) p[i] = math::Sgd::update(p[i], u[i], none, none, none, c);
      });
}

}  // namespace
}  // namespace steps

void sgd(const SgdCall& call) {
  steps::step(call, math::Sgd{call.momentum, call.dampening, call.weight_decay, call.nesterov},
              {&call.momentum_buffers}, call.steps, {}, call.lr, call.maximize);
}

void adam(const AdamCall& call) {
  steps::step(call, math::Adam{call.beta1, call.beta2, call.eps, call.weight_decay, call.decoupled},
              {&call.exp_avgs, &call.exp_avg_sqs, &call.max_exp_avg_sqs}, call.steps, {}, call.lr, call.maximize,
              call.exp_avg_scales);
}

void optimizer_step(const OptimizerCall& call) {
  const auto visitor = [&]<class Rule>(const Rule& rule) {
    if constexpr (std::is_same_v<Rule, math::Lamb>) {
      steps::lamb_step(call, rule);
    } else {
      steps::step(call, rule, {&call.states[0], &call.states[1], &call.states[2]}, call.steps, call.scalars, call.lr,
                  call.maximize);
    }
  };
  std::visit(visitor, call.rule);
}

}  // namespace tandem::cpu
