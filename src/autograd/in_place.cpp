// In-place ops: a change of a tensor's memory together with its history, views included.
#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/apply.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace autograd {
namespace {

/// Geometry of a view, relative to a base whose first element lies at `base_offset`.
struct ViewGeometry {
  Dims sizes, strides;
  int64_t offset;
};

/// A tensor with the memory layout of the base, to receive its gradient: views of it line up with views of the base.
Tensor like_base(const Tensor& g, const Dims& base_strides) {
  Tensor copy = empty_strided(g.sizes(), base_strides, g.options());
  copy.copy_(g);
  return copy;
}

/// After `view` (a part of `base`) was overwritten by the op of `inner`: the base's gradient outside the view goes on
/// to the base's old history, inside it to the op's first input.
std::shared_ptr<Node> make_copy_slices(const Tensor& base, const Tensor& view, std::shared_ptr<Node> inner) {
  const ViewGeometry where{view.impl().sizes, view.impl().strides, view.storage_offset() - base.storage_offset()};
  const Dims base_strides = base.impl().strides;
  auto node = std::make_shared<FunctionNode>("CopySlices", [where, base_strides, inner](const Grads& g) -> Grads {
    if (!g[0].defined()) return Grads(inner->next.size());
    Tensor gradient = like_base(g[0], base_strides);
    Grads result = inner->apply({gradient.as_strided(where.sizes, where.strides, where.offset).clone()});
    Tensor inside = result[0].defined() ? result[0] : zeros(where.sizes, gradient.options());
    result[0] = gradient.as_strided_scatter(inside, where.sizes, where.strides, where.offset);
    return result;
  });
  node->next = inner->next;
  // inner's first input was the view before the change; its gradient now flows into the whole base.
  node->next[0] = gradient_edge(base);
  node->outputs = {{base.dtype(), base.device(), base.impl().sizes}};
  return node;
}

}  // namespace

/// The history that a view takes from its base after the base's was rewritten.
std::shared_ptr<Node> make_view_node(const Tensor& base, const Tensor& view) {
  const ViewGeometry where{view.impl().sizes, view.impl().strides, view.storage_offset() - base.storage_offset()};
  const Dims base_sizes = base.impl().sizes, base_strides = base.impl().strides;
  auto node = std::make_shared<FunctionNode>("AsStrided", [=](const Grads& g) -> Grads {
    if (!g[0].defined()) return {Tensor()};
    Tensor whole = like_base(zeros(base_sizes, g[0].options()), base_strides);
    return {whole.as_strided_scatter(g[0], where.sizes, where.strides, where.offset)};
  });
  node->next = {gradient_edge(base)};
  node->outputs = {{view.dtype(), view.device(), view.impl().sizes}};
  return node;
}

}  // namespace autograd

namespace {

void check_writable(const char* name, const Tensor& self) {
  const Dims& sizes = self.impl().sizes;
  const Dims& strides = self.impl().strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    TANDEM_CHECK(strides[d] != 0 || sizes[d] <= 1, ShapeError,
                 "{}: several elements of the {} output share memory (dimension {} is expanded); clone() it first",
                 name, to_string(self.sizes()), d);
  }
  if (!GradMode::is_enabled() || !self.requires_grad()) return;
  TANDEM_CHECK(!self.is_leaf(), AutogradError,
               "{}: a leaf that requires grad ({} {}) cannot be changed in place; wrap the change in a NoGradGuard",
               name, to_string(self.sizes()), tandem::name(self.dtype()));
  if (self.impl().is_view) {
    const Tensor& base = autograd::meta(self).view->base;
    TANDEM_CHECK(base.grad_fn() || !base.requires_grad(), AutogradError,
                 "{}: a view of a leaf that requires grad cannot be changed in place; wrap the change in a NoGradGuard",
                 name);
  }
}

}  // namespace

const Tensor& apply_in_place(const char* name, const Tensor& self, ArrayRef<Tensor> others,
                             const std::function<void(const Tensor&)>& direct,
                             const std::function<Tensor(const Tensor&)>& out_of_place) {
  TANDEM_CHECK(self.defined(), StateError, "{}: self is an undefined tensor", name);
  check_writable(name, self);
  const bool recording = is_recording({&self, 1}) || is_recording(others);
  amp::AutocastOff bypass;
  if (!recording) {
    CurrentOp running(name);
    NoGradGuard no_grad;
    direct(self);
    self.impl().storage->bump_version();
    return self;
  }
  // A snapshot stands for the old value: the op may save it, and it keeps the old history.
  Tensor snapshot;
  {
    NoGradGuard no_grad;
    snapshot = self.clone();
  }
  if (self.requires_grad()) {
    autograd::Edge edge = autograd::gradient_edge(self);
    autograd::set_history(snapshot, edge.node, edge.input);
  }
  Tensor result = out_of_place(snapshot);
  TANDEM_CHECK(result.sizes() == self.sizes(), ShapeError,
               "{}: the result is {}, which does not fit into self of {}; use the op without the underscore", name,
               to_string(result.sizes()), to_string(self.sizes()));
  if (result.dtype() != self.dtype()) result = result.to(self.dtype());
  {
    NoGradGuard no_grad;
    backend(self).copy(self, result);
  }
  self.impl().storage->bump_version();
  if (!result.requires_grad()) return self;
  std::shared_ptr<autograd::Node> node = result.grad_fn();
  if (self.impl().is_view) {
    autograd::AutogradMeta& m = autograd::meta(self);
    const Tensor& base = m.view->base;
    autograd::set_history(base, autograd::make_copy_slices(base, self, node), 0);
    ++autograd::meta(base).rebases;
  } else {
    autograd::set_history(self, node, autograd::meta(result).output);
    ++autograd::meta(self).rebases;
  }
  return self;
}

const Tensor& apply_out(const char* name, const Tensor& out, const std::function<Tensor()>& op,
                        ArrayRef<Tensor> operands) {
  TANDEM_CHECK(out.defined(), StateError, "{}: out is an undefined tensor", name);
  TANDEM_CHECK(!is_recording({&out, 1}) && !is_recording(operands), AutogradError,
               "{}: out= cannot be recorded for backward; wrap it in a NoGradGuard, or use the returned tensor", name);
  amp::AutocastOff bypass;
  Tensor result = op();
  TANDEM_CHECK(result.sizes() == out.sizes(), ShapeError, "{}: the result is {}, but out is {}; give out those sizes",
               name, to_string(result.sizes()), to_string(out.sizes()));
  TANDEM_CHECK(promote_types(result.dtype(), out.dtype()) == out.dtype() ||
                   (result.is_floating_point() && out.is_floating_point()),
               DTypeError, "{}: the result is {}, which cannot be written into out of {}", name,
               tandem::name(result.dtype()), tandem::name(out.dtype()));
  backend(out).copy(out, result);
  out.impl().storage->bump_version();
  return out;
}

}  // namespace tandem
