#include "tandem/amp/pending_unscale.h"

#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/backend.h"
#include "tandem/math/binary.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp::detail {
namespace {

/// A pending g = g * inverse_scale, applied at the first access. Refers to its owning storage without owning it.
class PendingUnscale final : public PendingWrite {
 public:
  PendingUnscale(Storage& storage, int64_t numel, DType dtype, Tensor inverse_scale)
      : storage_(storage), numel_(numel), dtype_(dtype), inverse_scale_(std::move(inverse_scale)) {}

  void apply() override {
    NoGradGuard no_grad;
    const Tensor block =
        from_blob(storage_.data_unresolved(), {numel_}, TensorOptions(dtype_).device(storage_.device()));
    const Tensor factor = make_view(inverse_scale_, {numel_}, {0}, inverse_scale_.storage_offset());
    backend(block).binary(block, kernels::Binary::mul, block, factor, 1);
  }
  [[noreturn]] void refuse_in_capture() const override {
    tandem::refuse_in_capture("unscaling a gradient that an earlier step left scaled is impossible",
                              "drop gradients with zero_grad() before the capture");
  }

 private:
  Storage& storage_;
  int64_t numel_;
  DType dtype_;
  Tensor inverse_scale_;
};

/// Whether the tensor fills its storage from the start and is the only reference to it. Then the memory can be read
/// only through data(), which applies the factor, and no graph other than the one being captured reads it.
bool owns_whole_storage(const Tensor& g) {
  const TensorImpl& impl = g.impl();
  return impl.storage.use_count() == 1 && impl.offset == 0 && g.is_contiguous() &&
         impl.storage->escaped_pointer() == Storage::Pointer::none &&
         impl.storage->capture_id() == current_capture_id();
}

std::unique_ptr<PendingWrite> pending_unscale(const Tensor& g, const Tensor& inverse_scale) {
  return std::make_unique<PendingUnscale>(*g.impl().storage, g.numel(), g.dtype(), inverse_scale);
}

/// In a capture: gradients still pending at its end become pending again after each replay, which leaves scaled values.
void repeat_in(GraphCapture& capture, const Tensor& g, const Tensor& inverse_scale) {
  const std::weak_ptr<TensorImpl> weak = g.impl_ptr();
  capture.at_end([&capture, weak, inverse_scale] {
    const Tensor grad(weak.lock());
    if (!grad.defined() || !grad.impl().storage->has_pending()) return;  // destroyed, or read within the graph
    grad.impl().storage->set_pending(nullptr);                           // there are no values before the first replay
    capture.after_replay([weak, inverse_scale] {
      const Tensor g(weak.lock());
      if (!g.defined()) return;
      std::unique_ptr<PendingWrite> pending = pending_unscale(g, inverse_scale);
      if (g.impl().storage->escaped_pointer() == Storage::Pointer::none) {
        g.impl().storage->set_pending(std::move(pending));
      } else {
        pending->apply();  // a raw pointer has escaped
      }
    });
  });
}

bool can_wait(const Tensor& g) { return !g.requires_grad() && owns_whole_storage(g); }

}  // namespace

bool must_unscale_first(const std::vector<Tensor>& grads) {
  return std::any_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.dtype() != kHalf && !can_wait(g); });
}

PostponedUnscale::PostponedUnscale(const std::vector<Tensor>& grads, const Tensor& inverse_scale)
    : inverse_scale_(inverse_scale) {
  NoGradGuard no_grad;
  GraphCapture* const capture = current_capture();
  for (const Tensor& g : grads) {
    if (can_wait(g)) {
      later_.emplace_back(g, pending_unscale(g, inverse_scale));
      if (capture && g.is_cuda()) repeat_in(*capture, g, inverse_scale);
    } else {
      now_.push_back(g);
    }
  }
  if (!now_.empty()) ignored_ = zeros({}, inverse_scale.options());
}

void PostponedUnscale::start() {
  NoGradGuard no_grad;
  for (auto& [g, pending] : later_) {
    autograd::bump_version_of_gradient(g);
    g.impl().storage->set_pending(std::move(pending));
  }
  if (now_.empty()) return;
  backend(inverse_scale_).unscale(now_, inverse_scale_, ignored_);
  for (const Tensor& g : now_) autograd::bump_version_of_gradient(g);
}

}  // namespace tandem::amp::detail
