// squeeze_, transpose_ and their kin: other sizes and strides for a tensor and all who hold it. The memory stays.
#include "tandem/autograd/apply.h"
#include "tandem/autograd/meta.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"

namespace tandem {
namespace {

/// Gives self the geometry of view_of(self), and its history if self has one.
template <class F>
const Tensor& become(const Tensor& self, const F& view_of) {
  checks::defined("self", self);
  TensorImpl& impl = self.impl();
  TANDEM_CHECK(!impl.is_inference || !GradMode::is_enabled() || InferenceMode::is_enabled(), AutogradError,
               "Inplace update to inference tensor outside InferenceMode is not allowed ({}); clone() it first",
               checks::show(self));
  const bool is_leaf = self.is_leaf(), has_history = self.requires_grad() && !is_leaf;
  TANDEM_CHECK(!is_leaf || !is_recording({&self, 1}), AutogradError,
               "a leaf that requires grad ({}) cannot be changed in place; wrap the change in a NoGradGuard",
               checks::show(self));
  const Tensor old = autograd::alias(self);
  if (has_history) {
    const autograd::Edge edge = autograd::gradient_edge(self);
    autograd::set_history(old, edge.node, edge.input);
  }
  const AutoGradMode records(has_history);  // also without grad mode: the old history has the old sizes
  const Tensor view = view_of(old);
  impl.sizes = view.impl().sizes;
  impl.strides = view.impl().strides;
  impl.offset = view.storage_offset();
  impl.refresh();
  impl.shadow.reset();
  ++impl.generation;
  impl.storage->bump_version();
  if (has_history) {
    autograd::set_history(self, view.grad_fn(), autograd::meta(view).output);
  } else if (autograd::AutogradMeta* meta = autograd::meta_or_null(self)) {
    meta->accumulator.reset();  // it expects gradients of the old sizes
  }
  return self;
}

}  // namespace

const Tensor& Tensor::squeeze_() const {
  const OpScope op("squeeze_");
  return become(*this, [](const Tensor& x) { return tandem::squeeze(x); });
}
const Tensor& Tensor::squeeze_(int64_t dim) const {
  const OpScope op("squeeze_");
  return become(*this, [&](const Tensor& x) { return tandem::squeeze(x, dim); });
}
const Tensor& Tensor::squeeze_(IntArrayRef dims) const {
  const OpScope op("squeeze_");
  return become(*this, [&](const Tensor& x) { return tandem::squeeze(x, dims); });
}
const Tensor& Tensor::unsqueeze_(int64_t dim) const {
  const OpScope op("unsqueeze_");
  return become(*this, [&](const Tensor& x) { return tandem::unsqueeze(x, dim); });
}
const Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const {
  const OpScope op("transpose_");
  return become(*this, [&](const Tensor& x) { return tandem::transpose(x, dim0, dim1); });
}
const Tensor& Tensor::swapaxes_(int64_t axis0, int64_t axis1) const {
  const OpScope op("swapaxes_");
  return transpose_(axis0, axis1);
}
const Tensor& Tensor::swapdims_(int64_t dim0, int64_t dim1) const {
  const OpScope op("swapdims_");
  return transpose_(dim0, dim1);
}
const Tensor& Tensor::t_() const {
  const OpScope op("t_");
  return become(*this, [](const Tensor& x) { return tandem::t(x); });
}

}  // namespace tandem
