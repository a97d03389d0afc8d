#pragma once
// Dropout.
#include "tandem/nn/module.h"
#include "tandem/nn/options/dropout.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// In training, zeroes elements with probability p and scales the others by 1 / (1 - p). Throws StateError for p
/// outside [0, 1].
class DropoutImpl : public Cloneable<DropoutImpl> {
 public:
  DropoutImpl(double p) : DropoutImpl(DropoutOptions(p)) {}
  explicit DropoutImpl(const DropoutOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  DropoutOptions options;
};
TANDEM_MODULE(Dropout);

}  // namespace tandem::nn
#pragma GCC visibility pop
