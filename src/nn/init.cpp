#include "tandem/nn/init.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::init {

Tensor constant_(Tensor tensor, Scalar value) {
  const OpScope op("init::constant_");
  NoGradGuard no_grad;
  return tensor.fill_(value);
}

Tensor zeros_(Tensor tensor) {
  const OpScope op("init::zeros_");
  return constant_(std::move(tensor), 0);
}

Tensor ones_(Tensor tensor) {
  const OpScope op("init::ones_");
  return constant_(std::move(tensor), 1);
}

Tensor eye_(Tensor matrix) {
  const OpScope op("init::eye_");
  NoGradGuard no_grad;
  TANDEM_CHECK(matrix.dim() == 2, ShapeError, "needs rank 2, got {}; give a matrix", checks::show(matrix));
  return matrix.copy_(eye(matrix.size(0), matrix.size(1), matrix.options()));
}

Tensor uniform_(Tensor tensor, double low, double high) {
  const OpScope op("init::uniform_");
  NoGradGuard no_grad;
  return tensor.uniform_(low, high);
}

Tensor normal_(Tensor tensor, double mean, double std) {
  const OpScope op("init::normal_");
  NoGradGuard no_grad;
  return tensor.normal_(mean, std);
}

Fan calculate_fan_in_and_fan_out(const Tensor& tensor) {
  const OpScope op("init::calculate_fan_in_and_fan_out");
  TANDEM_CHECK(tensor.dim() >= 2, ShapeError,
               "fan in and fan out need rank 2 or more, got {}; initialise vectors with uniform_ or normal_",
               checks::show(tensor));
  int64_t field = 1;
  for (int64_t d = 2; d < tensor.dim(); ++d) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

namespace {

double xavier_std(const Tensor& tensor, double gain) {
  TANDEM_CHECK(std::isfinite(gain) && gain >= 0, StateError, "gain = {}; it must be finite and at least 0", gain);
  const Fan fan = calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fan.in + fan.out));
}

double kaiming_std(const Tensor& tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  const Fan fan = calculate_fan_in_and_fan_out(tensor);
  const double size = static_cast<double>(mode == FanMode::FanIn ? fan.in : fan.out);
  return calculate_gain(nonlinearity, a) / std::sqrt(size);
}

}  // namespace

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const OpScope op("init::xavier_uniform_");
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * xavier_std(tensor, gain);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  const OpScope op("init::xavier_normal_");
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double std = xavier_std(tensor, gain);
  return normal_(std::move(tensor), 0, std);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  const OpScope op("init::kaiming_uniform_");
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  const OpScope op("init::kaiming_normal_");
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, std);
}

Tensor dirac_(Tensor tensor, int64_t groups) {
  const OpScope op("init::dirac_");
  NoGradGuard no_grad;
  TANDEM_CHECK(tensor.dim() >= 3 && tensor.dim() <= 5, ShapeError,
               "needs the weight of a convolution, of rank 3, 4 or 5, got {}; use eye_ for a matrix",
               checks::show(tensor));
  TANDEM_CHECK(groups >= 1 && tensor.size(0) % groups == 0, StateError,
               "groups = {} does not divide the {} outputs of {}; give a divisor", groups, tensor.size(0),
               to_string(tensor.sizes()));
  tensor.zero_();
  if (tensor.numel() == 0) return tensor;
  // The ones of a group are on a diagonal through the middle of the filters.
  const int64_t outputs = tensor.size(0) / groups, count = std::min(outputs, tensor.size(1));
  int64_t middle = tensor.storage_offset();
  for (int64_t d = 2; d < tensor.dim(); ++d) middle += tensor.size(d) / 2 * tensor.stride(d);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = middle + g * outputs * tensor.stride(0);
    make_view(tensor, {count}, {tensor.stride(0) + tensor.stride(1)}, first).fill_(1);
  }
  return tensor;
}

namespace {

double dot(const double* a, const double* b, int64_t n) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Makes `count` vectors of `n` numbers, one after another in memory, orthonormal: Q of the QR decomposition in which R
/// has a positive diagonal. Modified Gram-Schmidt: the error is the condition number times 2^-53, and 2^-53 if
/// repeated. Source: Giraud, Langou and Rozloznik, "The loss of orthogonality in the Gram-Schmidt orthogonalization
/// process" (2005).
void orthonormalise(double* vectors, int64_t count, int64_t n) {
  for (int64_t i = 0; i < count; ++i) {
    double* q = vectors + i * n;
    const double length = std::sqrt(dot(q, q, n));
    for (int64_t k = 0; k < n; ++k) q[k] = length > 0 ? q[k] / length : 0;
    for (int64_t j = i + 1; j < count; ++j) {
      double* v = vectors + j * n;
      const double part = dot(q, v, n);
      for (int64_t k = 0; k < n; ++k) v[k] -= part * q[k];
    }
  }
}

}  // namespace

Tensor orthogonal_(Tensor tensor, double gain) {
  const OpScope op("init::orthogonal_");
  NoGradGuard no_grad;
  TANDEM_CHECK(tensor.dim() >= 2, ShapeError,
               "needs rank 2 or more, got {}; initialise vectors with uniform_ or normal_", checks::show(tensor));
  checks::floating("the tensor", tensor);
  TANDEM_CHECK(std::isfinite(gain), StateError, "gain = {}; it must be finite", gain);
  if (tensor.numel() == 0) return tensor;
  const int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const bool by_columns = rows >= columns;
  Tensor q = randn({rows, columns}, TensorOptions(tensor.dtype() == kDouble ? kDouble : kFloat).device(kCPU))
                 .to(kDouble, false, true);
  if (by_columns) q = q.t().contiguous();
  const int sweeps = tensor.dtype() == kDouble ? 2 : 1;  // one is enough for f32 accuracy
  for (int i = 0; i < sweeps; ++i) orthonormalise(q.raw<double>(), std::min(rows, columns), std::max(rows, columns));
  if (by_columns) q = q.t();
  return tensor.copy_(q.mul(gain).reshape(tensor.sizes()));
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  const OpScope op("init::sparse_");
  NoGradGuard no_grad;
  TANDEM_CHECK(tensor.dim() == 2, ShapeError, "needs rank 2, got {}; initialise a view of it", checks::show(tensor));
  TANDEM_CHECK(sparsity >= 0 && sparsity <= 1, StateError, "sparsity = {}, but must be in [0, 1]", sparsity);
  const int64_t rows = tensor.size(0), columns = tensor.size(1);
  const int64_t zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  tensor.normal_(0, std);
  const Tensor kept = ones({rows, columns}, TensorOptions(kBool).device(kCPU));
  for (int64_t column = 0; column < columns; ++column) {
    const Tensor order = randperm(rows, kCPU);
    for (int64_t i = 0; i < zeros; ++i) kept.raw<bool>()[order.raw<int64_t>()[i] * columns + column] = false;
  }
  return tensor.copy_(where(kept.to(tensor.device()), tensor, 0));
}

double calculate_gain(Nonlinearity nonlinearity, double param) {
  const OpScope op("init::calculate_gain");
  TANDEM_CHECK(std::isfinite(param), StateError, "param = {}; it must be finite", param);
  switch (nonlinearity) {
    case Nonlinearity::Tanh:
      return 5.0 / 3.0;
    case Nonlinearity::ReLU:
      return std::sqrt(2.0);
    case Nonlinearity::LeakyReLU:
      return std::sqrt(2.0 / (1.0 + param * param));
    default:
      return 1.0;
  }
}

}  // namespace tandem::nn::init
