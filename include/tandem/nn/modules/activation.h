#pragma once
// Activations as modules.
#include "tandem/nn/module.h"
#include "tandem/nn/options/activation.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// max(x, 0)
class ReLUImpl : public Cloneable<ReLUImpl> {
 public:
  explicit ReLUImpl(const ReLUOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  ReLUOptions options;
};
TANDEM_MODULE(ReLU);

/// x Phi(x), or its tanh approximation. Throws StateError if `approximate` is neither "none" nor "tanh".
class GELUImpl : public Cloneable<GELUImpl> {
 public:
  explicit GELUImpl(GELUOptions options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  GELUOptions options;
};
TANDEM_MODULE(GELU);

/// 1 / (1 + e^-x)
class SigmoidImpl : public Cloneable<SigmoidImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Sigmoid);

class TanhImpl : public Cloneable<TanhImpl> {
 public:
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Tanh);

/// Softmax along `dim`.
class SoftmaxImpl : public Cloneable<SoftmaxImpl> {
 public:
  explicit SoftmaxImpl(int64_t dim) : SoftmaxImpl(SoftmaxOptions(dim)) {}
  explicit SoftmaxImpl(const SoftmaxOptions& options_) : options(options_) {}
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  SoftmaxOptions options;
};
TANDEM_MODULE(Softmax);

/// log(softmax(x)) along `dim`.
class LogSoftmaxImpl : public Cloneable<LogSoftmaxImpl> {
 public:
  explicit LogSoftmaxImpl(int64_t dim) : LogSoftmaxImpl(LogSoftmaxOptions(dim)) {}
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options_) : options(options_) {}
  void reset() override {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  LogSoftmaxOptions options;
};
TANDEM_MODULE(LogSoftmax);

}  // namespace tandem::nn
#pragma GCC visibility pop
