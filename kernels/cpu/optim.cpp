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

bool has(const std::vector<Tensor>* list) { return list && !list->empty(); }
float value_of(const std::vector<Tensor>* list, size_t i) { return has(list) ? *(*list)[i].raw<float>() : 0; }

/// One step of a rule. Its constructor allocates, run() does not.
template <class Rule>
class Step {
 public:
  /// `counts` and `scalars` are lists of the call; null: it has none.
  Step(const OptimizerTensors& call, const Rule& rule, const StateLists& states, const std::vector<Tensor>* counts,
       const std::vector<Tensor>* scalars, double lr, bool maximize, const std::vector<Tensor>& scales = {})
      : job_(make_job(call, states, scales)), step_of_(job_.groups.size()), counts_(counts), scalars_(scalars) {
    if (maximize) job_.factor = -job_.factor;
    unsigned present = 0;
    for (size_t k = 0; k < kStates; ++k) present |= states[k] && !states[k]->empty() ? 1U << k : 0U;
    // Computed once per step count, which parameters usually share: the powers are expensive.
    for (size_t i = 0; i < job_.groups.size(); ++i) {
      const float count = value_of(counts, i), scalar = value_of(scalars, i);
      if (steps_.empty() || steps_.back().count != count || steps_.back().scalar != scalar) {
        steps_.push_back(constants_of(rule, lr, present, count, scalar));
      }
      step_of_[i] = static_cast<uint32_t>(steps_.size() - 1);
      job_.groups[i].rounding_key = math::state_key(count + 1);
    }
  }

  void run() const {
    const auto row_step = static_cast<const RowStep<Rule>&>(optim_table()).step;
    const auto update_rows = [&](size_t index, const OptimRows& rows) { row_step(rows, steps_[step_of_[index]].f32); };
    steps::run(job_, update_rows, [&](size_t index, double* p, const double* g, double* const* rows, int64_t n) {
      const auto& constants = steps_[step_of_[index]].f64;
      for (int64_t i = 0; i < n; ++i) {
        double s[kStates] = {};
        for (size_t k = 0; k < kStates; ++k) {
          if (rows[k]) s[k] = rows[k][i];
        }
        p[i] = Rule::update(p[i], g[i] * job_.factor, s[0], s[1], s[2], constants);
        for (size_t k = 0; k < kStates; ++k) {
          if (rows[k]) rows[k][i] = s[k];
        }
      }
    });
    for (size_t i = 0; i < job_.groups.size(); ++i) {
      const OfStep<Rule>& of = steps_[step_of_[i]];
      if (has(counts_)) *(*counts_)[i].raw<float>() = of.count + 1;
      if (has(scalars_)) *(*scalars_)[i].raw<float>() = of.scalar_after;
    }
  }

 private:
  Job job_;
  std::vector<OfStep<Rule>> steps_;
  std::vector<uint32_t> step_of_;
  const std::vector<Tensor>*counts_, *scalars_;
};

/// Prepares all calls whose gradients are finite, and then runs them. `prepare` returns the Prepared of a call.
template <class Prepared, class Call, class Prepare>
void run_all(ArrayRef<Call> calls, const Prepare& prepare) {
  std::vector<Prepared> prepared;
  prepared.reserve(calls.size());
  for (const Call& call : calls) {
    if (!overflowed(call.scaling)) prepared.push_back(prepare(call));
  }
  for (Prepared& step : prepared) step.run();
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

class LambStep {
 public:
  LambStep(const OptimizerCall& call, const math::Lamb& rule)
      : lr_(call.lr),
        updates_(updates_of(call)),
        moments_(call, rule, {&call.states[0], &call.states[1], &updates_}, &call.steps, &call.scalars, call.lr,
                 call.maximize),
        job_(make_job({call.params, updates_, call.shadows, {}}, {})),
        sums_(job_.groups.size()) {
    for (size_t i = 0; i < job_.groups.size(); ++i) {
      const int64_t numel = job_.groups[i].numel;
      for (int64_t begin = 0; begin < numel; begin += kNormBlock) {
        blocks_.push_back({i, begin, std::min(begin + kNormBlock, numel), {}});
      }
    }
  }

  void run() {
    moments_.run();
    add_squares();
    // A step of SGD on the updates, with a learning rate for each parameter.
    const auto row_step = static_cast<const RowStep<math::Sgd>&>(optim_table()).step;
    const auto constants = [&]<class T>(T, size_t index) {
      float none = 0;
      return math::Sgd().constants<T>(lr_ * math::trust_ratio(sums_[index].p, sums_[index].u), 1, none);
    };
    steps::run(
        job_, [&](size_t index, const OptimRows& rows) { row_step(rows, constants(0.0F, index)); },
        [&](size_t index, double* p, const double* u, double* const*, int64_t n) {
          const auto c = constants(0.0, index);
          double none = 0;
          for (int64_t i = 0; i < n; ++i) p[i] = math::Sgd::update(p[i], u[i], none, none, none, c);
        });
  }

 private:
  struct Block {
    size_t group;
    int64_t begin, end;
    Squares squares;
  };

  static std::vector<Tensor> updates_of(const OptimizerCall& call) {
    std::vector<Tensor> updates;
    for (const Tensor& p : call.params) updates.push_back(empty_like(p, p.dtype() == kDouble ? kDouble : kFloat));
    return updates;
  }

  /// The squared norms of each parameter and its update. Sums are held in f64, in blocks that do not depend on the
  /// number of threads.
  void add_squares() {
    parallel_for(static_cast<int64_t>(blocks_.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        Block& block = blocks_[static_cast<size_t>(b)];
        const Group& group = job_.groups[block.group];
        const bool f64 = group.dtypes[kParam] == DType::F64;
        block.squares =
            f64 ? squares_of<double>(group, block.begin, block.end) : squares_of<float>(group, block.begin, block.end);
      }
    });
    for (const Block& block : blocks_) {
      sums_[block.group].p += block.squares.p;
      sums_[block.group].u += block.squares.u;
    }
  }

  double lr_;
  std::vector<Tensor> updates_;
  Step<math::Lamb> moments_;  // also writes the updates
  Job job_;                   // its gradients are the updates
  std::vector<Block> blocks_;
  std::vector<Squares> sums_;  // by parameter
};

}  // namespace
}  // namespace steps

void sgd(ArrayRef<SgdCall> calls) {
  using Step = steps::Step<math::Sgd>;
  steps::run_all<Step>(calls, [](const SgdCall& call) {
    return Step(call, {call.momentum, call.dampening, call.weight_decay, call.nesterov}, {&call.momentum_buffers},
                &call.steps, nullptr, call.lr, call.maximize);
  });
}

void adam(ArrayRef<AdamCall> calls) {
  using Step = steps::Step<math::Adam>;
  steps::run_all<Step>(calls, [](const AdamCall& call) {
    return Step(call, {call.beta1, call.beta2, call.eps, call.weight_decay, call.decoupled},
                {&call.exp_avgs, &call.exp_avg_sqs, &call.max_exp_avg_sqs}, &call.steps, nullptr, call.lr,
                call.maximize, call.exp_avg_scales);
  });
}

void optimizer_step(ArrayRef<OptimizerCall> calls) {
  if (calls.empty()) return;
  const auto visitor = [&]<class Rule>(const Rule&) {
    using Step = std::conditional_t<std::is_same_v<Rule, math::Lamb>, steps::LambStep, steps::Step<Rule>>;
    steps::run_all<Step>(calls, [](const OptimizerCall& call) {
      const Rule& rule = std::get<Rule>(call.rule);
      if constexpr (std::is_same_v<Rule, math::Lamb>) {
        return Step(call, rule);
      } else {
        return Step(call, rule, {&call.states[0], &call.states[1], &call.states[2]}, &call.steps, &call.scalars,
                    call.lr, call.maximize);
      }
    });
  };
  std::visit(visitor, calls[0].rule);
}

}  // namespace tandem::cpu
