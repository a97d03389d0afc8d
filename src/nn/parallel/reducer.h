#pragma once
// Reducer: averages gradients over the ranks during backward passes. Internal.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/nn/parallel/scale_check.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"

namespace tandem::nn::parallel::detail {

/// Hooks of the parameters tell it when a gradient is complete. It collects gradients in buckets and reduces a bucket
/// when it is full, in the same order on all ranks.
class Reducer {
 public:
  struct Parameter {
    std::string name;
    Tensor tensor;
  };
  /// All ranks must have equal parameters.
  Reducer(std::vector<Parameter> parameters, std::shared_ptr<distributed::ProcessGroup> group,
          const DistributedDataParallelOptions& options);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Begins an iteration. Throws StateError if the previous one reduced some gradients and not others.
  void before_forward();
  bool syncs() const { return syncs_; }
  void set_syncs(bool syncs) { syncs_ = syncs; }
  void set_hook(CommHook hook);
  const std::shared_ptr<distributed::ProcessGroup>& group() const { return group_; }
  size_t bucket_count() const { return buckets_.size(); }
  int64_t reductions() const { return reductions_; }

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    Tensor buffer;
    std::vector<Tensor> gradients;  // views of the buffer
    size_t missing = 0;             // gradients that have not been collected in this iteration
    Reduction reduction;
  };
  struct Place {
    size_t bucket, index;
  };

  /// Makes buckets of these parameters, in this order.
  void make_buckets(const std::vector<size_t>& order);
  /// Makes the buckets again if parameters have got another dtype or device, such as those of a mode.
  void follow_parameters();
  void on_gradient(size_t parameter);
  /// Copies the gradient of a parameter, or zeros if it has none, to its bucket.
  void collect(size_t parameter);
  void reduce_full_buckets();
  void at_end_of_pass();
  /// Calls collect() for parameters that this iteration does not use.
  void collect_unused();
  /// Whether a backward pass failed before its end. Then waits for the reductions that it started.
  bool pass_failed() const { return pass_runs_ && pass_.expired(); }
  void recover();
  void finish_iteration();
  void write_back(Bucket& bucket, const std::vector<bool>& used);
  /// For each parameter, whether a rank used it in this iteration.
  std::vector<bool> used_anywhere() const;
  void order_buckets_by_use();
  void start_iteration();
  std::string names_of_missing() const;
  /// Throws StateError if the ranks are known to scale their losses differently.
  void report_different_scales();
  [[noreturn]] void fail(const std::string& message);

  const std::vector<Parameter> parameters_;
  const std::shared_ptr<distributed::ProcessGroup> group_;
  const DistributedDataParallelOptions options_;
  CommHook hook_ = allreduce_hook;
  bool has_user_hook_ = false;
  ScaleCheck scale_check_;
  std::vector<unsigned> handles_;  // of the parameters' hooks
  bool syncs_ = true;

  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  // by parameter
  bool ordered_by_use_ = false;
  std::vector<bool> never_used_;  // with static_graph, after the first iteration

  // ---- of an iteration
  bool pass_runs_ = false;         // from the first gradient of a pass to the end of at_end_of_pass()
  std::weak_ptr<void> pass_;       // expires with the callback that the pass holds
  std::vector<bool> collected_;    // by parameter
  std::vector<bool> used_;         // by parameter: has a gradient from this rank
  std::map<size_t, Tensor> kept_;  // gradients of unused parameters, by parameter, before the reduction of their views
  std::vector<size_t> use_order_;  // parameters in the order of their gradients
  size_t next_bucket_ = 0;         // the reductions of those before it have started
  autograd::LossScalePtr scale_;   // of this pass's gradients; null: unknown
  int64_t reductions_ = 0;
};

}  // namespace tandem::nn::parallel::detail
