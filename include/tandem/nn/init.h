#pragma once
// nn::init: initial values. Each function writes the tensor in place, without recording, and returns it. Random numbers
// come from default_generator(); sampling is done in the tensor's dtype. The functions throw StateError for an
// undefined tensor and for numbers that are not finite, and DTypeError for random numbers in an integer tensor.
#include "tandem/nn/enum.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn::init {

/// Fill a tensor with a value, 0 or 1, and return it.
Tensor constant_(Tensor tensor, Scalar value);
Tensor zeros_(Tensor tensor);
Tensor ones_(Tensor tensor);
/// 1 on the diagonal, 0 elsewhere. Throws ShapeError unless the rank is 2.
Tensor eye_(Tensor matrix);
/// Uniform in [low, high). Throws StateError if low > high.
Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
/// Normal. Throws StateError if std < 0.
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

/// Weight of a convolution, [out, in, ...], that passes input channel i of each group to output i of the group
/// unchanged, if both exist; all other outputs are 0. Throws ShapeError unless the rank is 3, 4 or 5, StateError if
/// `groups` does not divide `out`.
Tensor dirac_(Tensor tensor, int64_t groups = 1);
/// Rows, or columns if there are fewer, that are orthogonal to each other and have the length `gain`. A tensor of
/// higher rank, [out, ...], counts as [out, product of the rest]. Computed as Q of the QR decomposition, with a
/// positive diagonal of R, of normal numbers, which are drawn on the CPU in f32 (f64 for f64) and decomposed in f64.
/// Throws ShapeError below rank 2. Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep
/// linear neural networks" (2013).
Tensor orthogonal_(Tensor tensor, double gain = 1.0);
/// Normal with this std, but with ceil(sparsity rows) zeros in each column. Throws ShapeError unless the rank is 2,
/// StateError if sparsity is outside [0, 1]. Source: Martens, "Deep learning via Hessian-free optimization" (2010).
Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);

/// Returns the factor of a layer's standard deviation that compensates for the function that follows: tanh 5/3, ReLU
/// sqrt(2), leaky ReLU sqrt(2 / (1 + param^2)), otherwise 1. Throws StateError unless param is finite.
double calculate_gain(Nonlinearity nonlinearity, double param = 0.01);

/// The numbers of inputs and outputs of one unit.
struct Fan {
  int64_t in, out;
};
/// Returns, for a weight [out, in, ...], in and out, each times the product of the other sizes. Throws ShapeError below
/// rank 2.
Fan calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace tandem::nn::init
#pragma GCC visibility pop
