#pragma once
// Element-wise activations and their derivatives. Integers give f32, except that relu keeps them. An undefined tensor
// throws StateError.
#include <string>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// max(x, 0); NaN for NaN
Tensor relu(const Tensor& x);
/// 1 / (1 + e^-x)
Tensor sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
/// x Phi(x), or with approximate = "tanh": 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
Tensor gelu(const Tensor& x, const std::string& approximate = "none");
/// log(1 + e^x)
Tensor softplus(const Tensor& x);
/// x / (1 + |x|)
Tensor softsign(const Tensor& x);
/// log(sigmoid(x))
Tensor logsigmoid(const Tensor& x);

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

#ifdef TANDEM_HEADER_ONLY_OPS
#include "tandem/ops/activation-inl.h"
#endif
