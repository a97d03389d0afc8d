#include "tandem/nn/modules/pool.h"

#include "src/nn/text-inl.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {

Tensor MaxPool2dImpl::forward(const Tensor& input) { return functional::max_pool2d(input, options); }

void MaxPool2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::MaxPool2d(kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={})",
        to_string(options.kernel_size()), to_string(options.stride()), to_string(options.padding()),
        to_string(options.dilation()), options.ceil_mode());
}

Tensor AvgPool2dImpl::forward(const Tensor& input) { return functional::avg_pool2d(input, options); }

void AvgPool2dImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::AvgPool2d(kernel_size={}, stride={}, padding={})", to_string(options.kernel_size()),
        to_string(options.stride()), to_string(options.padding()));
}

Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) { return functional::adaptive_avg_pool2d(input, options); }

void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& stream) const {
  const auto entry = [](const std::optional<int64_t>& v) { return v ? std::to_string(*v) : std::string("None"); };
  const auto& sizes = *options.output_size();
  print(stream, "tandem::nn::AdaptiveAvgPool2d(output_size=[{}, {}])", entry(sizes[0]), entry(sizes[1]));
}

}  // namespace tandem::nn
