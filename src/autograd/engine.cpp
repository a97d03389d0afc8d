// The backward pass: nodes run in the reverse order of recording, each after all its gradients have arrived.
#include "tandem/autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/accumulate_grad.h"
#include "tandem/autograd/backward_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/autograd/node.h"
#include "tandem/autograd/observer.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"
#include "tandem/math/binary.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {
namespace {

/// The state of one node during one backward pass.
struct NodeState {
  std::shared_ptr<Node> node;
  int dependencies = 0;  ///< edges into this node that are still to be processed
  bool awaited = true;   ///< its gradients are needed, here or in later nodes
  bool runs = true;      ///< a later node is awaited
  ScaleOfSum scale;      ///< of all its gradients; unknown before the first, and if the program gave them
  Grads grads;           ///< received so far, one per output
};

struct Later {
  bool operator()(const NodeState* a, const NodeState* b) const { return a->node->sequence < b->node->sequence; }
};

/// A result of autograd::grad: the gradient that arrives at (node, output).
struct Capture {
  Node* node;
  uint32_t output;
  Tensor grad;
  LossScalePtr scale = nullptr;
  bool partly_assigned = false;
};

/// Restores the scale of the pass around this one at the end.
class RunningScale {
 public:
  ~RunningScale() { detail::running_loss_scale() = outer_; }

 private:
  const ScaleOfSum outer_ = detail::running_loss_scale();
};

/// Whether a gradient that the program passes on, as a result of grad() or to backward(), keeps its scale. A gradient
/// of a loss that was not scaled may have been scaled by hand.
bool is_passed_on(const LossScale* scale) {
  using Kind = LossScale::Kind;
  return scale && (scale->kind == Kind::scaled || scale->kind == Kind::unscaled || scale->kind == Kind::mixed);
}

class Pass {
 public:
  Pass(bool retain_graph, bool create_graph) : retain_(retain_graph), create_(create_graph) {}

  void add_root(const Edge& edge, Tensor grad, const ScaleOfSum& scale) {
    NodeState& state = discover(edge.node);
    accumulate(state, edge.input, std::move(grad), scale);
    roots_.push_back(&state);
  }

  void add_capture(const Edge& edge) {
    captures_.push_back({edge.node.get(), edge.input, {}});
    only_captures_ = true;
  }

  /// The scale of a gradient that the program gives, kept until the end of the pass.
  ScaleOfSum scale_of_given(const Tensor& grad) {
    GradientScale known = scale_of(grad);
    if (!known.is_unchanged || !is_passed_on(known.scale.get())) return {};
    return {kept_.emplace_back(std::move(known.scale)).get(), known.partly_assigned};
  }

  std::vector<Capture> run() {
    explore();
    AutoGradMode mode(create_);
    amp::AutocastOff no_autocast;
    std::priority_queue<NodeState*, std::vector<NodeState*>, Later> ready;
    std::unordered_set<NodeState*> queued;
    const RunningScale running_scale;
    for (NodeState* root : roots_) {
      if (root->dependencies == 0 && queued.insert(root).second) ready.push(root);
    }
    while (!ready.empty()) {
      NodeState* state = ready.top();
      ready.pop();
      Node& node = *state->node;
      const BackwardScope scope(node);
      const UserCodeScope running(node.op);
      detail::running_loss_scale() = state->scale;
      Grads sent = run_node(*state);
      const ScaleOfSum scale = scale_after(*state);
      for (size_t i = 0; i < node.next.size(); ++i) {
        const Edge& edge = node.next[i];
        if (!edge) continue;
        NodeState& target = states_.at(edge.node.get());
        if (i < sent.size() && sent[i].defined()) {
          accumulate(target, edge.input, std::move(sent[i]), scale);
        }
        if (--target.dependencies == 0 && target.awaited) ready.push(&target);
      }
      if (!retain_ && state->runs) node.release();
      state->grads.clear();
    }
    return std::move(captures_);
  }

 private:
  NodeState& discover(const std::shared_ptr<Node>& node) {
    NodeState& state = states_[node.get()];
    if (!state.node) {
      state.node = node;
      order_.push_back(&state);
    }
    return state;
  }

  /// Counts the edges into every node reachable from the roots. If there are captures, marks the nodes they need.
  void explore() {
    for (size_t i = 0; i < order_.size(); ++i) {
      for (const Edge& edge : order_[i]->node->next) {
        if (edge) ++discover(edge.node).dependencies;
      }
    }
    if (!only_captures_) return;
    for (NodeState* s : order_) s->awaited = s->runs = false;
    for (const Capture& c : captures_) {
      auto it = states_.find(c.node);
      if (it != states_.end()) it->second.awaited = true;
    }
    // A node's inputs are created before it (Node's constructor takes their edges), so one sweep in increasing sequence
    // order suffices. Leaves have the highest number but no inputs.
    std::vector<NodeState*> by_age(order_);
    std::sort(by_age.begin(), by_age.end(),
              [](NodeState* a, NodeState* b) { return a->node->sequence < b->node->sequence; });
    for (NodeState* s : by_age) {
      for (const Edge& edge : s->node->next) {
        if (edge && states_.at(edge.node.get()).awaited) s->awaited = s->runs = true;
      }
    }
  }

  Grads run_node(NodeState& state) {
    Node& node = *state.node;
    Grads grads = std::move(state.grads);
    grads.resize(node.outputs.size());
    node.run_hooks(grads);
    for (const Node::Retained& r : node.retained) {
      std::shared_ptr<TensorImpl> tensor = r.tensor.lock();
      if (!tensor || !grads[r.output].defined()) continue;
      const Tensor x(std::move(tensor));
      Tensor g = grads[r.output];
      detail::unscale(g);
      Tensor& kept = meta(x).grad;
      kept = kept.defined() ? kept.add(g) : own_gradient(std::move(g), x);
    }
    for (Capture& c : captures_) {
      if (c.node != &node) continue;
      c.grad = grads[c.output];
      if (!is_passed_on(state.scale.scale)) continue;
      c.scale = state.scale.scale->shared_from_this();
      c.partly_assigned = state.scale.partly_assigned;
    }
    if (!state.runs) return {};
    const bool nothing = std::none_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); });
    if (nothing) {
      // Hooks after accumulation wait for the leaf, whether or not a gradient arrives.
      if (const auto* leaf = dynamic_cast<AccumulateGrad*>(&node)) leaf->run_post_accumulate_hooks();
      return {};
    }
    show_gradients(&Observer::before_backward, node, grads);
    Grads sent = node.apply(std::move(grads));
    show_gradients(&Observer::after_backward, node, sent);
    return sent;
  }

  /// The scale of the gradients that a node sends.
  static ScaleOfSum scale_after(const NodeState& state) {
    const LossScale *own = state.node->loss_scale.get(), *scale = state.scale.scale;
    if (!own) return state.scale;
    const bool twice = scale && scale->kind == LossScale::Kind::scaled;
    return {twice ? LossScale::mixed().get() : own, state.scale.partly_assigned};
  }

  void accumulate(NodeState& state, uint32_t output, Tensor grad, const ScaleOfSum& scale) {
    Node& node = *state.node;
    const OutputMeta& m = node.outputs[output];
    TANDEM_CHECK(grad.sizes() == IntArrayRef(m.sizes), ShapeError,
                 "backward returned a gradient of {} for an input of {}; it must have the input's sizes",
                 to_string(grad.sizes()), to_string(m.sizes));
    if (grad.device() != m.device) {
      // A 0-dimensional CPU tensor can be mixed with CUDA tensors; its gradient then arrives from the CUDA device.
      TANDEM_CHECK(grad.dim() == 0, DeviceError,
                   "backward returned a gradient on {} for an input on {}; move it with .to(device)",
                   grad.device().str(), m.device.str());
      grad = grad.to(m.device);
    }
    if (grad.dtype() != m.dtype) grad = grad.to(m.dtype);
    if (state.grads.empty()) {
      state.grads.resize(node.outputs.size());
      state.scale = scale;
    } else if (state.scale != scale) {
      bring_to_one_scale(state, grad, scale);
    }
    Tensor& slot = state.grads[output];
    if (!slot.defined()) {
      slot = std::move(grad);
    } else if (!create_ && is_solely_owned(slot)) {
      backend(slot).binary(slot, kernels::Binary::add, slot, grad, 1.0);
    } else {
      slot = slot.add(grad);
    }
  }

  /// Brings the gradients of a node and a new one, whose scales differ, to one scale. That needs 32 bits.
  static void bring_to_one_scale(NodeState& state, Tensor& grad, const ScaleOfSum& scale) {
    ScaleOfSum sum = scale_of_sum(state.scale, scale);
    bool rounds = false;
    const auto bring = [&](Tensor& g, const ScaleOfSum& from) {
      if (!g.defined() || !can_rescale(from, sum.scale)) return;
      rounds |= is_reduced_floating_point(g.dtype());
      g = rescaled(g, from.scale, sum.scale);
    };
    for (Tensor& g : state.grads) bring(g, state.scale);
    bring(grad, scale);
    if (rounds) sum.scale = LossScale::mixed().get();
    state.scale = sum;
  }

  bool retain_, create_;
  bool only_captures_ = false;
  std::unordered_map<Node*, NodeState> states_;
  std::vector<NodeState*> order_;  // in discovery order; unordered_map keeps addresses stable
  std::vector<NodeState*> roots_;
  std::vector<Capture> captures_;
  std::vector<LossScalePtr> kept_;
};

/// Sets the thread's factors for one pass. A nested pass, run by a hook, has its own factors.
class PassFactors {
 public:
  explicit PassFactors(const BackwardScaler::Factors* factors)
      : outer_(std::exchange(detail::pass_factors(), factors)) {}
  ~PassFactors() { detail::pass_factors() = outer_; }
  PassFactors(const PassFactors&) = delete;
  PassFactors& operator=(const PassFactors&) = delete;

 private:
  const BackwardScaler::Factors* outer_;
};

/// Counts nested passes on this thread: each uses some kilobytes of stack. The outermost holds the callbacks.
class NestedPass {
 public:
  NestedPass() {
    TANDEM_CHECK(depth() < kMaxNestedPasses, AutogradError,
                 "{} backward passes are already nested on this thread, each called by a hook or backward function of "
                 "the previous one; end the recursion, or call backward after the pass",
                 depth());
    if (depth()++ == 0) outermost() = this;
  }
  ~NestedPass() {
    if (--depth() == 0) outermost() = nullptr;
  }
  NestedPass(const NestedPass&) = delete;
  NestedPass& operator=(const NestedPass&) = delete;

  /// Whether the calling thread runs a pass in another one.
  static bool is_nested() { return depth() > 1; }
  /// The outermost pass of the calling thread, or null.
  static NestedPass*& outermost() {
    static thread_local NestedPass* pass = nullptr;
    return pass;
  }
  void add(std::function<void()> callback) { callbacks_.push_back(std::move(callback)); }
  /// To be called at the end of a pass that has succeeded.
  void run_callbacks() {
    // By index: a callback may add callbacks.
    for (size_t i = 0; i < callbacks_.size(); ++i) std::exchange(callbacks_[i], nullptr)();
    callbacks_.clear();
  }

 private:
  static int& depth() {
    static thread_local int depth = 0;
    return depth;
  }

  std::vector<std::function<void()>> callbacks_;
};

/// `given` is the scale of given gradients, unless they have one.
void add_roots(Pass& pass, const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads,
               ScaleOfSum given = detail::running_loss_scale()) {
  TANDEM_CHECK(!tensors.empty(), AutogradError, "no tensors were given; pass at least one");
  TANDEM_CHECK(grads.empty() || grads.size() == tensors.size(), AutogradError,
               "{} tensors but {} gradients; give one for each, or none", tensors.size(), grads.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& y = tensors[i];
    TANDEM_CHECK(y.defined() && y.requires_grad(), AutogradError,
                 "tensor {} {} does not require grad and has no history; was it computed under NoGradGuard, or does no "
                 "parameter require grad?",
                 i, y.defined() ? to_string(y.sizes()) : "(undefined)");
    Tensor g = grads.empty() ? Tensor() : grads[i];
    ScaleOfSum scale = given;
    if (!g.defined()) {
      TANDEM_CHECK(y.numel() == 1, AutogradError,
                   "tensor {} has sizes {}: the gradient can be omitted only for a tensor of one element; pass "
                   "`gradient`, or reduce it with sum() or mean() first",
                   i, to_string(y.sizes()));
      g = ones(y.sizes(), y.options());
      // The loss of a pass that a hook or a backward function runs may be computed from the gradients that it got.
      scale = {NestedPass::is_nested() ? nullptr : LossScale::plain().get()};
    } else {
      TANDEM_CHECK(g.sizes() == y.sizes(), ShapeError,
                   "the gradient is {}, but tensor {} is {}; it must have the tensor's sizes", to_string(g.sizes()), i,
                   to_string(y.sizes()));
      TANDEM_CHECK(g.device() == y.device() || g.dim() == 0, DeviceError,
                   "the gradient is on {}, but tensor {} is on {}; move it with .to(device)", g.device().str(), i,
                   y.device().str());
      if (const ScaleOfSum own = pass.scale_of_given(g); own.scale) scale = own;
    }
    pass.add_root(gradient_edge(y), std::move(g), scale);
  }
}

}  // namespace

void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grad_tensors,
              std::optional<bool> retain_graph, bool create_graph) {
  const UserCodeScope op("backward");
  NestedPass nested;
  // With nesting 0, a mode switched autocast on for the whole thread: there is no region to end.
  const ThreadState& state = thread_state();
  const bool enabled = std::any_of(std::begin(state.autocast), std::end(state.autocast),
                                   [](const AutocastState& a) { return a.enabled; });
  if (enabled && state.autocast_nesting > 0) {
    warn_once(
        "called inside an autocast region, which does not affect it: it uses the dtypes that the forward "
        "pass chose; end the region first, so that no other op in it is cast by accident");
  }
  const std::shared_ptr<BackwardScaler> scaler = detail::backward_scaler();
  BackwardScaler::Factors factors;
  std::vector<Tensor> scales;
  if (scaler && !create_graph && grad_tensors.empty() && tensors.size() == 1 && tensors[0].defined() &&
      tensors[0].numel() == 1) {
    factors = scaler->begin(tensors[0]);
    if (factors.scale.defined()) scales.push_back(factors.scale.view(tensors[0].sizes()));
  }
  {
    const PassFactors of_this_pass(factors.scale.defined() ? &factors : nullptr);
    Pass pass(retain_graph.value_or(create_graph), create_graph);
    if (scales.empty()) {
      add_roots(pass, tensors, grad_tensors);
    } else {
      add_roots(pass, tensors, scales, {LossScale::plain().get()});  // leaves get them unscaled
    }
    pass.run();
    nested.run_callbacks();
  }
  if (scaler) scaler->end();
}

bool is_running_backward() { return NestedPass::outermost() != nullptr; }

void queue_callback(std::function<void()> callback) {
  const OpScope op("queue_callback");
  TANDEM_CHECK(NestedPass::outermost(), AutogradError,
               "no backward pass is running; call it from a hook or a backward function");
  TANDEM_CHECK(callback, AutogradError, "the function is empty");
  NestedPass::outermost()->add(std::move(callback));
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, std::optional<bool> retain_graph, bool create_graph,
                         bool allow_unused) {
  const UserCodeScope op("grad");
  NestedPass nested;
  const PassFactors unscaled(nullptr);
  Pass pass(retain_graph.value_or(create_graph), create_graph);
  add_roots(pass, outputs, grad_outputs);
  TANDEM_CHECK(!inputs.empty(), AutogradError, "no inputs were given; pass those whose gradients you want");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    TANDEM_CHECK(x.defined() && x.requires_grad(), AutogradError,
                 "input {} {} does not require grad; call requires_grad_() before the forward pass", i,
                 x.defined() ? to_string(x.sizes()) : "(undefined)");
    pass.add_capture(gradient_edge(x));
  }
  std::vector<Capture> captures = pass.run();
  nested.run_callbacks();
  std::vector<Tensor> results;
  for (size_t i = 0; i < captures.size(); ++i) {
    Tensor& result = results.emplace_back(std::move(captures[i].grad));
    TANDEM_CHECK(result.defined() || allow_unused, AutogradError,
                 "the outputs do not depend on input {} {}; pass allow_unused = true to get an undefined tensor", i,
                 to_string(inputs[i].sizes()));
    // Gradients of 16-bit leaves with masters are f32 here.
    if (result.defined() && result.dtype() != inputs[i].dtype()) result = result.to(inputs[i].dtype());
    if (result.defined() && captures[i].scale) {
      note_scale(result, std::move(captures[i].scale), captures[i].partly_assigned);
    }
  }
  return results;
}

}  // namespace tandem::autograd
