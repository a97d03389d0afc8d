#include "tandem/nn/init.h"

#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::init {

Tensor constant_(Tensor tensor, Scalar value) {
  CurrentOp running("init::constant_");
  NoGradGuard no_grad;
  return tensor.fill_(value);
}

Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }
Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }

Tensor eye_(Tensor matrix) {
  CurrentOp running("init::eye_");
  NoGradGuard no_grad;
  TANDEM_CHECK(matrix.dim() == 2, ShapeError, "init::eye_: needs rank 2, got {}", to_string(matrix.sizes()));
  return matrix.copy_(eye(matrix.size(0), matrix.size(1), matrix.options()));
}

Tensor uniform_(Tensor tensor, double low, double high) {
  CurrentOp running("init::uniform_");
  NoGradGuard no_grad;
  return tensor.uniform_(low, high);
}

Tensor normal_(Tensor tensor, double mean, double std) {
  CurrentOp running("init::normal_");
  NoGradGuard no_grad;
  return tensor.normal_(mean, std);
}

Fan calculate_fan_in_and_fan_out(const Tensor& tensor) {
  TANDEM_CHECK(tensor.dim() >= 2, ShapeError,
               "init: fan in and fan out need rank 2 or more, got {}; initialise vectors with uniform_ or normal_",
               to_string(tensor.sizes()));
  int64_t field = 1;
  for (int64_t d = 2; d < tensor.dim(); ++d) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

namespace {

double xavier_std(const Tensor& tensor, double gain) {
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
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * xavier_std(tensor, gain);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double std = xavier_std(tensor, gain);
  return normal_(std::move(tensor), 0, std);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (tensor.dim() >= 2 && tensor.numel() == 0) return tensor;
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, std);
}

double calculate_gain(Nonlinearity nonlinearity, double param) {
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
