#include "tandem/nn/parallel/distributed_data_parallel.h"

#include "src/distributed/replicas.h"
#include "src/nn/parallel/reducer.h"
#include "tandem/base/check.h"
#include "tandem/distributed/init.h"

namespace tandem::nn::parallel::detail {

DistributedModule::DistributedModule(std::shared_ptr<Module> module, const DistributedDataParallelOptions& options)
    : Module("tandem::nn::parallel::DistributedDataParallel") {
  const OpScope op("DistributedDataParallel");
  TANDEM_CHECK(module, StateError, "the module is null");
  TANDEM_CHECK(options.bucket_cap_mb() > 0, StateError, "bucket_cap_mb = {}; it must be positive",
               options.bucket_cap_mb());
  const std::shared_ptr<distributed::ProcessGroup> group =
      options.process_group() ? options.process_group() : distributed::world();
  std::vector<Reducer::Parameter> trained;
  distributed::NamedTensors all;
  for (const auto& item : module->named_parameters()) {
    if (!item.value().defined()) continue;
    all.emplace_back(item.key(), item.value());
    if (item.value().requires_grad()) {
      trained.push_back({item.key(), item.value()});
    } else {
      frozen_.emplace_back(item.key(), item.value());
    }
  }
  TANDEM_CHECK(!trained.empty(), StateError,
               "no parameter of the module requires a gradient; a module that is not trained needs no wrapper");
  for (const auto& item : module->named_buffers()) {
    if (item.value().defined()) all.emplace_back(item.key(), item.value());
  }
  distributed::check_equal_on_all_ranks(*group, all);
  distributed::broadcast_from_first_rank(*group, all);
  module_ = module;
  register_module("module", module);
  broadcast_buffers_ = options.broadcast_buffers();
  reducer_ = std::make_shared<Reducer>(std::move(trained), group, options);
}

DistributedModule::~DistributedModule() = default;

void DistributedModule::before_forward() {
  const OpScope op("DistributedDataParallel");
  reducer_->before_forward();
  for (const auto& [name, p] : frozen_) {
    TANDEM_CHECK(!p.requires_grad(), StateError,
                 "{} requires a gradient since the model was wrapped; wrap it again, so that its gradient is averaged",
                 name);
  }
  if (!broadcast_buffers_ || !reducer_->syncs() || !module_->is_training()) return;
  distributed::NamedTensors buffers;
  for (const auto& item : module_->named_buffers()) {
    if (item.value().defined()) buffers.emplace_back(item.key(), item.value());
  }
  distributed::broadcast_from_first_rank(*reducer_->group(), buffers);
}

DistributedModule::NoSync::NoSync(std::shared_ptr<Reducer> reducer)
    : reducer_(std::move(reducer)), previous_(reducer_->syncs()) {
  reducer_->set_syncs(false);
}

DistributedModule::NoSync::~NoSync() { reducer_->set_syncs(previous_); }

DistributedModule::NoSync DistributedModule::no_sync() { return NoSync(reducer_); }

void DistributedModule::register_comm_hook(CommHook hook) {
  const OpScope op("register_comm_hook");
  reducer_->set_hook(std::move(hook));
}

const std::shared_ptr<distributed::ProcessGroup>& DistributedModule::process_group() const { return reducer_->group(); }
size_t DistributedModule::bucket_count() const { return reducer_->bucket_count(); }
int64_t DistributedModule::reductions() const { return reducer_->reductions(); }

}  // namespace tandem::nn::parallel::detail
