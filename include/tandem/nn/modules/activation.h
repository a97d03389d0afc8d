#pragma once
// Activations as modules: the functions of tandem/ops/activation.h. `inplace` overwrites the input.
#include "tandem/nn/modules/options_module.h"
#include "tandem/nn/options/activation.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// max(x, 0)
TANDEM_OPTIONS_MODULE(ReLU);
/// x Phi(x), or its tanh approximation. Throws StateError if `approximate` is neither "none" nor "tanh".
TANDEM_OPTIONS_MODULE(GELU);
/// 1 / (1 + e^-x)
TANDEM_PLAIN_MODULE(Sigmoid);
/// The hyperbolic tangent.
TANDEM_PLAIN_MODULE(Tanh);
/// log(1 / (1 + e^-x))
TANDEM_PLAIN_MODULE(LogSigmoid);
/// x / (1 + |x|)
TANDEM_PLAIN_MODULE(Softsign);
/// x - tanh(x)
TANDEM_PLAIN_MODULE(Tanhshrink);
/// Softmax along `dim`, of -x for Softmin, and its logarithm.
TANDEM_OPTIONS_MODULE(Softmax);
TANDEM_OPTIONS_MODULE(Softmin);
TANDEM_OPTIONS_MODULE(LogSoftmax);
/// Softmax over the channels of [N, C, H, W] or [C, H, W]; other ranks throw ShapeError.
TANDEM_PLAIN_MODULE(Softmax2d);
/// Exponential for negative x.
TANDEM_OPTIONS_MODULE(ELU);
TANDEM_OPTIONS_MODULE(CELU);
TANDEM_OPTIONS_MODULE(SELU);
/// x, or a multiple of x for negative x; for RReLU a random one in training.
TANDEM_OPTIONS_MODULE(LeakyReLU);
TANDEM_OPTIONS_MODULE(RReLU);
/// Smooth activations.
TANDEM_OPTIONS_MODULE(SiLU);
TANDEM_OPTIONS_MODULE(Mish);
TANDEM_OPTIONS_MODULE(Softplus);
/// Activations of pieces.
TANDEM_OPTIONS_MODULE(ReLU6);
TANDEM_OPTIONS_MODULE(Hardtanh);
TANDEM_OPTIONS_MODULE(Hardsigmoid);
TANDEM_OPTIONS_MODULE(Hardswish);
TANDEM_OPTIONS_MODULE(Threshold);
/// 0 for |x| <= lambda; else x, or x moved towards 0 by lambda.
TANDEM_OPTIONS_MODULE(Hardshrink);
TANDEM_OPTIONS_MODULE(Softshrink);
/// The first half of `dim`, times the sigmoid of the second.
TANDEM_OPTIONS_MODULE(GLU);

/// x for x > 0, else weight x. The parameter weight has num_parameters entries, one for all channels or one for each,
/// and begins as `init`. Throws StateError for num_parameters below 1.
class PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  PReLUOptions options;
  Tensor weight;
};
TANDEM_MODULE(PReLU);

}  // namespace tandem::nn
#pragma GCC visibility pop
