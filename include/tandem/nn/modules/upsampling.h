#pragma once
// Resizing as a module. The constructor throws StateError for invalid options.
#include "tandem/nn/module.h"
#include "tandem/nn/options/upsampling.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// functional::interpolate
class UpsampleImpl : public Cloneable<UpsampleImpl> {
 public:
  explicit UpsampleImpl(UpsampleOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  UpsampleOptions options;
};
TANDEM_MODULE(Upsample);

}  // namespace tandem::nn
#pragma GCC visibility pop
