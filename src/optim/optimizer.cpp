#include "tandem/optim/optimizer.h"

#include <atomic>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "src/autograd/zero_grad.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {

uint64_t Optimizer::next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

double OptimizerOptions::get_lr() const {
  const OpScope op("get_lr");
  TANDEM_THROW(StateError, "these options have no learning rate; override get_lr and set_lr in them");
}

void OptimizerOptions::set_lr(double lr) {
  const OpScope op("set_lr");
  TANDEM_THROW(StateError, "these options have no learning rate to set to {}; override get_lr and set_lr in them", lr);
}

void OptimizerOptions::visit_fields(StateVisitor&) {
  TANDEM_THROW(NotImplementedError, "these options do not list their fields; override visit_fields in them");
}

void OptimizerOptions::serialize(tandem::serialize::InputArchive&) {
  TANDEM_THROW(NotImplementedError, "these options have no serialize() that loads them; override it in them");
}

void OptimizerOptions::serialize(tandem::serialize::OutputArchive&) const {
  TANDEM_THROW(NotImplementedError, "these options have no serialize() that saves them; override it in them");
}

std::unique_ptr<OptimizerParamState> OptimizerParamState::clone() const {
  TANDEM_THROW(NotImplementedError,
               "this optimizer's state has no clone(); derive it from OptimizerCloneableParamState");
}

void OptimizerParamState::visit_fields(StateVisitor&) {
  TANDEM_THROW(NotImplementedError, "this optimizer's state does not list its fields; override visit_fields in it");
}

void OptimizerParamState::serialize(tandem::serialize::InputArchive&) {
  TANDEM_THROW(NotImplementedError, "this optimizer's state has no serialize() that loads it; override it in it");
}

void OptimizerParamState::serialize(tandem::serialize::OutputArchive&) const {
  TANDEM_THROW(NotImplementedError, "this optimizer's state has no serialize() that saves it; override it in it");
}

const double* Optimizer::captured_lr(const OptimizerParamGroup& group) const {
  GraphCapture* capture = current_capture();
  if (!capture) return nullptr;
  const auto number = static_cast<size_t>(&group - param_groups_.data());
  return capture->numbers(1, [weak = std::weak_ptr<const Optimizer*>(self_), number](double* lr) {
    const std::shared_ptr<const Optimizer*> self = weak.lock();
    TANDEM_CHECK(
        self && number < (*self)->param_groups_.size(), StateError,
        "an optimizer whose step is in the graph was destroyed; keep it alive as long as the graph, or capture again");
    const OptimizerOptions& options = (*self)->param_groups_[number].options();
    (*self)->check_options(options);
    *lr = options.get_lr();
  });
}

OptimizerParamGroup::OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}

OptimizerParamGroup::OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
    : params_(std::move(params)), options_(std::move(options)) {}

OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& other)
    : params_(other.params_),
      options_(other.options_ ? other.options_->clone() : nullptr),
      initial_lr_(other.initial_lr_) {}

OptimizerParamGroup& OptimizerParamGroup::operator=(const OptimizerParamGroup& other) {
  if (this != &other) *this = OptimizerParamGroup(other);
  return *this;
}

OptimizerOptions& OptimizerParamGroup::options() {
  const OpScope op("options");
  TANDEM_CHECK(options_, StateError,
               "this parameter group has no options yet; adding it to an optimizer sets the defaults");
  return *options_;
}

const OptimizerOptions& OptimizerParamGroup::options() const {
  return const_cast<OptimizerParamGroup*>(this)->options();
}

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  const OpScope op("Optimizer");
  TANDEM_CHECK(defaults_, StateError, "the default options are null; pass options");
  TANDEM_CHECK(!param_groups.empty(), StateError, "the list of parameter groups is empty; pass at least one");
  for (const OptimizerParamGroup& group : param_groups) add(group);
}

Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(std::vector<OptimizerParamGroup>{group_of(std::move(parameters))}, std::move(defaults)) {}

OptimizerParamGroup Optimizer::group_of(std::vector<Tensor> params) {
  const OpScope op("Optimizer");
  TANDEM_CHECK(!params.empty(), StateError,
               "the parameter list is empty; were the modules registered with register_module()?");
  return OptimizerParamGroup(std::move(params));
}

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  const UserCodeScope op("add_param_group");  // check_options() names the optimizer
  add(group);
}

void Optimizer::add(const OptimizerParamGroup& group) {
  std::unordered_set<const TensorImpl*> seen;
  for (const OptimizerParamGroup& present : param_groups_) {
    for (const Tensor& p : present.params()) seen.insert(p.impl_ptr().get());
  }
  for (size_t i = 0; i < group.params().size(); ++i) {
    const Tensor& p = group.params()[i];
    TANDEM_CHECK(p.defined(), StateError, "parameter {} is an undefined tensor; give it a value first", i);
    TANDEM_CHECK(
        is_differentiable(p.dtype()), DTypeError,
        "parameter {} is {} {}; only floating tensors other than float8 can be optimized: convert it with .to(kFloat)",
        i, to_string(p.sizes()), name(p.dtype()));
    checks::not_expanded("parameter", p, i);
    TANDEM_CHECK(p.is_leaf(), AutogradError,
                 "parameter {} ({}) is the result of an op; only leaves can be optimized: detach() it, or pass the "
                 "tensors that it was computed from",
                 i, to_string(p.sizes()));
    TANDEM_CHECK(seen.insert(p.impl_ptr().get()).second, StateError,
                 "parameter {} ({}) is already in this optimizer; list each parameter once", i, to_string(p.sizes()));
  }
  OptimizerParamGroup added(group);
  if (!added.has_options()) added.set_options(defaults_->clone());
  state_holder().check_options(added.options());
  param_groups_.push_back(std::move(added));
  if (master_kind_ != MasterWeights::none) set_grad_dtypes(param_groups_.back().params());
}

Tensor Optimizer::step(LossClosure closure) {
  const UserCodeScope op("step");
  Tensor loss = evaluate(closure);
  plain_step();
  return loss;
}

void Optimizer::step(const FusedUnscale&) {
  const OpScope op("step");
  TANDEM_THROW(NotImplementedError,
               "this optimizer cannot unscale and skip on its own; call step() after GradScaler::unscale_, or override "
               "step(const FusedUnscale&) and supports_amp_scaling()");
}

void Optimizer::zero_grad(bool set_to_none) {
  const OpScope op("Optimizer::zero_grad");
  for (const OptimizerParamGroup& group : param_groups_) {
    for (const Tensor& p : group.params()) autograd::zero_grad(p, set_to_none);
  }
  // The program may have stored the parameters' gradients there, as amp::master_params does.
  for (const auto& [p, master] : holder().masters_) autograd::zero_grad(master.value, /*set_to_none=*/true);
}

std::vector<Tensor> Optimizer::parameters() const {
  std::vector<Tensor> all;
  all.reserve(size());
  for (const OptimizerParamGroup& group : param_groups_) {
    all.insert(all.end(), group.params().begin(), group.params().end());
  }
  return all;
}

size_t Optimizer::size() const {
  size_t count = 0;
  for (const OptimizerParamGroup& group : param_groups_) count += group.params().size();
  return count;
}

namespace {

/// Calls visit(prefix, numbers of its parameters, group) for every group.
template <class Groups, class Visit>
void for_each_group(Groups& groups, const Visit& visit) {
  int64_t first = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto count = static_cast<int64_t>(groups[g].params().size());
    visit(fmt::format("param_groups.{}.", g), arange(first, first + count, TensorOptions(kLong).device(kCPU)),
          groups[g]);
    first += count;
  }
}

/// The rest of a key that is `prefix`, a number below `count`, a dot and the rest; nothing for other keys.
std::optional<std::pair<size_t, std::string_view>> numbered(std::string_view key, std::string_view prefix,
                                                            size_t count) {
  if (!key.starts_with(prefix)) return std::nullopt;
  size_t number = 0;
  const char* const last = key.data() + key.size();
  const auto [end, error] = std::from_chars(key.data() + prefix.size(), last, number);
  if (error != std::errc() || end == last || *end != '.' || number >= count) return std::nullopt;
  return std::pair(number, std::string_view(end + 1, last));
}

constexpr const char* kMasterWeights = "master_weights.";
constexpr const char* kStepScaler = "step_scaler";

/// Whether the key is that of a group, parameter or rank. Other keys belong to the optimizer as a whole.
bool is_of_part(const std::string& key) {
  for (const char* prefix : {"param_groups.", "state.", kMasterWeights, "zero_redundancy."}) {
    if (key.starts_with(prefix)) return true;
  }
  return false;
}

void visit_group(StateVisitor& visitor, OptimizerParamGroup& group) {
  group.options().visit_fields(visitor);
  visitor.number("initial_lr", group.initial_lr());
}

}  // namespace

StateDict Optimizer::state_dict() const {
  const UserCodeScope op("state_dict");
  StateDict dict;
  std::vector<OptimizerParamGroup> groups = param_groups_;  // copies: visitors need non-const options
  for_each_group(groups, [&](const std::string& prefix, Tensor numbers, OptimizerParamGroup& group) {
    StateWriter writer(dict, prefix);
    writer.tensor("params", numbers);
    visit_group(writer, group);
    for (const auto& item : unknown_) {
      if (item.key().starts_with(prefix)) dict.insert(item.key(), item.value());
    }
  });
  size_t number = 0;
  for (const Tensor& p : parameters()) {
    const std::string prefix = fmt::format("state.{}.", number++);
    StateWriter writer(dict, prefix);
    const auto own = state().find(&p.impl());
    if (own == state().end() || !own->second) continue;
    own->second->visit_fields(writer);
    for (const auto& item : unknown_) {
      if (item.key().starts_with(prefix)) dict.insert(item.key(), item.value());
    }
  }
  number = 0;
  for (const Tensor& p : parameters()) {
    const std::string key = fmt::format("{}{}", kMasterWeights, number++);
    if (holder().masters_.contains(&p.impl())) dict.insert(key, master(p));
  }
  if (const auto scaler = current_step_scaler()) add_below(dict, kStepScaler, scaler->state_dict());
  for (const auto& item : unknown_) {
    if (!is_of_part(item.key())) dict.insert(item.key(), item.value());
  }
  return dict;
}

StateCommit Optimizer::prepare_load_state_dict(const StateDict& state) {
  const UserCodeScope op("load_state_dict");
  NoGradGuard no_grad;
  StateReader reader(state);
  std::vector<OptimizerParamGroup> groups = param_groups_;
  for_each_group(groups, [&](const std::string& prefix, const Tensor& numbers, OptimizerParamGroup& group) {
    reader.set_prefix(prefix);
    const Tensor* given = reader.fitting("params", numbers);
    for (int64_t i = 0; given && i < numbers.numel(); ++i) {
      if ((*given)[i].item<int64_t>() == numbers[i].item<int64_t>()) continue;
      reader.add_fault(fmt::format("'{}params' does not have the numbers {} to {}", prefix, numbers[0].item<int64_t>(),
                                   numbers[-1].item<int64_t>()));
      break;
    }
    visit_group(reader, group);
  });
  const auto states = std::make_shared<State>();
  size_t number = 0;
  for (const Tensor& p : parameters()) {
    reader.set_prefix(fmt::format("state.{}.", number++));
    if (!reader.contains_below("")) continue;
    std::unique_ptr<OptimizerParamState> own = holder().new_param_state(p);
    own->visit_fields(reader);
    if (!keeps_state_of(p)) continue;
    if (!this->state().contains(&p.impl())) holder().keep_alive(p);
    states->emplace(&p.impl(), std::move(own));
  }
  reader.set_prefix(kMasterWeights);
  const auto masters = std::make_shared<std::vector<std::pair<Tensor, Tensor>>>();
  number = 0;
  for (const Tensor& p : parameters()) {
    const std::string key = std::to_string(number++);
    const Tensor* given = reader.contains(key) ? reader.fitting(key, p) : nullptr;
    if (given && has_master(p)) masters->emplace_back(p, *given);
  }
  const StateDict of_scaler = state_below(state, kStepScaler);
  reader.set_prefix(std::string(kStepScaler) + ".");
  for (const auto& item : of_scaler) reader.find(item.key());  // expected keys, even if no scaler uses them
  reader.set_prefix("");
  StateDict unknown;
  const IncompatibleKeys keys = reader.incompatible_keys();
  for (const std::string& key : keys.missing_keys.empty() ? keys.unexpected_keys : std::vector<std::string>{}) {
    const auto of_param = numbered(key, "state.", size());
    const bool is_field = of_param && of_param->second.find('.') == std::string_view::npos;
    const bool is_kept = is_field || numbered(key, "param_groups.", groups.size()) || !is_of_part(key);
    if (is_kept && state[key].defined()) unknown.insert(key, reader.find(key)->detach().clone());
  }
  reader.finish();
  const auto scaler = of_scaler.is_empty() ? nullptr : current_step_scaler();
  const StateCommit load_scaler = scaler ? scaler->prepare_load_state_dict(of_scaler) : [] {};
  for (const OptimizerParamGroup& group : groups) holder().check_options(group.options());
  // The options are read again, into the existing objects: a program may hold references to them.
  return [this, state, states, masters, load_scaler, unknown] {
    StateReader checked(state);
    for_each_group(param_groups_, [&](const std::string& prefix, const Tensor&, OptimizerParamGroup& group) {
      checked.set_prefix(prefix);
      visit_group(checked, group);
    });
    this->state().swap(*states);
    unknown_ = unknown;
    for (const auto& [p, value] : *masters) set_master(p, value);
    load_scaler();
  };
}

std::unique_ptr<OptimizerParamState> Optimizer::new_param_state(const Tensor&) const {
  TANDEM_THROW(NotImplementedError, "this optimizer's state cannot be loaded; override new_param_state in it");
}

void Optimizer::check_options(const OptimizerOptions&) const {}

bool Optimizer::keeps_state_of(const Tensor&) const { return true; }

void Optimizer::check_all_options() const {
  holder().check_options(*defaults_);
  for (const OptimizerParamGroup& group : param_groups_) holder().check_options(group.options());
}

Tensor Optimizer::evaluate(const LossClosure& closure) {
  if (!closure) return {};
  AutoGradMode grad(true);
  return closure();
}

}  // namespace tandem::optim
