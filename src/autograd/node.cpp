#include "tandem/autograd/node.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>

#include "tandem/autograd/backward_scaler.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {

namespace {

std::atomic<uint64_t> next_sequence{0};

}  // namespace

void NodePtr::free_last(std::shared_ptr<Node> node) noexcept {
  if (node->next.empty()) return;                       // the node of a leaf has no next nodes
#if !defined(__SANITIZE_THREAD__)                       // ThreadSanitizer does not support fences
  std::atomic_thread_fence(std::memory_order_acquire);  // use_count() is relaxed: acquire the writes of former owners
#endif
  // Nodes for the outermost call on this thread to free, linked by next_to_free_.
  static thread_local std::shared_ptr<Node>* waiting = nullptr;
  if (waiting) {
    node->next_to_free_ = std::move(*waiting);
    *waiting = std::move(node);
    return;
  }
  std::shared_ptr<Node> local = std::move(node);
  waiting = &local;
  while (local) {
    std::shared_ptr<Node> last = std::move(local);
    local = std::move(last->next_to_free_);
    last.reset();  // nodes that only it owned join the list
  }
  waiting = nullptr;
}

Node::Node(const char* op, std::vector<Edge> next)
    : op(op), sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)), next(std::move(next)) {}

Node::~Node() = default;

std::string Node::name() const {
  if (std::isupper(static_cast<unsigned char>(*op))) return op;  // the type of a user's function, or AccumulateGrad
  std::string text;
  bool starts_word = true;
  for (const char* c = op; *c; ++c) {
    if (*c != '_') text += static_cast<char>(starts_word ? std::toupper(static_cast<unsigned char>(*c)) : *c);
    starts_word = *c == '_';
  }
  return text + "Backward0";
}

void Node::run_hooks(Grads& grads) {
  const BackwardScaler::Factors* factors = detail::pass_factors();
  if (!factors || hooks.empty()) return hooks.run(outputs, grads);
  Grads shown(grads.size());
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].defined()) shown[i] = detail::times(grads[i], factors->inverse);
  }
  const Grads before = shown;
  hooks.run(outputs, shown);
  for (size_t i = 0; i < grads.size(); ++i) {
    // In f16 a small gradient may become 0 without the scale, so only gradients that a hook replaced or wrote are
    // scaled back.
    const bool kept = shown[i].is_same(before[i]) && (!shown[i].defined() || shown[i]._version() == 0);
    if (!kept) grads[i] = detail::times(shown[i], factors->scale);
  }
}

bool OutputMeta::fits(const Tensor& gradient) const {
  return gradient.sizes() == IntArrayRef(sizes) && gradient.dtype() == dtype && gradient.device() == device;
}

std::string OutputMeta::str() const {
  return fmt::format("{} {} on {}", to_string(sizes), tandem::name(dtype), device.str());
}

// ---- HookList

void HookList::add(uint32_t output, unsigned handle, TensorHook call) {
  hooks_.push_back(std::make_shared<Hook>(Hook{output, handle, std::move(call)}));
}

void HookList::remove(unsigned handle) {
  std::erase_if(hooks_, [&](const auto& hook) {
    if (hook->handle != handle) return false;
    hook->removed = true;
    return true;
  });
}

void HookList::run(const std::vector<OutputMeta>& outputs, Grads& grads) const {
  if (hooks_.empty()) return;
  const auto now = hooks_;  // hooks may change the list; the copy also keeps alive a hook that removes itself
  for (const auto& hook : now) {
    Tensor& g = grads[hook->output];
    if (hook->removed || !g.defined()) continue;
    Tensor replaced = hook->call(g);
    if (!replaced.defined()) continue;
    const OutputMeta& wanted = outputs[hook->output];
    TANDEM_CHECK(wanted.fits(replaced), AutogradError,
                 "a hook on output {} returned {}, but the gradient is {}; return a tensor with the same sizes, dtype "
                 "and device, or an undefined tensor",
                 hook->output, OutputMeta(replaced).str(), wanted.str());
    g = std::move(replaced);
  }
}

// ---- SavedTensor

namespace {

SaveObserver*& observer_of_thread() {
  static thread_local SaveObserver* observer = nullptr;
  return observer;
}

void show_to_observer(SavedTensor& saved) {
  if (SaveObserver* observer = observer_of_thread()) [[unlikely]]
    observer->saved(saved);
}

}  // namespace

SaveObserver::SaveObserver() : outer_(std::exchange(observer_of_thread(), this)) {}
SaveObserver::~SaveObserver() { observer_of_thread() = outer_; }

SavedTensor::SavedTensor(const Tensor& x) : data_(x), version_(x.defined() ? x._version() : 0) {
  if (x.defined() && !x.requires_grad()) show_to_observer(*this);
}

SavedTensor::SavedTensor(const Tensor& data, Edge edge, DType dtype)
    : data_(data), edge_(std::move(edge)), edge_dtype_(dtype), version_(data._version()) {
  show_to_observer(*this);
}

SavedTensor SavedTensor::of(const Tensor& x, const std::vector<Tensor>& outputs) {
  if (!x.defined()) return {};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_same(x)) return of_output(x, static_cast<uint32_t>(i));
  }
  const bool is_leaf_with_grad = x.requires_grad() && !x.impl().has_history && !x.impl().is_view;
  if (is_leaf_with_grad) return SavedTensor(x);
  return {alias(x), gradient_edge(x), x.dtype()};
}

void SavedTensor::set_source(std::shared_ptr<SavedSource> source) {
  data_ = Tensor();
  source_ = std::move(source);
}

SavedTensor SavedTensor::of_output(const Tensor& y, uint32_t output) {
  SavedTensor s(alias(y));
  s.output_ = static_cast<int>(output);
  return s;
}

SavedTensor SavedTensor::without_history() const {
  SavedTensor s(*this);
  s.edge_ = Edge();
  s.output_ = -1;
  return s;
}

Tensor SavedTensor::data(size_t number) const {
  if (source_) return source_->get();
  if (!data_.defined()) return data_;
  TANDEM_CHECK(data_._version() == version_, AutogradError,
               "a tensor needed for backward was changed in place: saved tensor {} ({} {}) is at version {}, "
               "expected {}; clone it before the change, or change it after backward",
               number, to_string(data_.sizes()), name(data_.dtype()), data_._version(), version_);
  return data_;
}

Tensor SavedTensor::unpack(size_t number, const std::shared_ptr<Node>& owner) const {
  Tensor data = this->data(number);
  if (!data.defined() || !GradMode::is_enabled()) return data;
  if (output_ >= 0) {
    Tensor y = alias(data);
    set_history(y, owner, static_cast<uint32_t>(output_));
    return y;
  }
  if (edge_) {
    Tensor x = alias(data);
    auto node = std::make_shared<FunctionNode>(
        "to", std::vector<Edge>{edge_},
        [dtype = edge_dtype_](const Grads& g) -> Grads { return {g[0].defined() ? g[0].to(dtype) : g[0]}; });
    node->outputs.emplace_back(data);
    set_history(x, std::move(node), 0);
    return x;
  }
  return data;
}

// ---- Backward

Tensor Backward::grad_or_zeros(size_t i) const {
  if (grads_[i].defined()) return grads_[i];
  const OutputMeta& m = node_.outputs[i];
  return zeros(m.sizes, TensorOptions(m.dtype).device(m.device));
}

Tensor Backward::saved(size_t i) const {
  TANDEM_CHECK(i < node_.saved.size(), AutogradError,
               "backward requests saved tensor {}, but save() was given {}; count from 0", i, node_.saved.size());
  return node_.saved[i].unpack(i, std::const_pointer_cast<Node>(node_.shared_from_this()));
}

void Backward::check_input(size_t i) const {
  TANDEM_CHECK(i < node_.next.size(), AutogradError, "backward requests input {}, but the op has {}; count from 0", i,
               node_.next.size());
}

bool Backward::needs(size_t i) const {
  check_input(i);
  return static_cast<bool>(node_.next[i]);
}

DType Backward::wanted(size_t i) const {
  check_input(i);
  return node_.rounding.empty() ? node_.wanted[i] : node_.rounding[i];
}

// ---- OpNode

Grads OpNode::apply(Grads grads) {
  TANDEM_CHECK(!released, AutogradError,
               "backward through a graph that has been freed; pass retain_graph = true to every earlier backward");
  Grads result = backward(Backward(*this, grads));
  for (const SavedTensor& s : saved) s.used();
  TANDEM_CHECK(result.size() == next.size(), AutogradError,
               "backward returned {} gradients for {} inputs; return one per input, undefined if there is none",
               result.size(), next.size());
  for (size_t i = 0; i < result.size(); ++i) {
    Tensor& g = result[i];
    if (!g.defined() || !next[i]) continue;
    if (!rounding.empty() && g.dtype() != rounding[i]) g = g.to(rounding[i]);
    if (g.dtype() != wanted[i]) g = g.to(wanted[i]);
  }
  return result;
}

void OpNode::release() {
  released = released || std::any_of(saved.begin(), saved.end(), [](const SavedTensor& s) { return s.defined(); });
  saved.clear();
}

}  // namespace tandem::autograd
