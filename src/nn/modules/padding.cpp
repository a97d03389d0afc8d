#include "tandem/nn/modules/padding.h"

#include "src/nn/define-inl.h"

namespace tandem::nn {
namespace {

template <class Options>
functional::PadFuncOptions pads(const Options& options) {
  const IntArrayRef padding = options.padding();
  return functional::PadFuncOptions(std::vector<int64_t>(padding.begin(), padding.end()));
}

}  // namespace

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define TANDEM_PADS(Name, MODE)                                                          \
  TANDEM_DEFINE_UNCHECKED_MODULE(Name, functional::pad(input, pads(options).mode(MODE)), \
                                 .field("padding", options.padding()))
TANDEM_PADS(ReflectionPad1d, kReflect)
TANDEM_PADS(ReflectionPad2d, kReflect)
TANDEM_PADS(ReflectionPad3d, kReflect)
TANDEM_PADS(ReplicationPad1d, kReplicate)
TANDEM_PADS(ReplicationPad2d, kReplicate)
TANDEM_PADS(ReplicationPad3d, kReplicate)
TANDEM_PADS(CircularPad1d, kCircular)
TANDEM_PADS(CircularPad2d, kCircular)
TANDEM_PADS(CircularPad3d, kCircular)
TANDEM_PADS(ZeroPad1d, kConstant)
TANDEM_PADS(ZeroPad2d, kConstant)
TANDEM_PADS(ZeroPad3d, kConstant)
#undef TANDEM_PADS

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define TANDEM_PADS(Name)                                                                            \
  TANDEM_DEFINE_UNCHECKED_MODULE(Name, functional::pad(input, pads(options).value(options.value())), \
                                 .field("padding", options.padding()).field("value", options.value()))
TANDEM_PADS(ConstantPad1d)
TANDEM_PADS(ConstantPad2d)
TANDEM_PADS(ConstantPad3d)
#undef TANDEM_PADS

}  // namespace tandem::nn
