#pragma once
// A small model and its data for the tests of DistributedDataParallel, on one process and divided among the ranks.
#include "distributed/models.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"

namespace tandem::testing {

using Options = nn::parallel::DistributedDataParallelOptions;

inline constexpr int64_t kRows = 24;  // divisible by 1 to 4 ranks
inline constexpr double kRounding = 1e-13;

inline Options options_of(const Group& group) { return Options().process_group(group); }

inline Tensor inputs() { return numbers({kRows, 6}, 1); }
inline Tensor targets() { return numbers({kRows, 3}, 2); }

/// `factor` times the gradients of one process with the joint batch.
inline std::vector<Tensor> joint_gradients(double factor = 1) {
  MlpImpl net(0);
  (mean_square(net.forward(inputs()), targets()) * factor).backward();
  return gradients_of(net);
}

/// Runs forward and backward on this rank's rows.
template <class Model>
void run(Model& model, const Group& group) {
  const Tensor y = model(part_of(inputs(), group->rank(), group->size()));
  mean_square(y, part_of(targets(), group->rank(), group->size())).backward();
}

}  // namespace tandem::testing
