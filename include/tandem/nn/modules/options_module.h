#pragma once
// The pattern of the many modules that have options and neither parameters nor buffers.
#include <concepts>
#include <utility>

#include "tandem/nn/module.h"

/// Defines the module class `NameImpl` and its holder `Name`. The constructor takes `NameOptions`, or what these are
/// made of: `Softmax(1)`, `Threshold(0.1, 20)`. reset() throws StateError for invalid options.
#define TANDEM_OPTIONS_MODULE(Name)                                                         \
  class Name##Impl : public ::tandem::nn::Cloneable<Name##Impl> {                           \
   public:                                                                                  \
    template <class... Args>                                                                \
    requires std::constructible_from<Name##Options, Args...>                                \
    explicit Name##Impl(Args&&... args) : options(std::forward<Args>(args)...) { reset(); } \
    void reset() override;                                                                  \
    ::tandem::Tensor forward(const ::tandem::Tensor& input);                                \
    void pretty_print(std::ostream& stream) const override;                                 \
                                                                                            \
    Name##Options options;                                                                  \
  };                                                                                        \
  TANDEM_MODULE(Name)

/// The same for modules without options.
#define TANDEM_PLAIN_MODULE(Name)                                 \
  class Name##Impl : public ::tandem::nn::Cloneable<Name##Impl> { \
   public:                                                        \
    void reset() override {}                                      \
    ::tandem::Tensor forward(const ::tandem::Tensor& input);      \
    void pretty_print(std::ostream& stream) const override;       \
  };                                                              \
  TANDEM_MODULE(Name)
