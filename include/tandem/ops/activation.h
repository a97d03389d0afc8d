#pragma once
// Element-wise activations and their derivatives. Integers give f32, except that relu keeps them. An undefined tensor
// throws StateError.
#include <optional>
#include <string>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// max(x, 0); NaN for NaN
Tensor relu(const Tensor& x);
/// 1 / (1 + e^-x)
Tensor sigmoid(const Tensor& x);
/// The hyperbolic tangent.
Tensor tanh(const Tensor& x);
/// x Phi(x), or with approximate = "tanh": 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
Tensor gelu(const Tensor& x, const std::string& approximate = "none");
/// log(1 + e^(beta x)) / beta, and x where beta x > threshold
Tensor softplus(const Tensor& x, Scalar beta = 1, Scalar threshold = 20);
/// x / (1 + |x|)
Tensor softsign(const Tensor& x);
/// log(sigmoid(x))
Tensor logsigmoid(const Tensor& x);
/// x sigmoid(x)
Tensor silu(const Tensor& x);
/// x tanh(softplus(x))
Tensor mish(const Tensor& x);
/// scale x for x > 0, else scale alpha (e^(input_scale x) - 1)
Tensor elu(const Tensor& x, Scalar alpha = 1, Scalar scale = 1, Scalar input_scale = 1);
/// elu with the scale and the alpha of self-normalising networks
Tensor selu(const Tensor& x);
/// x for x > 0, else alpha (e^(x / alpha) - 1). Throws StateError for alpha = 0.
Tensor celu(const Tensor& x, Scalar alpha = 1);
/// x for x > 0, else negative_slope x
Tensor leaky_relu(const Tensor& x, Scalar negative_slope = 0.01);
/// Leaky relu with a random slope per element, uniform in [lower, upper), in training; else their mean.
Tensor rrelu(const Tensor& x, Scalar lower = 1.0 / 8, Scalar upper = 1.0 / 3, bool training = false,
             std::optional<Generator> generator = {});
/// x for x > 0, else weight x. weight: one number, or one per channel (dimension 1).
Tensor prelu(const Tensor& x, const Tensor& weight);
/// min(max(x, min_val), max_val); integers stay integers. The gradient is passed strictly between the bounds.
Tensor hardtanh(const Tensor& x, Scalar min_val = -1, Scalar max_val = 1);
/// min(max(x, 0), 6)
Tensor relu6(const Tensor& x);
/// min(max(x + 3, 0), 6) / 6
Tensor hardsigmoid(const Tensor& x);
/// x hardsigmoid(x)
Tensor hardswish(const Tensor& x);
/// x where |x| > lambda, else 0
Tensor hardshrink(const Tensor& x, Scalar lambda = 0.5);
/// x moved towards 0 by lambda, 0 for |x| <= lambda. Throws StateError for a negative lambda.
Tensor softshrink(const Tensor& x, Scalar lambda = 0.5);
/// x - tanh(x)
Tensor tanhshrink(const Tensor& x);
/// x where x > threshold, else value; integers stay integers.
Tensor threshold(const Tensor& x, Scalar threshold, Scalar value);
/// a sigmoid(b), where a and b are the halves of x along `dim`, whose size must be even.
Tensor glu(const Tensor& x, int64_t dim = -1);
/// softmax(-x)
Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// softmax((x + Gumbel noise) / tau) along `dim`: a differentiable sample of a category. With `hard`, the value is
/// one-hot, and the gradient that of the soft sample.
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t dim = -1);

// ---- derivatives, as ops
/// 0 where y <= 0, else gy
Tensor relu_backward(const Tensor& gy, const Tensor& y);
/// gy y (1 - y)
Tensor sigmoid_backward(const Tensor& gy, const Tensor& y);
/// gy (1 - y^2)
Tensor tanh_backward(const Tensor& gy, const Tensor& y);
/// gy (Phi(x) + x phi(x))
Tensor gelu_backward(const Tensor& gy, const Tensor& x);

}  // namespace tandem
#pragma GCC visibility pop
