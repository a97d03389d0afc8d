// Steps of the optimizers of math/optim_rules.h. The numeric contract is that of optim.cu.
//
// LAMB takes three passes: the moments and the updates u; the sums of p^2 and u^2, in f64, first of each chunk of a
// tensor and then of the tensor, in an order that does not depend on the device; and the parameters.
#include "kernels/cuda/group.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/optim_update.h"
#include "tandem/tensor/optimizer_call.h"

namespace tandem::cuda {
namespace steps {
namespace {

struct Squares {
  double p, u;
};

/// The sum over the threads of a block, in all of them.
__device__ __forceinline__ Squares sum_of_block(const Squares& s) {
  return {Group<false>::sum(s.p), Group<false>::sum(s.u)};
}

/// partial[chunk] = the sums over a chunk of the parameters and of the updates, which are the list's gradients. For
/// more than four blocks on a multiprocessor, the compiler would spill registers on compute capability 10.
template <class C, class Table>
__global__ void __launch_bounds__(kThreads, 4) square_chunks(const Table __grid_constant__ table, int64_t count,
                                                             int64_t chunks, Scaling scaling, Squares* partial) {
  if (scaling.overflowed()) return;
  const uint64_t* words = table.data();
  for_each_chunk<kOperands>(
      words, count,
      chunks, [&](int64_t, const Entry& entry, int64_t begin, int64_t end) __attribute__((always_inline)) {
        Squares sum{0, 0};
        int64_t at[kOperands];
        for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
          offsets_of(words, entry, i, at);
          C p[1], u[1];
          load_param<C, 1>(entry, at, p);
          load_lanes<C, 1>(entry, kGrad, at[kGrad], u);
          sum.p += static_cast<double>(p[0]) * static_cast<double>(p[0]);
          sum.u += static_cast<double>(u[0]) * static_cast<double>(u[0]);
        }
        sum = sum_of_block(sum);
        if (threadIdx.x == 0) partial[entry.first_chunk + begin / kChunk] = sum;
      });
}

/// ratios[tensor] = its trust ratio. One block for each tensor.
template <class Table>
__global__ void __launch_bounds__(kThreads) trust_ratios(const Table __grid_constant__ table, int64_t count,
                                                         Scaling scaling, const Squares* partial, double* ratios) {
  if (scaling.overflowed()) return;
  const auto* entries = reinterpret_cast<const Entry*>(table.data());
  for (int64_t k = blockIdx.x; k < count; k += gridDim.x) {
    const int64_t chunks = (entries[k].numel + kChunk - 1) / kChunk;
    Squares sum{0, 0};
    for (int64_t i = threadIdx.x; i < chunks; i += blockDim.x) {
      const Squares& s = partial[entries[k].first_chunk + i];
      sum.p += s.p;
      sum.u += s.u;
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) ratios[k] = math::trust_ratio(sum.p, sum.u);
  }
}

/// p - lr ratio u: a step of SGD on the updates.
template <class C>
struct LambUpdate {
  using Compute = C;
  double lr;
  const double* captured_lr;
  const double* ratios;
  __device__ Update<C, math::Sgd> update(int64_t tensor) const {
    float none = 0;
    return {math::Sgd().constants<C>((captured_lr ? *captured_lr : lr) * ratios[tensor], 1, none)};
  }
};

template <class C>
void add_applied_updates(Launches& launches, const OptimizerCall& call, const std::vector<Tensor>& updates) {
  OptimizerTensors tensors{call.params, updates, call.shadows, {{}, call.scaling.found_inf}};
  const TensorList<kOperands> list = list_of<C>(tensors, {}, {}, {}).tensors;
  if (list.chunks() == 0) return;
  const DeviceGuard on(call.params[0].device());
  const Scaling scaling = scaling_of(tensors.scaling, false);
  const auto options = TensorOptions(kByte).device(call.params[0].device());
  const Tensor partial = empty({list.chunks() * static_cast<int64_t>(sizeof(Squares))}, options);
  const Tensor ratios = empty({list.count() * static_cast<int64_t>(sizeof(double))}, options);
  auto* factors = static_cast<double*>(ratios.raw_bytes());
  const auto norms = [partial, ratios, factors, updates, count = list.count(), chunks = list.chunks(),
                      scaling](const auto& table) {
    using Table = std::decay_t<decltype(table)>;
    auto* sums = static_cast<Squares*>(partial.raw_bytes());
    launch(square_chunks<C, Table>, block_stride(chunks), table, count, chunks, scaling, sums);
    launch(trust_ratios<Table>, block_stride(count), table, count, scaling, sums, factors);
  };
  launches.add(list.words(), norms);
  add_updates(launches, list, scaling, LambUpdate<C>{call.lr, call.captured_lr, factors});
}

void add_lamb_step(Launches& launches, const OptimizerCall& call, const math::Lamb& rule) {
  std::vector<Tensor> updates;
  for (const Tensor& p : call.params) updates.push_back(empty_like(p, p.dtype() == kDouble ? kDouble : kFloat));
  add_step(launches, call, rule, {&call.states[0], &call.states[1], &updates}, call.steps, call.scalars, call.lr,
           call.captured_lr, call.maximize);
  add_applied_updates<float>(launches, call, updates);
  add_applied_updates<double>(launches, call, updates);
}

}  // namespace
}  // namespace steps

void optimizer_step(ArrayRef<OptimizerCall> calls) {
  steps::Launches launches;
  for (const OptimizerCall& call : calls) {
    const auto visitor = [&]<class R>(const R& rule) {
      if constexpr (std::is_same_v<R, math::Lamb>) {
        steps::add_lamb_step(launches, call, rule);
      } else {
        steps::add_step(launches, call, rule, {&call.states[0], &call.states[1], &call.states[2]}, call.steps,
                        call.scalars, call.lr, call.captured_lr, call.maximize);
      }
    };
    std::visit(visitor, call.rule);
  }
  launches.run();
}

}  // namespace tandem::cuda
