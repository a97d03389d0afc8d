#include "tandem/nn/averaged_model.h"

#include <utility>
#include <vector>

#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/nn/modules/norm.h"
#include "tandem/tensor/current_capture.h"

namespace tandem::nn {
namespace {

using NamedTensors = OrderedDict<std::string, Tensor>;

/// Throws StateError unless the tensors have the same names and sizes.
void check_same(const char* what, const NamedTensors& averaged, const NamedTensors& model) {
  TANDEM_CHECK(averaged.size() == model.size(), StateError,
               "the averaged instance has {} {}, the model {}; make both from the same class and options",
               averaged.size(), what, model.size());
  for (const auto& item : model) {
    const Tensor* own = averaged.find(item.key());
    TANDEM_CHECK(own && own->sizes() == item.value().sizes(), StateError,
                 "'{}' is {} in the model, but {} in the averaged instance; make both from the same class and options",
                 item.key(), to_string(item.value().sizes()), own ? to_string(own->sizes()) : "missing");
  }
}

/// averaged = averaged + share (value - averaged) for all pairs, in one call for each device and dtype: a step of SGD
/// with lr -share and weight decay -1.
void move_towards(const std::vector<std::pair<Tensor, Tensor>>& pairs, double share) {
  std::vector<SgdCall> calls;
  for (const auto& [averaged, value] : pairs) {
    SgdCall* call = nullptr;
    for (SgdCall& c : calls) {
      if (c.params[0].device() == averaged.device() && c.params[0].dtype() == averaged.dtype()) call = &c;
    }
    if (!call) {
      call = &calls.emplace_back();
      call->lr = -share;
      call->weight_decay = -1;
    }
    call->params.push_back(averaged);
    call->grads.push_back(value);
  }
  for (const SgdCall& call : calls) {
    backend(call.params[0]).sgd(call);
    for (const Tensor& t : call.params) t.impl().storage->bump_version();
  }
}

/// Restores the momenta of batch norms, and the training modes of all modules.
class BatchNormModes {
 public:
  explicit BatchNormModes(Module& model) {
    const auto keep = [this](Module& module) {
      training_.emplace_back(&module, module.is_training());
      auto* norm = dynamic_cast<BatchNormImplBase*>(&module);
      if (norm && norm->running_mean.defined()) momenta_.emplace_back(norm, norm->options.momentum());
    };
    model.apply(Module::ModuleApplyFunction(keep));
  }
  ~BatchNormModes() {
    for (const auto& [norm, momentum] : momenta_) norm->options.momentum(momentum);
    // Outer modules come first, and set the mode of all modules in them.
    for (const auto& [module, on] : training_) module->train(on);
  }
  BatchNormModes(const BatchNormModes&) = delete;
  BatchNormModes& operator=(const BatchNormModes&) = delete;

  /// Makes the running statistics those of all batches from now on.
  void start() const {
    for (const auto& [norm, momentum] : momenta_) {
      norm->reset_running_stats();
      norm->options.momentum(std::nullopt);
    }
  }
  bool empty() const { return momenta_.empty(); }

 private:
  std::vector<std::pair<Module*, bool>> training_;
  std::vector<std::pair<BatchNormImplBase*, std::optional<double>>> momenta_;
};

}  // namespace

AveragedModel::AveragedModel(const Module& model, std::shared_ptr<Module> averaged, AveragedModelOptions options)
    : averaged_(std::move(averaged)), options_(std::move(options)) {
  const OpScope op("AveragedModel");
  TANDEM_CHECK(averaged_ && averaged_.get() != &model, StateError,
               "the averaged instance is {}; pass a second instance", averaged_ ? "the model itself" : "null");
  const std::optional<double> decay = options_.ema_decay();
  TANDEM_CHECK(!decay || (*decay >= 0 && *decay <= 1), StateError, "ema_decay = {}; it must be in [0, 1]",
               decay.value_or(0));
  TANDEM_CHECK(!decay || !options_.avg_fn(), StateError, "both ema_decay and avg_fn are set; set one of them");
  NoGradGuard no_grad;
  check_same("parameters", averaged_->named_parameters(), model.named_parameters());
  check_same("buffers", averaged_->named_buffers(), model.named_buffers());
  for (const Tensor& p : averaged_->parameters()) {
    for (const Tensor& other : model.parameters()) {
      TANDEM_CHECK(!p.is_same(other), StateError,
                   "the averaged instance shares parameters with the model; construct another one");
    }
  }
  averaged_->load_state_dict(model.state_dict());
  for (const Tensor& p : averaged_->parameters()) p.requires_grad_(false);
}

void AveragedModel::update_parameters(const Module& model) {
  const UserCodeScope op("update_parameters");  // avg_fn
  NoGradGuard no_grad;
  const NamedTensors parameters = averaged_->named_parameters(), buffers = averaged_->named_buffers();
  const NamedTensors new_parameters = model.named_parameters(), new_buffers = model.named_buffers();
  check_same("parameters", parameters, new_parameters);
  check_same("buffers", buffers, new_buffers);
  if (n_averaged_ == 0 || !options_.ema_decay()) {
    check_not_capturing("an average whose weights change with each update is impossible",
                        "use ema_decay, with one update before the capture, or update outside of the graph");
  }
  std::vector<std::pair<Tensor, Tensor>> averages, copies;
  const auto add = [&](const NamedTensors& own, const NamedTensors& values, bool average) {
    for (const auto& item : values) {
      const Tensor& to = own[item.key()];
      const bool is_average = average && n_averaged_ > 0 && is_differentiable(to.dtype());
      auto& list = is_average && is_differentiable(item.value().dtype()) ? averages : copies;
      list.emplace_back(to, item.value().detach().to(to.device()));
    }
  };
  add(parameters, new_parameters, true);
  add(buffers, new_buffers, options_.use_buffers());
  if (options_.avg_fn()) {
    for (auto& [averaged, value] : averages) {
      value = options_.avg_fn()(averaged.detach(), value.to(averaged.dtype()), n_averaged_);
      TANDEM_CHECK(value.defined() && value.sizes() == averaged.sizes(), StateError,
                   "avg_fn returned {} for a tensor of {}; it must return the new average",
                   value.defined() ? to_string(value.sizes()) : "an undefined tensor", to_string(averaged.sizes()));
    }
    copies.insert(copies.end(), averages.begin(), averages.end());
  } else {
    const std::optional<double> decay = options_.ema_decay();
    move_towards(averages, decay ? 1 - *decay : 1 / (static_cast<double>(n_averaged_) + 1));
  }
  for (const auto& [averaged, value] : copies) averaged.copy_(value);
  ++n_averaged_;
}

StateDict AveragedModel::state_dict() const {
  StateDict state;
  int64_t updates = n_averaged_;
  StateWriter(state).number("n_averaged", updates);
  add_below(state, "module", averaged_->state_dict());
  return state;
}

StateCommit AveragedModel::prepare_load_state_dict(const StateDict& state) {
  const OpScope op("load_state_dict");
  StateReader reader(state);
  int64_t updates = 0;
  reader.number("n_averaged", updates);
  if (updates < 0) reader.add_fault(fmt::format("'n_averaged' is {}", updates));
  const StateDict of_module = state_below(state, "module");
  reader.set_prefix("module.");
  for (const auto& item : of_module) reader.find(item.key());  // the module checks them
  reader.finish();
  const StateCommit load_module = averaged_->prepare_load_state_dict(of_module);
  return [this, updates, load_module] {
    load_module();
    n_averaged_ = updates;
  };
}

void update_bn(Module& model, const std::function<void()>& run_batches) {
  const UserCodeScope op("update_bn");
  TANDEM_CHECK(run_batches, StateError, "run_batches is empty; pass a function that runs the model on batches");
  const BatchNormModes modes(model);
  if (modes.empty()) return;
  modes.start();
  NoGradGuard no_grad;
  model.train();
  run_batches();
}

}  // namespace tandem::nn
