#pragma once
// SyncBatchNorm: batch norm with the statistics of the batches of all ranks.
#include <memory>

#include "tandem/distributed/process_group.h"
#include "tandem/nn/modules/norm.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Batch norm of [N, C, ...], whose statistics in training are those of the joint batch of all ranks. The ranks then do
/// the same as one process with the joint batch, even if their batches differ in size. Each call sends 2 C + 1 numbers,
/// and its backward 2 C; both must run on all ranks. Running statistics are equal on all ranks. create_graph throws
/// AutogradError. In eval mode it is the same as batch norm.
class SyncBatchNormImpl : public Cloneable<SyncBatchNormImpl, BatchNormImplBase> {
 public:
  /// `group`: distributed::world() if null.
  explicit SyncBatchNormImpl(const BatchNormOptions& options_,
                             std::shared_ptr<distributed::ProcessGroup> group = nullptr);

  /// Makes all batch norms in `module` use the statistics of all ranks. The modules stay the same objects, so that
  /// members and optimizers keep referring to them. Returns the number of batch norms. A null group means
  /// distributed::world().
  static int64_t convert_sync_batchnorm(Module& module, std::shared_ptr<distributed::ProcessGroup> group = nullptr);

 protected:
  void check_input_dim(const Tensor& input) const override;
};
TANDEM_MODULE(SyncBatchNorm);

}  // namespace tandem::nn
#pragma GCC visibility pop
