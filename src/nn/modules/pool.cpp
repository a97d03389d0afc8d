#include "tandem/nn/modules/pool.h"

#include "src/nn/define-inl.h"
#include "tandem/base/check.h"

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

template <class Options>
void check_divisor(const Options& options) {
  if constexpr (requires { options.divisor_override(); }) {
    TANDEM_CHECK(options.divisor_override() != 0, StateError, "divisor_override = 0; use another number, or omit it");
  }
}

template <class T, size_t D>
void check_output_size(const std::array<T, D>& sizes) {
  for (const std::optional<int64_t> size : sizes) {
    TANDEM_CHECK(!size || *size >= 1, StateError, "output_size has {}; each entry must be at least 1, or nullopt",
                 *size);
  }
}

void check_norm(double norm_type) { TANDEM_CHECK(norm_type != 0, StateError, "norm_type = 0, which has no root"); }

template <class Options>
void check_fractional(const Options& options) {
  check_windows(options.kernel_size(), {1}, {0}, {1});
  TANDEM_CHECK(options.output_size().has_value() != options.output_ratio().has_value(), StateError,
               "{} of output_size and output_ratio are given; give one of them",
               options.output_size() ? "both" : "none");
  if (options.output_size()) check_output_size(**options.output_size());
  if (!options.output_ratio()) return;
  for (double ratio : **options.output_ratio()) {
    TANDEM_CHECK(ratio > 0 && ratio < 1, StateError, "output_ratio contains {}, but must be between 0 and 1", ratio);
  }
}

template <class Options>
auto unpool_options(const Options& options, const std::optional<std::vector<int64_t>>& output_size) {
  constexpr size_t dims = std::tuple_size_v<std::remove_cvref_t<decltype(*options.kernel_size())>>;
  return functional::MaxUnpoolFuncOptions<dims>(options.kernel_size())
      .stride(options.stride())
      .padding(options.padding())
      .output_size(output_size);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TANDEM_MAX_POOL(Name, FUNCTION)                                                                               \
  TANDEM_DEFINE_MODULE(Name, functional::FUNCTION(input, options),                                                    \
                       .field("kernel_size", options.kernel_size())                                                   \
                           .field("stride", options.stride())                                                         \
                           .field("padding", options.padding())                                                       \
                           .field("dilation", options.dilation())                                                     \
                           .field("ceil_mode", options.ceil_mode()),                                                  \
                       check_windows(options.kernel_size(), options.stride(), options.padding(), options.dilation())) \
  TANDEM_INDICES(Name, FUNCTION)
#define TANDEM_INDICES(Name, FUNCTION)                                               \
  std::tuple<Tensor, Tensor> Name##Impl::forward_with_indices(const Tensor& input) { \
    return functional::FUNCTION##_with_indices(input, options);                      \
  }
#define TANDEM_AVG_POOL(Name, FUNCTION)                                                                \
  TANDEM_DEFINE_MODULE(Name, functional::FUNCTION(input, options),                                     \
                       .field("kernel_size", options.kernel_size())                                    \
                           .field("stride", options.stride())                                          \
                           .field("padding", options.padding()),                                       \
                       check_windows(options.kernel_size(), options.stride(), options.padding(), {1}); \
                       check_divisor(options))
#define TANDEM_ADAPTIVE(Name, FUNCTION)                                                                          \
  TANDEM_DEFINE_MODULE(Name, functional::FUNCTION(input, options), .field("output_size", options.output_size()), \
                       check_output_size(*options.output_size()))
#define TANDEM_ADAPTIVE_MAX(Name, FUNCTION) TANDEM_ADAPTIVE(Name, FUNCTION) TANDEM_INDICES(Name, FUNCTION)
#define TANDEM_LP_POOL(Name, FUNCTION)                                                   \
  TANDEM_DEFINE_MODULE(Name, functional::FUNCTION(input, options),                       \
                       .field("norm_type", options.norm_type())                          \
                           .field("kernel_size", options.kernel_size())                  \
                           .field("stride", options.stride())                            \
                           .field("ceil_mode", options.ceil_mode()),                     \
                       check_windows(options.kernel_size(), options.stride(), {0}, {1}); \
                       check_norm(options.norm_type()))
#define TANDEM_FRACTIONAL(Name, FUNCTION)                                                       \
  TANDEM_DEFINE_MODULE(Name, functional::FUNCTION(input, options), , check_fractional(options)) \
  TANDEM_INDICES(Name, FUNCTION)
#define TANDEM_UNPOOL(Name, FUNCTION)                                                  \
  void Name##Impl::reset() {                                                           \
    const OpScope op(#Name);                                                           \
    check_windows(options.kernel_size(), options.stride(), options.padding(), {1});    \
  }                                                                                    \
  Tensor Name##Impl::forward(const Tensor& input, const Tensor& indices,               \
                             const std::optional<std::vector<int64_t>>& output_size) { \
    return functional::FUNCTION(input, indices, unpool_options(options, output_size)); \
  }                                                                                    \
  void Name##Impl::pretty_print(std::ostream& stream) const {                          \
    Description(stream, #Name)                                                         \
        .field("kernel_size", options.kernel_size())                                   \
        .field("stride", options.stride())                                             \
        .field("padding", options.padding());                                          \
  }
// NOLINTEND(bugprone-macro-parentheses)

TANDEM_MAX_POOL(MaxPool1d, max_pool1d)
TANDEM_MAX_POOL(MaxPool2d, max_pool2d)
TANDEM_MAX_POOL(MaxPool3d, max_pool3d)
TANDEM_AVG_POOL(AvgPool1d, avg_pool1d)
TANDEM_AVG_POOL(AvgPool2d, avg_pool2d)
TANDEM_AVG_POOL(AvgPool3d, avg_pool3d)
TANDEM_ADAPTIVE(AdaptiveAvgPool1d, adaptive_avg_pool1d)
TANDEM_ADAPTIVE(AdaptiveAvgPool2d, adaptive_avg_pool2d)
TANDEM_ADAPTIVE(AdaptiveAvgPool3d, adaptive_avg_pool3d)
TANDEM_ADAPTIVE_MAX(AdaptiveMaxPool1d, adaptive_max_pool1d)
TANDEM_ADAPTIVE_MAX(AdaptiveMaxPool2d, adaptive_max_pool2d)
TANDEM_ADAPTIVE_MAX(AdaptiveMaxPool3d, adaptive_max_pool3d)
TANDEM_LP_POOL(LPPool1d, lp_pool1d)
TANDEM_LP_POOL(LPPool2d, lp_pool2d)
TANDEM_LP_POOL(LPPool3d, lp_pool3d)
TANDEM_FRACTIONAL(FractionalMaxPool2d, fractional_max_pool2d)
TANDEM_FRACTIONAL(FractionalMaxPool3d, fractional_max_pool3d)
TANDEM_UNPOOL(MaxUnpool1d, max_unpool1d)
TANDEM_UNPOOL(MaxUnpool2d, max_unpool2d)
TANDEM_UNPOOL(MaxUnpool3d, max_unpool3d)

#undef TANDEM_MAX_POOL
#undef TANDEM_INDICES
#undef TANDEM_AVG_POOL
#undef TANDEM_ADAPTIVE
#undef TANDEM_ADAPTIVE_MAX
#undef TANDEM_LP_POOL
#undef TANDEM_FRACTIONAL
#undef TANDEM_UNPOOL

}  // namespace tandem::nn
