#include "src/nn/parallel/scale_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/statistics.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::parallel::detail {

autograd::LossScalePtr ScaleCheck::checked(const autograd::LossScalePtr& scale) {
  const NoGradGuard no_grad;
  if (!all_.defined() || all_.device() != scale->factor.device()) {
    all_ = empty({group_.size(), 1}, scale->factor.options());
  }
  std::vector<Tensor> outputs;
  for (int64_t rank = 0; rank < group_.size(); ++rank) outputs.push_back(all_[rank]);
  group_
      .start({.kind = distributed::Collective::Kind::all_gather,
              .inputs = {scale->factor.reshape({1})},
              .outputs = std::move(outputs),
              .label = "loss scales"})
      .wait();
  if (all_.is_cpu()) {
    host_ = std::shared_ptr<float>(all_.raw<float>(), [kept = all_](float*) {});
    return scale;
  }
  if (!arrival_) {  // else those of an earlier pass are still being copied
    host_ = std::static_pointer_cast<float>(accelerator().allocate_pinned(all_.nbytes()));
    accelerator().copy_to_pinned(host_.get(), all_);
    arrival_.emplace();
    arrival_->record(current_stream(all_.device()));
  }
  const auto checked = std::make_shared<autograd::LossScale>(autograd::LossScale::Kind::scaled);
  checked->factor = scale->factor;
  const Tensor nan = full({}, std::numeric_limits<double>::quiet_NaN(), scale->inverse.options());
  checked->inverse = where(eq(amax(all_), amin(all_)), scale->inverse, nan);
  return checked;
}

std::optional<std::string> ScaleCheck::difference() {
  if (!host_ || (arrival_ && !arrival_->query())) return {};
  arrival_.reset();
  const std::shared_ptr<float> host = std::exchange(host_, nullptr);
  const float* scales = host.get();
  const size_t count = static_cast<size_t>(group_.size());
  const float* other = std::find_if(scales, scales + count, [&](float s) { return s != scales[0]; });
  if (other == scales + count) return {};
  return fmt::format(
      "the ranks scale their losses differently: rank 0 by {}, rank {} by {}; start with the same scale on all ranks, "
      "and make the same calls of the scaler on all of them",
      scales[0], other - scales, *other);
}

}  // namespace tandem::nn::parallel::detail
