#include "tandem/nn/modules/pool.h"

#include "src/nn/text-inl.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/ops/checks.h"

namespace tandem::nn {

MaxPool2dImpl::MaxPool2dImpl(const MaxPool2dOptions& o) : options(o) { reset(); }

void MaxPool2dImpl::reset() {
  const OpScope op("MaxPool2d");
  checks::windows(options.kernel_size(), options.stride(), options.padding(), options.dilation(), options.ceil_mode());
}

Tensor MaxPool2dImpl::forward(const Tensor& input) { return functional::max_pool2d(input, options); }

void MaxPool2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::MaxPool2d(kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={})",
        to_string(options.kernel_size()), to_string(options.stride()), to_string(options.padding()),
        to_string(options.dilation()), options.ceil_mode());
}

AvgPool2dImpl::AvgPool2dImpl(const AvgPool2dOptions& o) : options(o) { reset(); }

void AvgPool2dImpl::reset() {
  const OpScope op("AvgPool2d");
  checks::windows(options.kernel_size(), options.stride(), options.padding(), {1}, options.ceil_mode());
  TANDEM_CHECK(options.divisor_override() != 0, StateError, "divisor_override = 0; use another number, or omit it");
}

Tensor AvgPool2dImpl::forward(const Tensor& input) { return functional::avg_pool2d(input, options); }

void AvgPool2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::AvgPool2d(kernel_size={}, stride={}, padding={})", to_string(options.kernel_size()),
        to_string(options.stride()), to_string(options.padding()));
}

AdaptiveAvgPool2dImpl::AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& o) : options(o) { reset(); }

void AdaptiveAvgPool2dImpl::reset() {
  const OpScope op("AdaptiveAvgPool2d");
  for (const std::optional<int64_t>& size : *options.output_size()) {
    TANDEM_CHECK(size.value_or(1) >= 1, StateError, "output_size has {}; each entry must be at least 1, or nullopt",
                 *size);
  }
}

Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool2d(input, options); }

void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& stream) const {
  const auto entry = [](const std::optional<int64_t>& v) { return v ? std::to_string(*v) : std::string("None"); };
  const auto& sizes = *options.output_size();
  print(stream, "tandem::nn::AdaptiveAvgPool2d(output_size=[{}, {}])", entry(sizes[0]), entry(sizes[1]));
}

}  // namespace tandem::nn
