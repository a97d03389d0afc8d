#include "tandem/nn/modules/conv.h"

#include <cmath>
#include <vector>

#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/base/checked.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {
namespace {

void check_at_least(const char* which, IntArrayRef values, int64_t least) {
  for (int64_t v : values) {
    TANDEM_CHECK(v >= least, StateError, "{} = {}, but must be at least {}", which, to_string(values), least);
  }
}

/// Checks the options that all convolution layers have.
template <class Options>
void check_conv_options(const Options& o, IntArrayRef padding) {
  const int64_t in = o.in_channels(), out = o.out_channels(), groups = o.groups();
  TANDEM_CHECK(in > 0 && out > 0, StateError, "in_channels = {}, out_channels = {}; both must be at least 1", in, out);
  check_at_least("kernel_size", o.kernel_size(), 1);
  check_at_least("stride", o.stride(), 1);
  check_at_least("padding", padding, 0);
  check_at_least("dilation", o.dilation(), 1);
  TANDEM_CHECK(groups > 0 && in % groups == 0 && out % groups == 0, StateError,
               "groups = {} must divide in_channels = {} and out_channels = {}", groups, in, out);
}

template <size_t D>
Tensor make_weight(int64_t first, int64_t second, const ExpandingArray<D>& kernel_size) {
  Dims sizes{first, second};
  for (int64_t k : *kernel_size) sizes.push_back(k);
  return empty(sizes);
}

void initialise(const Tensor& weight, const Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound = 1 / std::sqrt(static_cast<double>(init::calculate_fan_in_and_fan_out(weight).in));
  init::uniform_(bias, -bound, bound);
}

/// The beginning that the texts of all convolution layers share.
template <class Options>
void print_begin(std::ostream& stream, const char* name, size_t dims, const Options& o) {
  print(stream, "tandem::nn::{}{}d({}, {}, kernel_size={}, stride={}", name, dims, o.in_channels(), o.out_channels(),
        shown(o.kernel_size()), shown(o.stride()));
}

template <size_t D>
void print_unless(std::ostream& stream, const char* which, const ExpandingArray<D>& values, int64_t usual) {
  if (!(values == ExpandingArray<D>(usual))) print(stream, ", {}={}", which, shown(values));
}

template <class Options>
void print_end(std::ostream& stream, const Options& o) {
  if (o.groups() != 1) print(stream, ", groups={}", o.groups());
  if (!o.bias()) stream << ", bias=false";
  stream << ")";
}

/// For OpScope, which keeps the pointer.
template <size_t D>
constexpr const char* conv_name() {
  return D == 1 ? "Conv1d" : D == 2 ? "Conv2d" : "Conv3d";
}
template <size_t D>
constexpr const char* conv_transpose_name() {
  return D == 1 ? "ConvTranspose1d" : D == 2 ? "ConvTranspose2d" : "ConvTranspose3d";
}

constexpr const char* kPaddingModes[] = {"kZeros", "kReflect", "kReplicate", "kCircular"};

template <size_t D>
bool has_zeros(const ConvOptions<D>& o) {
  return o.padding_mode().mode() == kConstant;
}

const char* name_of(ConvPaddingMode mode) { return kPaddingModes[static_cast<size_t>(mode.mode())]; }

}  // namespace

ConvPaddingMode::ConvPaddingMode(GridPadding zeros) {
  const OpScope op("ConvPaddingMode");
  TANDEM_CHECK(zeros == kZeros, StateError, "padding_mode is {}; use kZeros, kReflect, kReplicate or kCircular",
               zeros == kBorder ? "kBorder" : "kReflection");
}

ConvPaddingMode::ConvPaddingMode(PadMode mode) : mode_(mode) {
  const OpScope op("ConvPaddingMode");
  TANDEM_CHECK(mode == kReflect || mode == kReplicate || mode == kCircular, StateError,
               "padding_mode is {}; use kZeros, kReflect, kReplicate or kCircular", static_cast<int>(mode));
}

template <size_t D, class Derived>
ConvNdImpl<D, Derived>::ConvNdImpl(ConvOptions<D> o) : options(std::move(o)) {
  reset();
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset() {
  const OpScope op(conv_name<D>());
  check_conv_options(options, options.padding().sizes());
  TANDEM_CHECK(!options.padding().is_same() || options.stride() == ExpandingArray<D>(1), StateError,
               "padding kSame with stride {}; it needs stride 1", to_string(options.stride()));
  const int64_t in = options.in_channels(), out = options.out_channels();
  const Tensor w = make_weight(out, in / options.groups(), options.kernel_size());
  const Tensor b = options.bias() ? empty({out}) : Tensor();
  this->parameters_.clear();
  this->register_parameter(weight, "weight", w);
  this->register_parameter(bias, "bias", b);
  reset_parameters();
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  initialise(weight, bias);
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_begin(stream, "Conv", D, options);
  if (options.padding().is_same()) {
    stream << ", padding='same'";
  } else {
    print_unless(stream, "padding", options.padding().sizes(), 0);
  }
  print_unless(stream, "dilation", options.dilation(), 1);
  if (!has_zeros(options)) print(stream, ", padding_mode={}", name_of(options.padding_mode()));
  print_end(stream, options);
}

template <size_t D, class Derived>
ConvTransposeNdImpl<D, Derived>::ConvTransposeNdImpl(ConvTransposeOptions<D> o) : options(std::move(o)) {
  reset();
}

template <size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset() {
  const OpScope op(conv_transpose_name<D>());
  check_conv_options(options, options.padding());
  check_at_least("output_padding", options.output_padding(), 0);
  for (size_t d = 0; d < D; ++d) {
    TANDEM_CHECK((*options.output_padding())[d] < std::max((*options.stride())[d], (*options.dilation())[d]),
                 StateError, "output_padding = {}, but must be below stride = {} or dilation = {}",
                 to_string(options.output_padding()), to_string(options.stride()), to_string(options.dilation()));
  }
  const int64_t in = options.in_channels(), out = options.out_channels();
  const Tensor w = make_weight(in, out / options.groups(), options.kernel_size());
  const Tensor b = options.bias() ? empty({out}) : Tensor();
  this->parameters_.clear();
  this->register_parameter(weight, "weight", w);
  this->register_parameter(bias, "bias", b);
  reset_parameters();
}

template <size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::reset_parameters() {
  initialise(weight, bias);
}

template <size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print_begin(stream, "ConvTranspose", D, options);
  print_unless(stream, "padding", options.padding(), 0);
  print_unless(stream, "dilation", options.dilation(), 1);
  print_unless(stream, "output_padding", options.output_padding(), 0);
  print_end(stream, options);
}

template <size_t D, class Derived>
ExpandingArray<D> ConvTransposeNdImpl<D, Derived>::output_padding(const Tensor& input,
                                                                  std::optional<IntArrayRef> output_size) const {
  if (!output_size) return options.output_padding();
  const auto rank = static_cast<size_t>(input.dim());
  TANDEM_CHECK(rank == D + 1 || rank == D + 2, ShapeError, "the input is {}, but must have rank {} or {}",
               to_string(input.sizes()), D + 2, D + 1);
  TANDEM_CHECK(output_size->size() == D || output_size->size() == rank, ShapeError,
               "output_size = {}, but must have {} or {} entries", to_string(*output_size), D, rank);
  ExpandingArray<D> added(0);
  for (size_t d = 0; d < D; ++d) {
    const int64_t wanted = (*output_size)[output_size->size() - D + d], stride = (*options.stride())[d];
    const Checked least = (Checked(input.sizes()[rank - D + d]) - 1) * stride - 2 * (*options.padding())[d] +
                          Checked((*options.dilation())[d]) * ((*options.kernel_size())[d] - 1) + 1;
    const Checked rest = Checked(wanted) - least;
    TANDEM_CHECK(rest >= 0 && rest <= stride - 1, ShapeError,
                 "output_size = {} for an input of {}; entry {} must be in [{}, {}]", to_string(*output_size),
                 to_string(input.sizes()), output_size->size() - D + d, to_string(least),
                 to_string(least + stride - 1));
    (*added)[d] = *rest.value();
  }
  return added;
}

template class ConvNdImpl<1, Conv1dImpl>;
template class ConvTransposeNdImpl<1, ConvTranspose1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;
template class ConvTransposeNdImpl<2, ConvTranspose2dImpl>;
template class ConvNdImpl<3, Conv3dImpl>;
template class ConvTransposeNdImpl<3, ConvTranspose3dImpl>;

namespace {

/// The options of a convolution whose input went through `padded`.
template <size_t D>
functional::ConvFuncOptions<D> func_options(const ConvOptions<D>& o, const Tensor& bias) {
  return functional::ConvFuncOptions<D>()
      .bias(bias)
      .stride(o.stride())
      .padding(has_zeros(o) ? o.padding() : ConvPadding<D>(0))
      .dilation(o.dilation())
      .groups(o.groups());
}

/// The input with the padding that is not zeros; convolutions add those themselves.
template <size_t D>
Tensor padded(const Tensor& input, const ConvOptions<D>& o) {
  if (has_zeros(o)) return input;
  std::vector<int64_t> sizes;
  for (size_t d = D; d-- > 0;) {
    const int64_t size = (*o.padding().sizes())[d], span = (*o.dilation())[d] * ((*o.kernel_size())[d] - 1);
    sizes.push_back(o.padding().is_same() ? span / 2 : size);
    sizes.push_back(o.padding().is_same() ? span - span / 2 : size);
  }
  return functional::pad(input, functional::PadFuncOptions(sizes).mode(o.padding_mode().mode()));
}

template <size_t D>
functional::ConvTransposeFuncOptions<D> func_options(const ConvTransposeOptions<D>& o, const Tensor& bias,
                                                     const ExpandingArray<D>& output_padding) {
  return functional::ConvTransposeFuncOptions<D>()
      .bias(bias)
      .stride(o.stride())
      .padding(o.padding())
      .output_padding(output_padding)
      .groups(o.groups())
      .dilation(o.dilation());
}

}  // namespace

Conv1dImpl::Conv1dImpl(Conv1dOptions o) : ConvNdImpl(std::move(o)) {}

Conv1dImpl::Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
    : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}

Tensor Conv1dImpl::forward(const Tensor& input) {
  return functional::conv1d(padded(input, options), weight, func_options(options, bias));
}

Conv2dImpl::Conv2dImpl(Conv2dOptions o) : ConvNdImpl(std::move(o)) {}

Conv2dImpl::Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
    : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}

Tensor Conv2dImpl::forward(const Tensor& input) {
  return functional::conv2d(padded(input, options), weight, func_options(options, bias));
}

Conv3dImpl::Conv3dImpl(Conv3dOptions o) : ConvNdImpl(std::move(o)) {}

Conv3dImpl::Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
    : Conv3dImpl(Conv3dOptions(in_channels, out_channels, kernel_size)) {}

Tensor Conv3dImpl::forward(const Tensor& input) {
  return functional::conv3d(padded(input, options), weight, func_options(options, bias));
}

ConvTranspose1dImpl::ConvTranspose1dImpl(ConvTranspose1dOptions o) : ConvTransposeNdImpl(std::move(o)) {}

ConvTranspose1dImpl::ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
    : ConvTranspose1dImpl(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}

Tensor ConvTranspose1dImpl::forward(const Tensor& input) { return forward(input, std::nullopt); }

Tensor ConvTranspose1dImpl::forward(const Tensor& input, std::optional<IntArrayRef> output_size) {
  const OpScope op("conv_transpose1d");
  const auto added = output_padding(input, output_size);
  return functional::conv_transpose1d(input, weight, func_options(options, bias, added));
}

ConvTranspose2dImpl::ConvTranspose2dImpl(ConvTranspose2dOptions o) : ConvTransposeNdImpl(std::move(o)) {}

ConvTranspose2dImpl::ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
    : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}

Tensor ConvTranspose2dImpl::forward(const Tensor& input) { return forward(input, std::nullopt); }

Tensor ConvTranspose2dImpl::forward(const Tensor& input, std::optional<IntArrayRef> output_size) {
  const OpScope op("conv_transpose2d");
  const auto added = output_padding(input, output_size);
  return functional::conv_transpose2d(input, weight, func_options(options, bias, added));
}

ConvTranspose3dImpl::ConvTranspose3dImpl(ConvTranspose3dOptions o) : ConvTransposeNdImpl(std::move(o)) {}

ConvTranspose3dImpl::ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
    : ConvTranspose3dImpl(ConvTranspose3dOptions(in_channels, out_channels, kernel_size)) {}

Tensor ConvTranspose3dImpl::forward(const Tensor& input) { return forward(input, std::nullopt); }

Tensor ConvTranspose3dImpl::forward(const Tensor& input, std::optional<IntArrayRef> output_size) {
  const OpScope op("conv_transpose3d");
  const auto added = output_padding(input, output_size);
  return functional::conv_transpose3d(input, weight, func_options(options, bias, added));
}

}  // namespace tandem::nn
