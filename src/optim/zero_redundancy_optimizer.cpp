// Construction, groups and steps. Saving and loading are in zero_redundancy_state.cpp.
#include "tandem/optim/zero_redundancy_optimizer.h"

#include <exception>
#include <typeinfo>
#include <utility>

#include "src/distributed/deferred_broadcast.h"
#include "src/distributed/replicas.h"
#include "src/optim/multi_tensor.h"
#include "src/optim/partition.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/distributed/init.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/current_capture.h"

namespace tandem::optim {
namespace {

constexpr const char* kName = "ZeroRedundancyOptimizer";

/// A factory of Kind if `defaults` are its options, otherwise null.
template <class Kind, class Options>
OptimizerFactory factory_if(const OptimizerOptions& defaults) {
  if (typeid(defaults) != typeid(Options)) return nullptr;
  return [options = static_cast<const Options&>(defaults)](std::vector<OptimizerParamGroup> groups) {
    return std::make_unique<Kind>(std::move(groups), options);
  };
}

OptimizerFactory factory_of(const OptimizerOptions& defaults) {
  const OpScope op(kName);
  for (const auto find :
       {factory_if<Adadelta, AdadeltaOptions>, factory_if<Adagrad, AdagradOptions>, factory_if<Adam, AdamOptions>,
        factory_if<Adamax, AdamaxOptions>, factory_if<AdamW, AdamWOptions>, factory_if<LAMB, LAMBOptions>,
        factory_if<LBFGS, LBFGSOptions>, factory_if<Lion, LionOptions>, factory_if<NAdam, NAdamOptions>,
        factory_if<RAdam, RAdamOptions>, factory_if<RMSprop, RMSpropOptions>, factory_if<SGD, SGDOptions>}) {
    if (OptimizerFactory factory = find(defaults)) return factory;
  }
  TANDEM_THROW(StateError, "these are the options of none of tandem's optimizers; pass a factory that makes yours");
}

std::unique_ptr<Optimizer> make(const OptimizerFactory& factory, std::vector<OptimizerParamGroup> groups) {
  const UserCodeScope op(kName);
  TANDEM_CHECK(factory, StateError, "the factory is empty; pass a function that makes an optimizer of groups");
  size_t count = 0;
  for (const OptimizerParamGroup& group : groups) count += group.params().size();
  std::unique_ptr<Optimizer> made = factory(std::move(groups));
  TANDEM_CHECK(made, StateError, "the factory returned null; return an optimizer of the groups that it is given");
  TANDEM_CHECK(made->size() == count, StateError,
               "the factory returned an optimizer of {} parameters for groups of {}; give it all groups", made->size(),
               count);
  TANDEM_CHECK(!made->needs_closure(), NotImplementedError,
               "an optimizer that evaluates the loss in its step, such as LBFGS, works on all parameters together and "
               "cannot be sharded; use it without ZeroRedundancyOptimizer, or shard another one, such as AdamW");
  TANDEM_CHECK(made->steps_fused(), NotImplementedError,
               "the optimizer must do all of its step in step(const FusedUnscale&); override that function and "
               "supports_amp_scaling(), and in a class derived from one of tandem's optimizers let overrides_step() "
               "return false");
  return made;
}

}  // namespace

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(std::vector<Tensor> params, const OptimizerOptions& defaults,
                                                 std::shared_ptr<distributed::ProcessGroup> group)
    : ZeroRedundancyOptimizer(std::vector<OptimizerParamGroup>{group_of(std::move(params))}, factory_of(defaults),
                              std::move(group)) {}

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(const std::vector<OptimizerParamGroup>& param_groups,
                                                 const OptimizerOptions& defaults,
                                                 std::shared_ptr<distributed::ProcessGroup> group)
    : ZeroRedundancyOptimizer(param_groups, factory_of(defaults), std::move(group)) {}

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(const std::vector<OptimizerParamGroup>& param_groups,
                                                 OptimizerFactory factory,
                                                 std::shared_ptr<distributed::ProcessGroup> group)
    : ZeroRedundancyOptimizer(make(factory, param_groups), factory, std::move(group)) {}

// An optimizer of all groups checks them and gives them options. It has no state yet.
ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(std::unique_ptr<Optimizer> all, OptimizerFactory factory,
                                                 std::shared_ptr<distributed::ProcessGroup> group)
    : Optimizer(all->param_groups(), all->defaults().clone()), group_(group ? std::move(group) : distributed::world()) {
  const UserCodeScope op(kName);
  TANDEM_CHECK(size() > 0, StateError, "the groups have no parameters; were the modules registered?");
  check_equal(0);
  assign_owners();
  std::vector<OptimizerParamGroup> own;
  for (const OptimizerParamGroup& g : param_groups()) own.push_back(own_part(g));
  shard_ = make(factory, std::move(own));
}

ZeroRedundancyOptimizer::~ZeroRedundancyOptimizer() = default;

void ZeroRedundancyOptimizer::check_equal(size_t first_group) const {
  distributed::NamedTensors named;
  for (size_t g = first_group; g < param_groups().size(); ++g) {
    for (const Tensor& p : param_groups()[g].params()) named.emplace_back(fmt::format("of group {}:", g), p);
  }
  if (!named.empty()) {
    distributed::check_equal_on_all_ranks(*group_, named, {"optimizer", "parameter", "parameters"});
  }
}

void ZeroRedundancyOptimizer::assign_owners() {
  params_ = parameters();
  extend_partition(owners_, params_, group_->size());
  owner_of_.clear();
  for (size_t i = 0; i < params_.size(); ++i) owner_of_.emplace(&params_[i].impl(), owners_[i]);
}

bool ZeroRedundancyOptimizer::keeps_state_of(const Tensor& param) const {
  const auto owner = owner_of_.find(&param.impl());
  return owner != owner_of_.end() && owner->second == group_->rank();
}

OptimizerParamGroup ZeroRedundancyOptimizer::own_part(const OptimizerParamGroup& group) const {
  std::vector<Tensor> own;
  for (const Tensor& p : group.params()) {
    if (keeps_state_of(p)) own.push_back(p);
  }
  return OptimizerParamGroup(std::move(own), group.options().clone());
}

void ZeroRedundancyOptimizer::add_param_group(const OptimizerParamGroup& group) {
  Optimizer::add_param_group(group);
  const OpScope op("add_param_group");
  try {
    check_equal(param_groups().size() - 1);
  } catch (...) {
    param_groups().pop_back();
    throw;
  }
  assign_owners();
  shard_->add_param_group(own_part(param_groups().back()));
  consolidated_.reset();
}

/// The checks that fail on all ranks alike.
void ZeroRedundancyOptimizer::check_step(const FusedUnscale& scaling) const {
  const std::vector<Tensor> now = parameters();
  bool same = now.size() == params_.size();
  for (size_t i = 0; same && i < now.size(); ++i) same = now[i].is_same(params_[i]);
  TANDEM_CHECK(same, StateError,
               "the parameters of the groups were replaced; add new ones with add_param_group(), or make a new "
               "optimizer");
  if (now[0].is_cuda()) {
    check_not_capturing("sending parameters between ranks is impossible", "step outside the capture");
  }
  check_all_options();
  check_scaling(scaling);
  for (const Tensor& p : now) {
    if (p.grad().defined()) check_gradient(p, p.grad(), scaling);
  }
}

void ZeroRedundancyOptimizer::share_options() {
  for (size_t g = 0; g < param_groups().size(); ++g) {
    shard_->param_groups()[g].set_options(param_groups()[g].options().clone());
  }
}

void ZeroRedundancyOptimizer::step(const FusedUnscale& scaling) {
  const OpScope op(kName);
  const NoGradGuard no_grad;
  check_step(scaling);
  consolidated_.reset();
  share_options();
  if (shard_->size() > 0) {
    try {
      shard_->step(scaling);
    } catch (const std::exception& e) {
      if (group_->size() > 1) group_->abort(e.what());
      throw;
    }
  }
  distributed::broadcast_deferred(*group_, params_, owners_);
}

}  // namespace tandem::optim
