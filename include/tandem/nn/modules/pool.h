#pragma once
// Pooling layers. The constructors throw StateError for invalid options.
#include <optional>
#include <tuple>
#include <vector>

#include "tandem/nn/modules/options_module.h"
#include "tandem/nn/options/pool.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Defines a module whose forward_with_indices() also returns where the maxima are.
#define TANDEM_MAX_POOL_MODULE(Name)                                                        \
  class Name##Impl : public Cloneable<Name##Impl> {                                         \
   public:                                                                                  \
    template <class... Args>                                                                \
    requires std::constructible_from<Name##Options, Args...>                                \
    explicit Name##Impl(Args&&... args) : options(std::forward<Args>(args)...) { reset(); } \
    void reset() override;                                                                  \
    Tensor forward(const Tensor& input);                                                    \
    std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);                   \
    void pretty_print(std::ostream& stream) const override;                                 \
                                                                                            \
    Name##Options options;                                                                  \
  };                                                                                        \
  TANDEM_MODULE(Name)

/// Largest value of each window.
TANDEM_MAX_POOL_MODULE(MaxPool1d);
TANDEM_MAX_POOL_MODULE(MaxPool2d);
TANDEM_MAX_POOL_MODULE(MaxPool3d);
/// Largest values of windows that divide the input into parts; the output has a given size.
TANDEM_MAX_POOL_MODULE(AdaptiveMaxPool1d);
TANDEM_MAX_POOL_MODULE(AdaptiveMaxPool2d);
TANDEM_MAX_POOL_MODULE(AdaptiveMaxPool3d);
/// Largest values of windows at random places. The places are drawn in each call, also in eval mode, unless the options
/// have _random_samples.
TANDEM_MAX_POOL_MODULE(FractionalMaxPool2d);
TANDEM_MAX_POOL_MODULE(FractionalMaxPool3d);
#undef TANDEM_MAX_POOL_MODULE

/// Mean of each window.
TANDEM_OPTIONS_MODULE(AvgPool1d);
TANDEM_OPTIONS_MODULE(AvgPool2d);
TANDEM_OPTIONS_MODULE(AvgPool3d);
/// Means of windows that divide the input into parts; the output has a given size.
TANDEM_OPTIONS_MODULE(AdaptiveAvgPool1d);
TANDEM_OPTIONS_MODULE(AdaptiveAvgPool2d);
TANDEM_OPTIONS_MODULE(AdaptiveAvgPool3d);
/// (sum of x^p over each window)^(1/p)
TANDEM_OPTIONS_MODULE(LPPool1d);
TANDEM_OPTIONS_MODULE(LPPool2d);
TANDEM_OPTIONS_MODULE(LPPool3d);

/// Defines the reverse of a max pooling module.
#define TANDEM_UNPOOL_MODULE(Name)                                                          \
  class Name##Impl : public Cloneable<Name##Impl> {                                         \
   public:                                                                                  \
    template <class... Args>                                                                \
    requires std::constructible_from<Name##Options, Args...>                                \
    explicit Name##Impl(Args&&... args) : options(std::forward<Args>(args)...) { reset(); } \
    void reset() override;                                                                  \
    Tensor forward(const Tensor& input, const Tensor& indices,                              \
                   const std::optional<std::vector<int64_t>>& output_size = std::nullopt);  \
    void pretty_print(std::ostream& stream) const override;                                 \
                                                                                            \
    Name##Options options;                                                                  \
  };                                                                                        \
  TANDEM_MODULE(Name)

/// Zeros, with the elements of the input at the places that max pooling found.
TANDEM_UNPOOL_MODULE(MaxUnpool1d);
TANDEM_UNPOOL_MODULE(MaxUnpool2d);
TANDEM_UNPOOL_MODULE(MaxUnpool3d);
#undef TANDEM_UNPOOL_MODULE

}  // namespace tandem::nn
#pragma GCC visibility pop
