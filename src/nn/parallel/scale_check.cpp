#include "src/nn/parallel/scale_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/statistics.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::parallel::detail {

void ScaleCheck::start(const autograd::LossScalePtr& scale) {
  const NoGradGuard no_grad;
  scale_ = scale;
  all_ = empty({group_.size(), 1}, scale->factor.options());
  std::vector<Tensor> outputs;
  for (int64_t rank = 0; rank < group_.size(); ++rank) outputs.push_back(all_[rank]);
  work_ = group_.all_gather_async(outputs, scale->factor.reshape({1}));
}

autograd::LossScalePtr ScaleCheck::finish() {
  if (!scale_) return nullptr;
  const NoGradGuard no_grad;
  work_.wait();
  const size_t bytes = all_.nbytes();
  if (all_.is_cpu()) {
    host_ = std::shared_ptr<float[]>(new float[bytes / sizeof(float)]);
    std::memcpy(host_.get(), all_.raw_bytes(), bytes);
    return std::exchange(scale_, nullptr);
  }
  if (!arrival_) {  // else the numbers of an earlier pass are on their way
    host_ = accelerator().allocate_pinned(bytes);
    accelerator().copy_to_pinned(host_.get(), all_);
    arrival_.emplace();
    arrival_->record(current_stream(all_.device()));
  }
  const auto checked = std::make_shared<autograd::LossScale>(autograd::LossScale::Kind::scaled);
  checked->factor = scale_->factor;
  const Tensor nan = full({}, std::numeric_limits<double>::quiet_NaN(), scale_->inverse.options());
  checked->inverse = where(eq(amax(all_), amin(all_)), scale_->inverse, nan);
  scale_.reset();
  return checked;
}

std::optional<std::string> ScaleCheck::difference() {
  if (!host_ || (arrival_ && !arrival_->query())) return {};
  arrival_.reset();
  const std::shared_ptr<void> host = std::exchange(host_, nullptr);
  const auto* scales = static_cast<const float*>(host.get());
  const size_t count = static_cast<size_t>(group_.size());
  const float* other = std::find_if(scales, scales + count, [&](float s) { return s != scales[0]; });
  if (other == scales + count) return {};
  return fmt::format(
      "the ranks scale their losses differently: rank 0 by {}, rank {} by {}; start with the same scale on all ranks, "
      "and make the same calls of the scaler on all of them",
      scales[0], other - scales, *other);
}

void ScaleCheck::cancel() {
  if (scale_) work_.wait();
  scale_.reset();
}

}  // namespace tandem::nn::parallel::detail
