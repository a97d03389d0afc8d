#include "tandem/nn/modules/fold.h"

#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {
namespace {

void check_blocks(IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  const auto least = [](const char* which, IntArrayRef values, int64_t bound) {
    for (int64_t v : values) {
      TANDEM_CHECK(v >= bound, StateError, "{} = {}, but must be at least {}", which, to_string(values), bound);
    }
  };
  least("kernel_size", kernel_size, 1);
  least("dilation", dilation, 1);
  least("padding", padding, 0);
  least("stride", stride, 1);
}

}  // namespace

UnfoldImpl::UnfoldImpl(const UnfoldOptions& o) : options(o) { reset(); }

UnfoldImpl::UnfoldImpl(ExpandingArray<2> kernel_size) : UnfoldImpl(UnfoldOptions(kernel_size)) {}

void UnfoldImpl::reset() {
  const OpScope op("Unfold");
  check_blocks(options.kernel_size(), options.dilation(), options.padding(), options.stride());
}

Tensor UnfoldImpl::forward(const Tensor& input) { return functional::unfold(input, options); }

void UnfoldImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Unfold(kernel_size={}, dilation={}, padding={}, stride={})",
        to_string(options.kernel_size()), to_string(options.dilation()), to_string(options.padding()),
        to_string(options.stride()));
}

FoldImpl::FoldImpl(const FoldOptions& o) : options(o) { reset(); }

FoldImpl::FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
    : FoldImpl(FoldOptions(output_size, kernel_size)) {}

void FoldImpl::reset() {
  const OpScope op("Fold");
  check_blocks(options.kernel_size(), options.dilation(), options.padding(), options.stride());
  for (int64_t v : *options.output_size()) {
    TANDEM_CHECK(v >= 1, StateError, "output_size = {}, but must be at least 1", to_string(options.output_size()));
  }
}

Tensor FoldImpl::forward(const Tensor& input) { return functional::fold(input, options); }

void FoldImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Fold(output_size={}, kernel_size={}, dilation={}, padding={}, stride={})",
        to_string(options.output_size()), to_string(options.kernel_size()), to_string(options.dilation()),
        to_string(options.padding()), to_string(options.stride()));
}

}  // namespace tandem::nn
