#include "tandem/nn/modules/pool_nd.h"

#include "tandem/base/check.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {
namespace {

void check_windows(IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
  const auto least = [](const char* which, IntArrayRef values, int64_t bound) {
    for (int64_t v : values) {
      TANDEM_CHECK(v >= bound, StateError, "{} = {}, but must be at least {}", which, to_string(values), bound);
    }
  };
  least("kernel_size", kernel, 1);
  least("stride", stride, 1);
  least("padding", padding, 0);
  least("dilation", dilation, 1);
  for (size_t k = 0; k < kernel.size(); ++k) {
    TANDEM_CHECK(padding[padding.size() == 1 ? 0 : k] <= kernel[k] / 2, StateError,
                 "padding = {}, but must be at most half of kernel_size = {}, so that each window meets x",
                 to_string(padding), to_string(kernel));
  }
}

template <class T, size_t D>
void check_output_size(const std::array<T, D>& sizes) {
  for (const std::optional<int64_t> size : sizes) {
    TANDEM_CHECK(!size || *size >= 1, StateError, "output_size contains {}, but must be at least 1", *size);
  }
}

}  // namespace

MaxPool1dImpl::MaxPool1dImpl(const MaxPool1dOptions& o) : options(o) { reset(); }

void MaxPool1dImpl::reset() {
  const OpScope op("MaxPool1d");
  check_windows(options.kernel_size(), options.stride(), options.padding(), options.dilation());
}

Tensor MaxPool1dImpl::forward(const Tensor& input) { return functional::max_pool1d(input, options); }

void MaxPool1dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MaxPool1d()"; }

AvgPool1dImpl::AvgPool1dImpl(const AvgPool1dOptions& o) : options(o) { reset(); }

void AvgPool1dImpl::reset() {
  const OpScope op("AvgPool1d");
  check_windows(options.kernel_size(), options.stride(), options.padding(), {1});
}

Tensor AvgPool1dImpl::forward(const Tensor& input) { return functional::avg_pool1d(input, options); }

void AvgPool1dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::AvgPool1d()"; }

MaxPool3dImpl::MaxPool3dImpl(const MaxPool3dOptions& o) : options(o) { reset(); }

void MaxPool3dImpl::reset() {
  const OpScope op("MaxPool3d");
  check_windows(options.kernel_size(), options.stride(), options.padding(), options.dilation());
}

Tensor MaxPool3dImpl::forward(const Tensor& input) { return functional::max_pool3d(input, options); }

void MaxPool3dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::MaxPool3d()"; }

AvgPool3dImpl::AvgPool3dImpl(const AvgPool3dOptions& o) : options(o) { reset(); }

void AvgPool3dImpl::reset() {
  const OpScope op("AvgPool3d");
  check_windows(options.kernel_size(), options.stride(), options.padding(), {1});
}

Tensor AvgPool3dImpl::forward(const Tensor& input) { return functional::avg_pool3d(input, options); }

void AvgPool3dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::AvgPool3d()"; }

AdaptiveAvgPool1dImpl::AdaptiveAvgPool1dImpl(const AdaptiveAvgPool1dOptions& o) : options(o) { reset(); }

void AdaptiveAvgPool1dImpl::reset() {
  const OpScope op("AdaptiveAvgPool1d");
  check_output_size(*options.output_size());
}

Tensor AdaptiveAvgPool1dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool1d(input, options); }

void AdaptiveAvgPool1dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::AdaptiveAvgPool1d()"; }

AdaptiveAvgPool3dImpl::AdaptiveAvgPool3dImpl(const AdaptiveAvgPool3dOptions& o) : options(o) { reset(); }

void AdaptiveAvgPool3dImpl::reset() {
  const OpScope op("AdaptiveAvgPool3d");
  check_output_size(*options.output_size());
}

Tensor AdaptiveAvgPool3dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool3d(input, options); }

void AdaptiveAvgPool3dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::AdaptiveAvgPool3d()"; }

AdaptiveMaxPool1dImpl::AdaptiveMaxPool1dImpl(const AdaptiveMaxPool1dOptions& o) : options(o) { reset(); }

void AdaptiveMaxPool1dImpl::reset() {
  const OpScope op("AdaptiveMaxPool1d");
  check_output_size(*options.output_size());
}

Tensor AdaptiveMaxPool1dImpl::forward(const Tensor& input) { return functional::adaptive_max_pool1d(input, options); }

void AdaptiveMaxPool1dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::AdaptiveMaxPool1d()"; }

AdaptiveMaxPool2dImpl::AdaptiveMaxPool2dImpl(const AdaptiveMaxPool2dOptions& o) : options(o) { reset(); }

void AdaptiveMaxPool2dImpl::reset() {
  const OpScope op("AdaptiveMaxPool2d");
  check_output_size(*options.output_size());
}

Tensor AdaptiveMaxPool2dImpl::forward(const Tensor& input) { return functional::adaptive_max_pool2d(input, options); }

void AdaptiveMaxPool2dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::AdaptiveMaxPool2d()"; }

AdaptiveMaxPool3dImpl::AdaptiveMaxPool3dImpl(const AdaptiveMaxPool3dOptions& o) : options(o) { reset(); }

void AdaptiveMaxPool3dImpl::reset() {
  const OpScope op("AdaptiveMaxPool3d");
  check_output_size(*options.output_size());
}

Tensor AdaptiveMaxPool3dImpl::forward(const Tensor& input) { return functional::adaptive_max_pool3d(input, options); }

void AdaptiveMaxPool3dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::AdaptiveMaxPool3d()"; }

LPPool1dImpl::LPPool1dImpl(const LPPool1dOptions& o) : options(o) { reset(); }

void LPPool1dImpl::reset() {
  const OpScope op("LPPool1d");
  check_windows(options.kernel_size(), options.stride(), {0}, {1});
  TANDEM_CHECK(options.norm_type() != 0, StateError, "norm_type = 0, which has no root");
}

Tensor LPPool1dImpl::forward(const Tensor& input) { return functional::lp_pool1d(input, options); }

void LPPool1dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::LPPool1d()"; }

LPPool2dImpl::LPPool2dImpl(const LPPool2dOptions& o) : options(o) { reset(); }

void LPPool2dImpl::reset() {
  const OpScope op("LPPool2d");
  check_windows(options.kernel_size(), options.stride(), {0}, {1});
  TANDEM_CHECK(options.norm_type() != 0, StateError, "norm_type = 0, which has no root");
}

Tensor LPPool2dImpl::forward(const Tensor& input) { return functional::lp_pool2d(input, options); }

void LPPool2dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::LPPool2d()"; }

LPPool3dImpl::LPPool3dImpl(const LPPool3dOptions& o) : options(o) { reset(); }

void LPPool3dImpl::reset() {
  const OpScope op("LPPool3d");
  check_windows(options.kernel_size(), options.stride(), {0}, {1});
  TANDEM_CHECK(options.norm_type() != 0, StateError, "norm_type = 0, which has no root");
}

Tensor LPPool3dImpl::forward(const Tensor& input) { return functional::lp_pool3d(input, options); }

void LPPool3dImpl::pretty_print(std::ostream& stream) const { stream << "tandem::nn::LPPool3d()"; }

}  // namespace tandem::nn
