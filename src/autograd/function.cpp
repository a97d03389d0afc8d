#include "tandem/autograd/function.h"

#include <algorithm>

#include "tandem/amp/autocast_off.h"
#include "tandem/amp/thread_context.h"
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {

class UserNode;

struct AutogradContext::State {
  const char* name = "";
  variable_list to_save, dirty, non_differentiable;
  bool materialize_grads = true;
  std::vector<bool> needs_input_grad;
  std::vector<SavedTensor> saved;
  UserNode* node = nullptr;  ///< set when recorded; the node owns this object
  bool released = false;
};

/// The node of a Function.
class UserNode final : public Node {
 public:
  UserNode(const char* name, std::vector<Edge> next, std::unique_ptr<AutogradContext> context)
      : Node(name, std::move(next)), context_(std::move(context)) {
    state().node = this;
  }

  Grads apply(Grads grads) override {
    TANDEM_CHECK(!state().released, AutogradError,
                 "backward through a graph that has been freed; pass retain_graph = true to every earlier backward");
    if (state().materialize_grads) {
      for (size_t i = 0; i < grads.size(); ++i) {
        const OutputMeta& m = outputs[i];
        if (!grads[i].defined()) grads[i] = zeros(m.sizes, TensorOptions(m.dtype).device(m.device));
      }
    }
    variable_list result = run(std::move(grads));
    for (const SavedTensor& s : state().saved) s.used();
    return take(std::move(result));
  }

  void release() override {
    state().released = state().released || !state().saved.empty();
    state().saved.clear();
  }

  FunctionCall::Backward backward = nullptr;
  std::vector<bool> is_tensor;         ///< for each argument of forward
  std::optional<ThreadContext> modes;  ///< the modes of forward, if backward runs under its autocast

 private:
  AutogradContext::State& state() { return *context_->state_; }

  variable_list run(Grads grads) {
    if (!modes) return backward(context_.get(), std::move(grads));
    const bool recording = GradMode::is_enabled();
    ThreadContextGuard as_forward(*modes);
    AutoGradMode record(recording);
    return backward(context_.get(), std::move(grads));
  }

  /// Picks the gradients of the tensor arguments from what backward returned.
  Grads take(variable_list given) const {
    const size_t wanted = is_tensor.size();
    const bool rest_is_empty = std::none_of(given.begin() + std::min(given.size(), wanted), given.end(),
                                            [](const Tensor& g) { return g.defined(); });
    TANDEM_CHECK(given.size() >= wanted && rest_is_empty, AutogradError,
                 "backward returned {} gradients for {} arguments of forward; return one per argument, undefined if "
                 "there is no gradient or the argument is not a tensor",
                 given.size(), wanted);
    Grads grads;
    for (size_t i = 0; i < wanted; ++i) {
      if (is_tensor[i]) {
        grads.push_back(fit(i, grads.size(), std::move(given[i])));
      } else {
        TANDEM_CHECK(!given[i].defined(), AutogradError,
                     "backward returned a gradient for argument {} of forward, which is not a tensor; return an "
                     "undefined tensor instead",
                     i);
      }
    }
    return grads;
  }

  /// Reduces the gradient of argument `argument`, input number `input`, to the input's sizes.
  Tensor fit(size_t argument, size_t input, Tensor g) const {
    const Edge& edge = next[input];
    if (!g.defined() || !edge) return {};
    const OutputMeta& m = edge.node->outputs[edge.input];
    TANDEM_CHECK(g.is_floating_point(), DTypeError,
                 "the gradient of argument {} is {}, but the argument is {}; gradients must be floating, convert it "
                 "with .to(kFloat)",
                 argument, OutputMeta(g).str(), m.str());
    if (g.sizes() == IntArrayRef(m.sizes)) return g;
    TANDEM_CHECK(
        is_expandable(m.sizes, g.sizes()), ShapeError,
        "the gradient of argument {} is {}, but the argument is {}; return a gradient with the argument's sizes",
        argument, OutputMeta(g).str(), m.str());
    std::vector<int64_t> repeated;
    const size_t lead = g.sizes().size() - m.sizes.size();
    for (size_t d = 0; d < g.sizes().size(); ++d) {
      if (d < lead || m.sizes[d - lead] != g.sizes()[d]) repeated.push_back(static_cast<int64_t>(d));
    }
    return g.sum(repeated, /*keepdim=*/true).view(m.sizes);
  }

  static bool is_expandable(IntArrayRef from, IntArrayRef to) {
    if (from.size() > to.size()) return false;
    for (size_t i = 1; i <= from.size(); ++i) {
      const int64_t a = from[from.size() - i], b = to[to.size() - i];
      if (a != b && a != 1) return false;
    }
    return true;
  }

  std::unique_ptr<AutogradContext> context_;
};

AutogradContext::AutogradContext() : state_(std::make_unique<State>()) {}
AutogradContext::~AutogradContext() = default;

void AutogradContext::save_for_backward(variable_list to_save) { state_->to_save = std::move(to_save); }
void AutogradContext::mark_dirty(const variable_list& inputs) { state_->dirty = inputs; }
void AutogradContext::mark_non_differentiable(const variable_list& outputs) { state_->non_differentiable = outputs; }
void AutogradContext::set_materialize_grads(bool value) { state_->materialize_grads = value; }

variable_list AutogradContext::get_saved_variables() const {
  if (!state_->node) return state_->to_save;  // still in forward
  variable_list variables;
  variables.reserve(state_->saved.size());
  for (size_t i = 0; i < state_->saved.size(); ++i) {
    variables.push_back(state_->saved[i].unpack(i, state_->node->shared_from_this()));
  }
  return variables;
}

bool AutogradContext::needs_input_grad(size_t i) const {
  const UserCodeScope op(state_->name);
  TANDEM_CHECK(i < state_->needs_input_grad.size(), IndexError,
               "needs_input_grad({}), but forward has {} tensors; count from 0", i, state_->needs_input_grad.size());
  return state_->needs_input_grad[i];
}

struct FunctionCall::State {
  /// The modes during forward.
  struct Inside {
    NoGradGuard no_grad;
    std::optional<amp::AutocastOff> no_autocast;
  };
  struct CastInput {
    Tensor cast;
    size_t input;
  };

  Backward backward;
  Amp amp;
  std::unique_ptr<AutogradContext> context;
  std::vector<Tensor> inputs;
  std::vector<bool> is_tensor;
  AutocastState regions[kNumDeviceTypes];  ///< of the caller
  std::vector<CastInput> casts;
  std::optional<ThreadContext> modes;
  std::optional<Inside> inside;

  AutogradContext::State& said() { return *context->state_; }
  const char* name() { return said().name; }
};

namespace {

/// The index of `x` in `list`, or list.size().
size_t find(const variable_list& list, const Tensor& x) {
  return static_cast<size_t>(std::find_if(list.begin(), list.end(), [&](const Tensor& y) { return y.is_same(x); }) -
                             list.begin());
}
bool contains(const variable_list& list, const Tensor& x) { return find(list, x) < list.size(); }

/// Checks the outputs and marks of forward.
void check_outputs(const variable_list& outputs, const variable_list& inputs, const variable_list& dirty,
                   const variable_list& non_differentiable) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    TANDEM_CHECK(outputs[i].defined(), AutogradError,
                 "forward returned an undefined tensor as output {}; return only defined ones", i);
  }
  for (const Tensor& x : dirty) {
    TANDEM_CHECK(x.defined() && contains(inputs, x) && contains(outputs, x), AutogradError,
                 "mark_dirty was given a tensor that is not both an input and an output of forward; mark the inputs "
                 "that were changed in place, and return them");
  }
  for (const Tensor& y : non_differentiable) {
    TANDEM_CHECK(y.defined() && contains(outputs, y), AutogradError,
                 "mark_non_differentiable was given a tensor that forward does not return; mark outputs only");
  }
}

}  // namespace

FunctionCall::FunctionCall(const char* name, Backward backward, const Amp& amp) : state_(std::make_unique<State>()) {
  state_->backward = backward;
  state_->amp = amp;
  state_->context.reset(new AutogradContext);
  state_->said().name = name;
}
FunctionCall::~FunctionCall() = default;

void FunctionCall::add(const Tensor& x) {
  state_->inputs.push_back(x);
  state_->is_tensor.push_back(true);
}
void FunctionCall::add_other() { state_->is_tensor.push_back(false); }

AutogradContext* FunctionCall::enter() {
  State& s = *state_;
  for (const Tensor& x : s.inputs) {
    s.said().needs_input_grad.push_back(GradMode::is_enabled() && x.defined() && x.requires_grad());
  }
  std::copy_n(thread_state().autocast, kNumDeviceTypes, s.regions);
  s.inside.emplace();
  if (s.amp.cast_inputs) s.inside->no_autocast.emplace();
  if (s.amp.keeps_autocast) s.modes = ThreadContext::capture_unobserved();
  return s.context.get();
}

Tensor FunctionCall::cast(const Tensor& x) {
  State& s = *state_;
  if (!x.defined() || !tandem::is_differentiable(x.dtype()) || x.dtype() == kDouble) return x;
  if (!s.regions[static_cast<int>(x.device().type())].enabled || x.dtype() == *s.amp.cast_inputs) return x;
  // A separate cast, not one from the cast cache: forward may change it in place.
  s.casts.push_back({x.to(*s.amp.cast_inputs), find(s.inputs, x)});
  return s.casts.back().cast;
}

variable_list FunctionCall::leave(variable_list outputs) {
  State& s = *state_;
  s.inside.reset();
  AutogradContext::State& said = s.said();
  const UserCodeScope op(said.name);
  check_outputs(outputs, s.inputs, said.dirty, said.non_differentiable);
  for (const Tensor& x : said.dirty) x.impl().storage->bump_version();

  std::vector<bool> is_dirty, is_differentiable;
  std::vector<const Tensor*> inputs;
  variable_list separate(outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    is_dirty.push_back(contains(said.dirty, outputs[i]));
    is_differentiable.push_back(tandem::is_differentiable(outputs[i].dtype()) &&
                                !contains(said.non_differentiable, outputs[i]));
    if (is_dirty[i]) separate[i] = Tensor();  // returned as the same tensor
  }
  for (const Tensor& x : s.inputs) inputs.push_back(&x);
  tandem::detail::separate_outputs(inputs, {}, separate);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_dirty[i]) outputs[i] = separate[i];
  }
  if (!is_recording(s.inputs)) return outputs;

  std::vector<Edge> next;
  for (const Tensor& x : s.inputs) {
    TANDEM_CHECK(!x.defined() || !x.impl().is_inference, AutogradError,
                 "an input was created under InferenceMode and cannot be recorded; clone() it first");
    next.push_back(contains(said.dirty, x) ? edge_before_overwriting(x) : gradient_edge(x));
  }
  auto node = std::make_shared<UserNode>(said.name, std::move(next), std::move(s.context));
  node->backward = s.backward;
  node->is_tensor = std::move(s.is_tensor);
  node->modes = std::move(s.modes);
  for (const Tensor& x : said.to_save) {
    const auto cast =
        std::find_if(s.casts.begin(), s.casts.end(), [&](const auto& c) { return x.defined() && c.cast.is_same(x); });
    if (cast == s.casts.end()) {
      said.saved.push_back(SavedTensor::of(x, outputs));
    } else {
      said.saved.emplace_back(x, node->next[cast->input], s.inputs[cast->input].dtype());
    }
  }
  for (const Tensor& y : outputs) node->outputs.emplace_back(y);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& y = outputs[i];
    if (!is_differentiable[i]) continue;
    if (is_dirty[i]) {
      rebase_history(y, node->next[find(s.inputs, y)], {node, static_cast<uint32_t>(i)});
      continue;
    }
    set_history(y, node, static_cast<uint32_t>(i));
    if (y.impl().is_view) meta(y).view->has_own_history = true;
  }
  // Outputs own the node, which owns this object: drop the references to them to avoid a cycle.
  said.to_save.clear();
  said.dirty.clear();
  said.non_differentiable.clear();
  return outputs;
}

void SavedValue::throw_wrong_type(const std::type_info& wanted) const {
  const OpScope op("saved_data");
  TANDEM_THROW(StateError, "the value is {}, not {}; request the type that was stored",
               isNone() ? "empty" : type_name(value_.type()), type_name(wanted));
}

}  // namespace tandem::autograd
