#pragma once
// nn::init: initial values. Each function writes the tensor in place, unrecorded, and returns it. Random numbers come
// from default_generator(); sampling is done in the tensor's dtype. Throws StateError for an undefined tensor and for
// numbers that are not finite, DTypeError when random numbers are to go into integers.
#include "tandem/nn/enum.h"
#include "tandem/tensor/tensor.h"

namespace tandem::nn::init {

Tensor constant_(Tensor tensor, Scalar value);
Tensor zeros_(Tensor tensor);
Tensor ones_(Tensor tensor);
/// 1 on the diagonal, 0 elsewhere; rank 2, else ShapeError.
Tensor eye_(Tensor matrix);
/// Uniform in [low, high). Throws StateError when low > high.
Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
/// Throws StateError when std < 0.
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
/// Uniform in +-gain sqrt(6 / (fan_in + fan_out)). Source: Glorot and Bengio, "Understanding the difficulty of training
/// deep feedforward neural networks" (2010).
Tensor xavier_uniform_(Tensor tensor, double gain = 1.0);
/// Normal with std gain sqrt(2 / (fan_in + fan_out)).
Tensor xavier_normal_(Tensor tensor, double gain = 1.0);
/// Uniform in +-gain sqrt(3 / fan), where gain is calculate_gain(nonlinearity, a). Source: He et al., "Delving Deep
/// into Rectifiers" (2015).
Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanMode mode = kFanIn, Nonlinearity nonlinearity = kLeakyReLU);
/// Normal with std gain / sqrt(fan).
Tensor kaiming_normal_(Tensor tensor, double a = 0, FanMode mode = kFanIn, Nonlinearity nonlinearity = kLeakyReLU);

/// Channel i of a group's inputs goes to its output i unchanged, as far as there are both; everything else is 0. For
/// convolutions, [out, in, ...] of rank 3, 4 or 5, else ShapeError; StateError when `groups` does not divide `out`.
Tensor dirac_(Tensor tensor, int64_t groups = 1);
/// Rows, or columns where there are fewer of them, that are orthogonal to each other and have the length `gain`; of
/// rank 2 or more, [out, ...] as [out, product of the rest]. Q of the QR decomposition, R's diagonal positive, of
/// normal numbers, drawn on the CPU in f32 (f64 for f64) and decomposed in f64. Source: Saxe et al., "Exact solutions
/// to the nonlinear dynamics of learning in deep linear neural networks" (2013). Throws ShapeError below rank 2.
Tensor orthogonal_(Tensor tensor, double gain = 1.0);
/// Normal with this std, with ceil(sparsity rows) zeros in every column. Rank 2, else ShapeError; StateError when
/// sparsity is outside [0, 1]. Source: Martens, "Deep learning via Hessian-free optimization" (2010).
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);

/// How much a layer's standard deviation must grow to make up for what follows it: 1, tanh 5/3, ReLU sqrt 2, leaky ReLU
/// sqrt(2 / (1 + param^2)). Throws StateError unless param is finite.
double calculate_gain(Nonlinearity nonlinearity, double param = 0.01);

/// Inputs and outputs of one unit: for [out, in, ...] in and out times the product of the rest. Throws ShapeError below
/// rank 2.
struct Fan {
  int64_t in, out;
};
Fan calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace tandem::nn::init
