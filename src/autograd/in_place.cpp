// In-place ops: change a tensor's memory together with its history, including that of views.
#include <algorithm>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/apply.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem {

namespace autograd {
namespace {

/// The position of a view in its base. Gradients of the base are given the base's strides, so that the same position
/// applies.
struct Part {
  Dims base_strides, sizes, strides;
  int64_t offset;

  Part(const Tensor& base, const Tensor& view)
      : base_strides(base.impl().strides),
        sizes(view.impl().sizes),
        strides(view.impl().strides),
        offset(view.storage_offset() - base.storage_offset()) {}
  Tensor whole(const Tensor& g) const {
    return g.strides() == IntArrayRef(base_strides) ? g : copy_strided(g, base_strides);
  }
  Tensor of(const Tensor& whole) const { return whole.as_strided(sizes, strides, whole.storage_offset() + offset); }
  Tensor put(const Tensor& whole, const Tensor& g) const {
    return whole.as_strided_scatter(g, sizes, strides, whole.storage_offset() + offset);
  }
};

/// Represents a base before a part of it is overwritten, with two outputs: the base and the part. The part's gradient
/// replaces the base's gradient there: the old values are used only by what was computed from the part.
std::shared_ptr<Node> make_base_and_part(const Tensor& base, const Tensor& view) {
  auto node = std::make_shared<FunctionNode>(
      "CopySlices", std::vector<Edge>{gradient_edge(base)},
      [part = Part(base, view), options = base.options(), sizes = base.impl().sizes](const Grads& g) -> Grads {
        const Tensor whole = part.whole(g[0].defined() ? g[0] : zeros(sizes, options));
        return {part.put(whole, g[1].defined() ? g[1] : zeros(part.sizes, options))};
      });
  node->outputs.emplace_back(base);
  node->outputs.emplace_back(view);
  return node;
}

/// Represents a base after its part `view` was overwritten by a tensor with the edge `written`.
std::shared_ptr<Node> make_copy_slices(const Tensor& base, const Tensor& view, Edge old_base, Edge written) {
  auto node = std::make_shared<FunctionNode>("CopySlices", std::vector<Edge>{std::move(old_base), std::move(written)},
                                             [part = Part(base, view)](const Grads& g) -> Grads {
                                               const Tensor whole = part.whole(g[0]);
                                               return {whole, part.of(whole)};
                                             });
  node->outputs.emplace_back(base);
  return node;
}

/// Throws for in-place changes that PyTorch refuses to record, because they would change a leaf or lose a derivative.
void check_recordable(const Tensor& self) {
  if (self.impl().is_view) {
    const ViewInfo& view = *meta(self).view;
    TANDEM_CHECK(view.base.grad_fn() || !view.base.requires_grad(), AutogradError,
                 "a view of a leaf that requires grad cannot be changed in place; wrap the change in a NoGradGuard");
    TANDEM_CHECK(self.requires_grad() || !view.base.requires_grad(), AutogradError,
                 "a view of a tensor with history that was created without recording (NoGradGuard, InferenceMode) "
                 "cannot be changed in place while recording; create the view outside the guard, or detach() it");
    TANDEM_CHECK(
        !view.has_own_history, AutogradError,
        "one of the outputs of split, chunk or unbind, or a custom op's output that shares its input's memory, "
        "cannot be changed in place, because the op's backward would be lost; clone() it first");
  }
  TANDEM_CHECK(!self.requires_grad() || !self.is_leaf(), AutogradError,
               "a leaf that requires grad ({} {}) cannot be changed in place; wrap the change in a NoGradGuard",
               to_string(self.sizes()), tandem::name(self.dtype()));
}

/// Throws if `self`, which does not require grad, is a view of a tensor that does.
void check_unrecorded(const Tensor& self) {
  if (self.impl().is_view && meta(self).view->base.requires_grad()) check_recordable(self);
}

}  // namespace

Edge edge_before_overwriting(const Tensor& self) {
  check_recordable(self);
  Edge old = gradient_edge(self);
  if (old && self.impl().is_view) old = {make_base_and_part(meta(self).view->base, self), 1};
  return old;
}

void rebase_history(const Tensor& self, const Edge& before, Edge written) {
  if (!self.impl().is_view) {
    set_history(self, std::move(written.node), written.input);
    ++meta(self).rebases;
    return;
  }
  const Tensor base = meta(self).view->base;
  auto node = make_copy_slices(base, self, {before.node, 0}, std::move(written));
  set_history(base, std::move(node), 0);
  ++meta(base).rebases;
}

/// The node of a view after its base's history was rewritten: the node that the same view would get now.
std::shared_ptr<Node> make_view_node(const Tensor& base, const Tensor& view) {
  AutoGradMode record(true);
  return Part(base, view).of(base).grad_fn();
}

}  // namespace autograd

namespace {

void check_writable(const Tensor& self) {
  checks::not_expanded("the output", self);
  const TensorImpl& impl = self.impl();
  TANDEM_CHECK(!impl.is_inference || !GradMode::is_enabled() || InferenceMode::is_enabled(), AutogradError,
               "Inplace update to inference tensor outside InferenceMode is not allowed ({} {}); clone() it first",
               to_string(self.sizes()), tandem::name(self.dtype()));
}

}  // namespace

void check_storage_only(const OpScope& op, ArrayRef<const Tensor*> tensors) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [](const Tensor* x) { return x->defined() && is_storage_only(x->dtype()); });
  if (found == tensors.end()) return;
  std::string_view name = op.name();
  if (name == "fill_" || name == "zero_") return;
  if (name.ends_with('_')) name.remove_suffix(1);
  const int row = amp::policy_row(name);
  if (row < 0 || amp::policy_table[static_cast<size_t>(row)].role != amp::Role::moves) {
    detail::throw_storage_only_arithmetic((*found)->dtype());
  }
}

const Tensor& apply_in_place(const OpScope& op, const Tensor& self, ArrayRef<Tensor> others,
                             const std::function<void(const Tensor&)>& direct,
                             const std::function<Tensor(const Tensor&)>& out_of_place) {
  TANDEM_CHECK(self.defined(), StateError, "self is an undefined tensor");
  check_writable(self);
  check_storage_only(op, {&self});
  for (const Tensor& other : others) check_storage_only(op, {&other});
  if (thread_state().observers) [[unlikely]] {
    std::vector<const Tensor*> inputs{&self};
    for (const Tensor& other : others) inputs.push_back(&other);
    autograd::show_entry(inputs);
    autograd::Observation seen(autograd::ObservedOp{.name = op.name(), .in_place = true, .inputs = inputs});
    seen.before();
    apply_in_place(op, self, others, direct, out_of_place);  // the observers are suspended
    seen.op.outputs = {&self, 1};
    seen.after();
    return self;
  }
  const bool recording = is_recording({&self, 1}) || is_recording(others);
  amp::AutocastOff bypass;
  if (!recording) {
    if (GradMode::is_enabled()) autograd::check_unrecorded(self);
    NoGradGuard no_grad;
    direct(self);
    self.impl().storage->bump_version();
    return self;
  }
  const autograd::Edge old = autograd::edge_before_overwriting(self);
  // The snapshot represents the old value: the op may save it, and it carries the old history.
  Tensor snapshot;
  {
    NoGradGuard no_grad;
    snapshot = self.clone();
  }
  if (old) autograd::set_history(snapshot, old.node, old.input);
  Tensor result = out_of_place(snapshot);
  TANDEM_CHECK(result.sizes() == self.sizes(), ShapeError,
               "the result is {}, which does not fit into self of {}; use the op without the underscore",
               to_string(result.sizes()), to_string(self.sizes()));
  if (result.dtype() != self.dtype()) result = result.to(self.dtype());
  {
    NoGradGuard no_grad;
    backend(self).copy(self, result);
  }
  self.impl().storage->bump_version();
  if (!result.requires_grad()) return self;
  autograd::rebase_history(self, old, autograd::gradient_edge(result));
  return self;
}

const Tensor& apply_out(const Tensor& out, const std::function<Tensor()>& compute, ArrayRef<Tensor> operands) {
  TANDEM_CHECK(out.defined(), StateError, "out is an undefined tensor");
  TANDEM_CHECK(!is_recording({&out, 1}) && !is_recording(operands), AutogradError,
               "out= cannot be recorded for backward; wrap it in a NoGradGuard, or use the returned tensor");
  check_writable(out);
  amp::AutocastOff bypass;
  Tensor result = compute();
  TANDEM_CHECK(result.sizes() == out.sizes(), ShapeError,
               "the result is {}, but out is {}; out must have the same sizes", to_string(result.sizes()),
               to_string(out.sizes()));
  TANDEM_CHECK((result.is_floating_point() && out.is_floating_point()) ||
                   promote_types(result.dtype(), out.dtype()) == out.dtype(),
               DTypeError, "the result is {}, which cannot be written into out of {}", tandem::name(result.dtype()),
               tandem::name(out.dtype()));
  backend(out).copy(out, result);
  out.impl().storage->bump_version();
  return out;
}

}  // namespace tandem
