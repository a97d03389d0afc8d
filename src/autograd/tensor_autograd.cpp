// Tensor's autograd methods.
#include <atomic>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/node.h"
#include "tandem/base/check.h"

namespace tandem {

using autograd::AutogradMeta;
using autograd::meta;
using autograd::meta_or_null;

namespace {

/// Whether the base's history was rewritten after the view recorded its own.
bool is_stale_view(const Tensor& x) {
  if (!x.impl().is_view) return false;
  const autograd::ViewInfo& view = *meta(x).view;
  const AutogradMeta* base = meta_or_null(view.base);
  return base && base->rebases != view.rebases;
}

}  // namespace

bool Tensor::base_requires_grad() const { return is_stale_view(*this) && meta(*this).view->base.requires_grad(); }

bool Tensor::is_leaf() const {
  checked("is_leaf");
  return grad_fn() == nullptr;
}

std::shared_ptr<autograd::Node> Tensor::grad_fn() const {
  checked("grad_fn");
  AutogradMeta* m = meta_or_null(*this);
  if (!m) return nullptr;
  if (is_stale_view(*this) && m->view->base.requires_grad()) {
    if (m->view->has_own_history) [[unlikely]] {
      const UserCodeScope op(m->grad_fn->op);
      TANDEM_THROW(
          AutogradError,
          "output {} of this op shares the memory of an input that has since been changed in place; clone() the output",
          to_string(sizes()));
    }
    autograd::set_history(*this, autograd::make_view_node(m->view->base, *this), 0);
    m->view->rebases = meta(m->view->base).rebases;
  }
  return m->grad_fn;
}

const Tensor& Tensor::requires_grad_(bool requires_grad) const {
  const OpScope op("requires_grad_");
  TensorImpl& impl = checked("requires_grad_");
  TANDEM_CHECK(
      !requires_grad || is_differentiable(impl.dtype), DTypeError,
      "only f16, bf16, f32 and f64 tensors can require gradients, but this one is {} {}; convert it with .to()",
      to_string(sizes()), tandem::name(impl.dtype));
  TANDEM_CHECK(requires_grad || is_leaf(), AutogradError,
               "requires_grad cannot be turned off for the result of an op; use detach()");
  TANDEM_CHECK(!requires_grad || !impl.is_inference, AutogradError,
               "this tensor was created under InferenceMode; clone() it outside first");
  impl.requires_grad = requires_grad;
  return *this;
}

const Tensor& Tensor::grad() const {
  static const Tensor undefined;
  checked("grad");
  const AutogradMeta* m = meta_or_null(*this);
  return m ? m->grad : undefined;
}

Tensor& Tensor::mutable_grad() const {
  checked("mutable_grad");
  return meta(*this).grad;
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph) const {
  std::vector<Tensor> gradients;
  if (gradient.defined()) gradients.push_back(gradient);
  autograd::backward({*this}, gradients, retain_graph, create_graph);
}

unsigned Tensor::register_hook(autograd::TensorHook hook) const {
  const OpScope op("register_hook");
  checked("register_hook");
  TANDEM_CHECK(requires_grad(), AutogradError,
               "a {} tensor that does not require grad gets no gradient; call requires_grad_() first",
               to_string(sizes()));
  TANDEM_CHECK(hook, AutogradError, "the function is empty; pass one that takes the gradient");
  // Handles are unique in the process: after in-place ops a tensor's hooks are on several nodes, which also hold other
  // tensors' hooks.
  static std::atomic<unsigned> next_handle{0};
  const unsigned handle = next_handle.fetch_add(1, std::memory_order_relaxed);
  const auto node = grad_fn();
  AutogradMeta& m = meta(*this);
  if (!m.hooks) m.hooks = std::make_unique<autograd::TensorHooks>();
  if (node) {
    node->hooks.add(m.output, handle, std::move(hook));
    std::erase_if(m.hooks->nodes, [&](const auto& n) { return n.expired() || n.lock() == node; });
    m.hooks->nodes.push_back(node);
  } else {
    m.hooks->of_leaf.add(0, handle, std::move(hook));
  }
  return handle;
}

void Tensor::remove_hook(unsigned handle) const {
  checked("remove_hook");
  const AutogradMeta* m = meta_or_null(*this);
  if (!m || !m->hooks) return;
  m->hooks->of_leaf.remove(handle);
  for (const auto& hooked : m->hooks->nodes) {
    if (auto node = hooked.lock()) node->hooks.remove(handle);
  }
}

void Tensor::retain_grad() const {
  const OpScope op("retain_grad");
  checked("retain_grad");
  TANDEM_CHECK(requires_grad(), AutogradError,
               "a {} tensor that does not require grad gets no gradient; call requires_grad_() first",
               to_string(sizes()));
  auto node = grad_fn();
  AutogradMeta& m = meta(*this);
  if (!node || m.retains_grad) return;
  m.retains_grad = true;
  node->retained.push_back({m.output, impl_});
}

bool Tensor::retains_grad() const {
  checked("retains_grad");
  const AutogradMeta* m = meta_or_null(*this);
  return m && m->retains_grad;
}

Tensor Tensor::detach() const {
  checked("detach");
  return autograd::alias(*this);
}

const Tensor& Tensor::detach_() const {
  const OpScope op("detach_");
  TensorImpl& impl = checked("detach_");
  AutogradMeta* m = meta_or_null(*this);
  if (impl.is_view) {
    // Many ops end in a view of a tensor of their own, such as Linear of rank 3 and the states of an LSTM. PyTorch's do
    // not; if nothing else holds that tensor, the program cannot tell either.
    TANDEM_CHECK(m->view->base.impl_ptr().use_count() == 1, AutogradError,
                 "a view of another tensor cannot be detached in place; use detach()");
    m->view.reset();
    impl.is_view = false;
  }
  if (m) {
    m->grad_fn = nullptr;
    m->output = 0;
  }
  impl.requires_grad = false;
  impl.has_history = false;
  return *this;
}

void Tensor::set_data(const Tensor& other) const {
  const OpScope op("set_data");
  TensorImpl& impl = checked("set_data");
  const TensorImpl& from = other.checked("set_data");
  TANDEM_CHECK(!impl.requires_grad || is_differentiable(from.dtype), DTypeError,
               "the tensor requires grad and cannot hold {}; give floating data other than float8, or call "
               "requires_grad_(false) first",
               tandem::name(from.dtype));
  impl.storage = from.storage;
  impl.offset = from.offset;
  impl.sizes = from.sizes;
  impl.strides = from.strides;
  impl.dtype = from.dtype;
  impl.refresh();
  impl.shadow.reset();
  ++impl.generation;
  // The accumulator of the old dtype and shape no longer fits.
  if (AutogradMeta* m = meta_or_null(*this)) m->accumulator.reset();
}

}  // namespace tandem
