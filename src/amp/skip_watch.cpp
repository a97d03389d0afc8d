#include "src/amp/skip_watch.h"

#include "tandem/base/check.h"
#include "tandem/tensor/accelerator.h"

namespace tandem::amp::detail {

bool SkipWatch::arrived() {
  if (!on_its_way_) return true;
  if (!on_its_way_->query()) return false;
  last_ = *static_cast<const volatile int32_t*>(pinned_.get());
  on_its_way_.reset();
  return true;
}

void SkipWatch::send_for(const Tensor& skips) {
  if (skips.is_cpu()) {
    last_ = skips.item<int64_t>();
    return;
  }
  if (!arrived()) return;  // the next update fetches again
  if (!pinned_) pinned_ = accelerator().allocate_pinned(sizeof(int32_t));
  accelerator().copy_to_pinned(pinned_.get(), skips);
  on_its_way_.emplace();
  on_its_way_->record(current_stream(skips.device()));
}

void SkipWatch::check(const Tensor& scale) {
  arrived();
  TANDEM_CHECK(last_ <= limit_, StateError,
               "{} consecutive iterations were skipped because of inf or NaN gradients (the limit is {}); the scale is "
               "{}. The loss or the network itself overflows: look for the first non-finite value in the forward pass",
               last_, limit_, scale.item<float>());
}

void SkipWatch::forget() {
  if (on_its_way_) pinned_ = nullptr;  // an unfinished copy still writes to this memory
  on_its_way_.reset();
  last_ = 0;
}

}  // namespace tandem::amp::detail
