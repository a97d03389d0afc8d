// When Winograd's method is used.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "kernels/cpu/products.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd/tiles.h"

namespace tandem::cpu::winograd {
namespace {

bool is_allowed() {
  static const bool allowed = [] {
    const char* const wanted = std::getenv("TANDEM_WINOGRAD");
    return !(wanted && std::string_view(wanted) == "0");
  }();
  return allowed;
}

bool applies(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p) {
  if (!is_allowed() || x.dim() != 4) return false;
  for (const Tensor* t : {&y, &x, &weight}) {
    if (t->dtype() == kDouble) return false;
  }
  const int64_t side = weight.size(2);
  for (size_t d = 0; d < 2; ++d) {
    if (weight.sizes()[d + 2] != side || p.stride[d] != 1 || p.dilation[d] != 1) return false;
  }
  return (side == 3 || side == 5) && p.groups == 1;
}

}  // namespace

bool pays(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p) {
  if (!applies(y, x, weight, p)) return false;
  // In products of f32, fitted to times of 16 to 1000 channels on 2 cores of a Zen 4 processor (AMD EPYC, family 25).
  const auto inputs = static_cast<double>(x.size(1)), outputs = static_cast<double>(y.size(1));
  const auto padded_inputs = static_cast<double>(padded_to_panels(x.size(1)));
  const auto padded_outputs = static_cast<double>(padded_to_panels(y.size(1)));
  const auto tiles = static_cast<double>(Tiles(y, weight.size(2)).count);
  const double products = kPoints * tiles * padded_inputs * padded_outputs;
  const double transforms = 250 * tiles * (padded_inputs + padded_outputs) + 400 * inputs * outputs;
  // Where one image is larger, its border is added by padding, which direct convolutions skip.
  const auto pixels = static_cast<double>(y.size(0) * std::min(x.size(2) * x.size(3), y.size(2) * y.size(3)));
  const double terms = pixels * static_cast<double>(weight.size(2) * weight.size(3)) * inputs * outputs;
  constexpr double kGain = 1.15;  // with less, the method is not worth its error
  return kGain * (products + transforms) < terms / products::relative_rate(x.dtype());
}

}  // namespace tandem::cpu::winograd
