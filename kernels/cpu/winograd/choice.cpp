// When Winograd's method is used.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "kernels/cpu/products.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd/cost.h"
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

// Costs are times, in units of that of a product in f32. They are fitted to times of 16 to 1000 channels on 2 cores of
// a Zen 4 processor (AMD EPYC, family 25), those of the transposed formula to times of 32 and 64 channels on a Zen 3.

/// The products of all tiles, and the transforms of x, y and the weights.
double cost_of_tiles(const Tiles& tiles, const Tensor& y, const Tensor& x, double of_transform) {
  const auto inputs = static_cast<double>(x.size(1)), outputs = static_cast<double>(y.size(1));
  const auto padded_inputs = static_cast<double>(padded_to_panels(x.size(1)));
  const auto padded_outputs = static_cast<double>(padded_to_panels(y.size(1)));
  const auto count = static_cast<double>(tiles.count);
  return kPoints * count * padded_inputs * padded_outputs +
         count * (250 * padded_inputs + of_transform * padded_outputs) + 400 * inputs * outputs;
}

double cost(const Tensor& y, const Tensor& x, const Tensor& weight) {
  return cost_of_tiles(Tiles(y, weight.size(2)), y, x, 250);
}

double transposed_cost(const Tensor& gx, const Tensor& gy, const Tensor& weight) {
  constexpr int64_t kLeastImages = 16;
  if (gx.size(0) < kLeastImages) return std::numeric_limits<double>::infinity();
  return cost_of_tiles(Tiles(gy, weight.size(2)), gx, gy, 400);
}

/// Whether the method's cost is below that of a direct convolution.
bool is_faster(double cost, const Tensor& y, const Tensor& x, const Tensor& weight) {
  // Where one image is larger, its border is added by padding, which direct convolutions skip.
  const auto pixels = static_cast<double>(y.size(0) * std::min(x.size(2) * x.size(3), y.size(2) * y.size(3)));
  const double terms = pixels * static_cast<double>(weight.numel());
  constexpr double kGain = 1.15;  // with less, the method is not worth its error
  return kGain * cost < terms / products::relative_rate(x.dtype());
}

}  // namespace

bool pays(const Tensor& y, const Tensor& x, const Tensor& weight, const ConvParams& p) {
  return applies(y, x, weight, p) && is_faster(cost(y, x, weight), y, x, weight);
}

bool backward_input_pays(const Tensor& gx, const Tensor& gy, const Tensor& weight, const ConvParams& p) {
  if (!applies(gx, gy, weight, p)) return false;
  return is_faster(std::min(cost(gx, gy, weight), transposed_cost(gx, gy, weight)), gx, gy, weight);
}

bool transposed_is_faster(const Tensor& gx, const Tensor& gy, const Tensor& weight) {
  return transposed_cost(gx, gy, weight) < cost(gx, gy, weight);
}

}  // namespace tandem::cpu::winograd
