#pragma once
// ZeroRedundancyOptimizer: shards the states of an optimizer over the ranks of a process group (ZeRO, stage 1).
// Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020);
// torch.distributed.optim.ZeroRedundancyOptimizer.
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tandem/distributed/process_group.h"
#include "tandem/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace tandem::optim {

/// Makes an optimizer of the given groups, which have options.
using OptimizerFactory = std::function<std::unique_ptr<Optimizer>(std::vector<OptimizerParamGroup> groups)>;

/// Gives each parameter an owner among the ranks. A rank keeps the states and master weights of its own parameters
/// only, about 1/n of them on n ranks, and updates only these; then the owners broadcast the updated parameters. The
/// result is that of the unsharded optimizer, bit for bit.
///
///   auto group = distributed::init();
///   nn::parallel::DistributedDataParallel model(net);
///   optim::ZeroRedundancyOptimizer zero(net->parameters(), optim::AdamWOptions(1e-3));
///   scaler.scale(loss_of(model(batch))).backward();
///   scaler.step(zero);
///   scaler.update();
///
/// All ranks must construct it with equal parameters and options, and must have equal gradients at each step, as
/// DistributedDataParallel provides. They take the same steps: step() and add_param_group() are collective.
///
/// This object has all parameters in its groups, so schedules, GradScaler, clipping, zero_grad() and
/// keep_master_weights() are used as with other optimizers: the options of its groups apply to the shards from the next
/// step on, and a rank's state() and master() are those of its own parameters. Masters that the ranks already have
/// should not be converted to another kind during training, since parameters may then differ between ranks until the
/// next step.
///
/// Owners are chosen for balance: the largest parameter comes first and goes to the rank with the fewest elements. They
/// depend only on the sizes and the order of the parameters. Parameters that share memory have one owner. Groups that
/// are added later do not change the owners of present parameters.
///
/// step() starts the broadcasts and returns. They run beside the next forward pass: whatever first uses the data of a
/// parameter waits for it there, and throws the error if its owner has failed. They follow the order of the groups, in
/// windows of at most 25 MiB (first 1 MiB) of all owners together, one message for each owner and dtype. Until a
/// parameter is used, its new values take memory of their own: at most that of a copy of all parameters. step() waits
/// for parameters whose pointers the program has (data_ptr()), and for all those on a GPU if the program uses graphs.
class ZeroRedundancyOptimizer : public Optimizer {
 public:
  /// Shards the optimizer that `defaults` are the options of: any of tandem's except LBFGS. `group`:
  /// distributed::world() if null. Throws what the constructor of that optimizer throws, and StateError if the ranks
  /// have different parameters.
  ZeroRedundancyOptimizer(std::vector<Tensor> params, const OptimizerOptions& defaults,
                          std::shared_ptr<distributed::ProcessGroup> group = nullptr);
  ZeroRedundancyOptimizer(const std::vector<OptimizerParamGroup>& param_groups, const OptimizerOptions& defaults,
                          std::shared_ptr<distributed::ProcessGroup> group = nullptr);
  /// Shards the optimizer that `factory` makes. It is called with all groups, for their options, and then with the same
  /// number of groups of this rank's parameters, some of which may be empty. The optimizer must implement
  /// step(const FusedUnscale&), and a GradScaler must step it that way (steps_fused()); otherwise throws
  /// NotImplementedError.
  ZeroRedundancyOptimizer(const std::vector<OptimizerParamGroup>& param_groups, OptimizerFactory factory,
                          std::shared_ptr<distributed::ProcessGroup> group = nullptr);
  ~ZeroRedundancyOptimizer() override;

  using Optimizer::step;
  /// Steps the shard of this rank, and starts the broadcasts, after waiting for those of the previous step. If it fails
  /// on one rank only, the group is aborted, so that no other rank waits for it.
  void step(const FusedUnscale& scaling) override;
  bool supports_amp_scaling() const override { return true; }
  bool supports_master_weights() const override { return shard_->supports_master_weights(); }
  /// All ranks must add equal groups; throws StateError otherwise.
  void add_param_group(const OptimizerParamGroup& group) override;

  // ---- saving: one file for any number of ranks, or one for each rank
  /// Collects the states and masters of all ranks on rank `to`, in host memory. Collective. The copies are dropped by
  /// the next step().
  void consolidate_state_dict(int to = 0);
  /// The dictionary of the unsharded optimizer, which other numbers of ranks and optimizers without ZeRO can load.
  /// Throws StateError unless consolidate_state_dict() has collected it on this rank since the last step(). With one
  /// rank, that call is not needed.
  ///
  ///   zero.consolidate_state_dict();
  ///   if (group->rank() == 0) run.save(path);   // an io::Checkpoint
  StateDict state_dict() const override;
  /// Checks all of a consolidated state, on any number of ranks, and keeps this rank's shard. Not collective: every
  /// rank loads the same state.
  StateCommit prepare_load_state_dict(const StateDict& state) override;
  /// Options, and the state and masters of this rank's parameters, which keep their numbers. It shares memory with the
  /// optimizer, as state_dict() of others does, and can be loaded by the same rank of as many ranks.
  StateDict local_state_dict() const;
  /// Throws StateError for the state of another rank, or if the owners of the parameters differ.
  void load_local_state_dict(const StateDict& state);

  const std::shared_ptr<distributed::ProcessGroup>& process_group() const { return group_; }
  /// The rank that owns each parameter, in the order of parameters().
  const std::vector<int>& owners() const { return owners_; }
  /// The optimizer of this rank's parameters. Its options are overwritten by those of this object at each step.
  const Optimizer& local_optimizer() const { return *shard_; }

 protected:
  Optimizer& state_holder() override { return shard_ ? *shard_ : *this; }
  bool keeps_state_of(const Tensor& param) const override;

 private:
  /// `all`: an optimizer of all groups.
  ZeroRedundancyOptimizer(std::unique_ptr<Optimizer> all, OptimizerFactory factory,
                          std::shared_ptr<distributed::ProcessGroup> group);
  void check_equal(size_t first_group) const;
  void check_step(const FusedUnscale& scaling) const;
  /// Copies the options of the groups to this rank's optimizer.
  void share_options();
  /// Chooses owners of the parameters that have none yet.
  void assign_owners();
  /// This rank's parameters of a group, with the group's options.
  OptimizerParamGroup own_part(const OptimizerParamGroup& group) const;

  std::shared_ptr<distributed::ProcessGroup> group_;
  std::vector<Tensor> params_;  // of all groups when owners were chosen
  std::vector<int> owners_;
  std::unordered_map<const TensorImpl*, int> owner_of_;
  std::unique_ptr<Optimizer> shard_;
  std::optional<StateDict> consolidated_;  // states and masters of all ranks
};

}  // namespace tandem::optim
#pragma GCC visibility pop
