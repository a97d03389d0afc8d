#pragma once
// Unfold, Fold.
#include "tandem/nn/module.h"
#include "tandem/nn/options/fold.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// functional::unfold. Throws StateError for invalid options.
class UnfoldImpl : public Cloneable<UnfoldImpl> {
 public:
  UnfoldImpl(ExpandingArray<2> kernel_size);
  explicit UnfoldImpl(const UnfoldOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  UnfoldOptions options;
};
TANDEM_MODULE(Unfold);

/// functional::fold. Throws StateError for invalid options.
class FoldImpl : public Cloneable<FoldImpl> {
 public:
  FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size);
  explicit FoldImpl(const FoldOptions& options);
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  FoldOptions options;
};
TANDEM_MODULE(Fold);

}  // namespace tandem::nn
#pragma GCC visibility pop
