#pragma once
// DistributedDataParallel: trains one model on several ranks, each with its own part of the data.
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/distributed/process_group.h"
#include "tandem/nn/call.h"
#include "tandem/nn/module.h"
#include "tandem/nn/parallel/grad_bucket.h"

#pragma GCC visibility push(default)
namespace tandem::nn::parallel {

/// Names and defaults are those of torch.nn.parallel.DistributedDataParallel.
struct DistributedDataParallelOptions {
  /// The ranks; distributed::world() if null.
  TANDEM_ARG(std::shared_ptr<distributed::ProcessGroup>, process_group);
  /// The largest size in MiB of a bucket of several gradients, which are sent together. The first bucket, which is sent
  /// first, holds at most 1 MiB.
  TANDEM_ARG(double, bucket_cap_mb) = 25;
  /// Copies the buffers of rank 0, such as running statistics, to the other ranks before each forward pass in training
  /// mode.
  TANDEM_ARG(bool, broadcast_buffers) = true;
  /// Allows parameters without a gradient in a backward pass. Which ones may differ between iterations and ranks, but
  /// the loss of each rank must depend on at least one. A parameter that no rank used keeps its `.grad`. The gradients
  /// that follow such a parameter in the order of buckets are sent at the end of the pass.
  TANDEM_ARG(bool, find_unused_parameters) = false;
  /// Makes `.grad` a view of the bucket, which saves the memory of a copy of all gradients.
  TANDEM_ARG(bool, gradient_as_bucket_view) = false;
  /// Promises that each iteration uses the same parameters as the first one. Unused ones are not sent after it.
  TANDEM_ARG(bool, static_graph) = false;
};

namespace detail {

class Reducer;

/// The part of DistributedDataParallel that does not depend on the type of the model.
class DistributedModule : public Module {
 public:
  ~DistributedModule() override;
  DistributedModule(const DistributedModule&) = delete;
  DistributedModule& operator=(const DistributedModule&) = delete;

  /// Gradients are not reduced in backward passes during the scope: they are accumulated on each rank. The first
  /// backward pass after it reduces the sums. For gradient accumulation.
  class [[nodiscard]] NoSync {
   public:
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    friend class DistributedModule;
    explicit NoSync(std::shared_ptr<Reducer> reducer);
    std::shared_ptr<Reducer> reducer_;
    bool previous_;
  };
  NoSync no_sync();

  /// Replaces the reduction of buckets. Throws StateError if there is a hook already, or for an empty function.
  void register_comm_hook(CommHook hook);
  const std::shared_ptr<distributed::ProcessGroup>& process_group() const;
  /// The number of buckets, and of the times that a bucket was reduced. For tests and tuning.
  size_t bucket_count() const;
  int64_t reductions() const;

 protected:
  DistributedModule(std::shared_ptr<Module> module, const DistributedDataParallelOptions& options);
  void before_forward();

 private:
  std::shared_ptr<Module> module_;
  bool broadcast_buffers_ = true;
  std::vector<std::pair<std::string, Tensor>> frozen_;  // parameters that required no gradient at construction
  std::shared_ptr<Reducer> reducer_;
};

}  // namespace detail

/// Trains `module` on all ranks of a process group: each rank computes the gradients of its own batch, and backward()
/// replaces them by their averages over the ranks, while the rest of the backward pass still computes. With equal batch
/// sizes and a mean loss, the ranks do the same steps as one process with the joint batch.
///
///   auto group = distributed::init();
///   nn::parallel::DistributedDataParallel model(net);   // all ranks: the parameters of rank 0 from now on
///   loss_of(model(batch)).backward();                   // averaged gradients
///   optimizer.step();                                   // the same step on all ranks
///
/// Call the model through this object: forward() of the module itself does not prepare the iteration. Optimizers,
/// autocast and GradScaler are used as without it; the optimizer takes the module's parameters. Backward passes may run
/// more than once per iteration, parts of the model may be checkpointed, frozen or shared. create_graph is refused.
///
/// Gradients in `.grad` before a backward pass, which it adds to, must be equal on all ranks or come from no_sync()
/// scopes.
///
/// The constructor copies parameters and buffers of rank 0 to all ranks. It throws StateError if the ranks have
/// different parameters, and names the first one, or if no parameter requires a gradient. If parameters get no gradient
/// in an iteration and find_unused_parameters is off, the next forward pass throws StateError with their names.
/// Source: Li et al., "PyTorch Distributed", VLDB 2020.
template <std::derived_from<Module> M>
class DistributedDataParallel : public detail::DistributedModule {
 public:
  explicit DistributedDataParallel(std::shared_ptr<M> module, const DistributedDataParallelOptions& options = {})
      : DistributedModule(module, options), module_(std::move(module)) {}
  explicit DistributedDataParallel(const ModuleHolder<M>& module, const DistributedDataParallelOptions& options = {})
      : DistributedDataParallel(module.ptr(), options) {}
  /// `module` must outlive this object.
  explicit DistributedDataParallel(M& module, const DistributedDataParallelOptions& options = {})
      : DistributedDataParallel(std::shared_ptr<M>(std::shared_ptr<M>(), &module), options) {}

  template <class... Args>
  auto forward(Args&&... args) {
    before_forward();
    return nn::call(*module_, std::forward<Args>(args)...);
  }
  /// Calls forward() within the hooks of this object, which a mode such as Booster's may set.
  template <class... Args>
  auto operator()(Args&&... args) {
    return nn::call(*this, std::forward<Args>(args)...);
  }

  /// The model. Save its state_dict, so that the file does not depend on how it was trained: the keys of this object
  /// begin with "module.".
  const std::shared_ptr<M>& module() const { return module_; }

 private:
  std::shared_ptr<M> module_;
};

}  // namespace tandem::nn::parallel
#pragma GCC visibility pop
