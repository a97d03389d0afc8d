#include "tandem/autograd/meta.h"

#include <mutex>
#include <utility>

#include "src/autograd/leaf_observer.h"
#include "tandem/autograd/accumulate_grad.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/backend.h"
#include "tandem/tensor/factories.h"

namespace tandem::autograd {

AutogradMeta& meta(const Tensor& x) {
  TensorImpl& impl = x.impl();
  if (!impl.autograd) impl.autograd = std::make_unique<AutogradMeta>();
  return static_cast<AutogradMeta&>(*impl.autograd);
}

namespace {

/// Guards the first use of a leaf: threads that share weights may record it at the same time and must create only one
/// accumulator.
std::mutex& leaf_mutex(const Tensor& x) {
  static std::mutex mutexes[16];
  return mutexes[reinterpret_cast<uintptr_t>(&x.impl()) / 64 % 16];
}

}  // namespace

Edge gradient_edge(const Tensor& x) {
  if (!x.defined() || !x.requires_grad()) return {};
  if (x.impl().has_history || x.impl().is_view) {
    if (auto node = x.grad_fn()) return {std::move(node), meta(x).output};
  }
  LeafObserver::tell(x);
  std::lock_guard lock(leaf_mutex(x));
  AutogradMeta& m = meta(x);
  auto accumulator = m.accumulator.lock();
  if (!accumulator) {
    accumulator = std::make_shared<AccumulateGrad>(x);
    m.accumulator = accumulator;
  }
  return {std::move(accumulator), 0};
}

LeafObserver::LeafObserver() : outer_(std::exchange(innermost, this)) {}
LeafObserver::~LeafObserver() { innermost = outer_; }

void set_history(const Tensor& x, std::shared_ptr<Node> node, uint32_t output) {
  AutogradMeta& m = meta(x);
  if (m.retains_grad) {
    // retain_grad() applies to the new history.
    if (m.grad_fn) std::erase_if(m.grad_fn->retained, [&](const auto& r) { return r.tensor.lock() == x.impl_ptr(); });
    node->retained.push_back({output, x.impl_ptr()});
  }
  m.grad_fn = std::move(node);
  m.output = output;
  x.impl().requires_grad = true;
  x.impl().has_history = true;
}

DType grad_dtype(const Tensor& leaf) {
  const AutogradMeta* m = meta_or_null(leaf);
  return m && m->accumulates_in_f32 && is_reduced_floating_point(leaf.dtype()) ? kFloat : leaf.dtype();
}

void accumulate_in_f32(const Tensor& leaf, bool f32) {
  if (!f32 && !meta_or_null(leaf)) return;
  AutogradMeta& m = meta(leaf);
  if (m.accumulates_in_f32 == f32) return;
  m.accumulates_in_f32 = f32;
  m.accumulator.reset();  // takes gradients of the other dtype
}

void track_view(const Tensor& y, const Tensor& x) {
  if (y.impl().is_inference) return;
  const AutogradMeta* m = meta_or_null(x);
  auto view = std::make_unique<ViewInfo>();
  view->base = m && m->view ? m->view->base : x;  // a view of a view has the same base
  const AutogradMeta* base = meta_or_null(view->base);
  view->rebases = base ? base->rebases : 0;
  meta(y).view = std::move(view);
  y.impl().is_view = true;
}

Tensor alias(const Tensor& x) {
  const TensorImpl& from = x.impl();
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = from.storage;
  impl->offset = from.offset;
  impl->sizes = from.sizes;
  impl->strides = from.strides;
  impl->numel = from.numel;
  impl->dtype = from.dtype;
  impl->contiguous = from.contiguous;
  impl->is_inference = from.is_inference;
  return Tensor(std::move(impl));
}

bool is_solely_owned(const Tensor& x) {
  return x.impl_ptr().use_count() == 1 && x.impl().storage.use_count() == 1 && !is_expanded(x.sizes(), x.strides());
}

Tensor copy_strided(const Tensor& x, const Dims& strides) {
  Tensor y = empty_strided(x.sizes(), strides, x.options());
  backend(y).copy(y, x);
  if (!GradMode::is_enabled()) return y;
  if (Edge edge = gradient_edge(x)) {
    auto node = std::make_shared<FunctionNode>("clone", std::vector<Edge>{std::move(edge)},
                                               [](const Grads& g) -> Grads { return g; });
    node->outputs.emplace_back(y);
    set_history(y, std::move(node), 0);
  }
  return y;
}

Tensor own_gradient(Tensor g, const Tensor& x) {
  const Dims strides = dense_strides(x.sizes(), x.strides());
  const bool fits = (g.is_contiguous() && x.is_contiguous()) || g.strides() == IntArrayRef(strides);
  // Without recording, a gradient that has a history (a seed may have one) is copied to drop that history.
  if (fits && is_solely_owned(g) && (GradMode::is_enabled() || !g.requires_grad())) return g;
  return copy_strided(g, strides);
}

}  // namespace tandem::autograd
