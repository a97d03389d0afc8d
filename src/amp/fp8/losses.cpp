#include "tandem/amp/fp8/losses.h"

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::amp {
namespace {

double percent(int64_t part, int64_t all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

double Fp8Losses::saturated_percent() const { return percent(saturated, elements); }
double Fp8Losses::flushed_percent() const { return percent(flushed, elements); }

namespace detail {

Tensor count_losses(const Tensor& x, const Tensor& codes, const Float8Scales& scales) {
  const NoGradGuard no_grad;
  const AutocastOff no_autocast;
  const bool e4m3fn = codes.dtype() == kFloat8_e4m3fn;
  // The largest value plus half a step, as a multiple of it.
  const double beyond = e4m3fn ? 464.0 / 448 : 61440.0 / 57344;
  const Tensor magnitude = abs(x.to(kFloat)), value = abs(Fp8Tensor{codes, scales}.dequantize());
  const Tensor bits = bitwise_and(codes.view(kByte), 0x7f);
  const Tensor is_largest =
      eq(bits, static_cast<int32_t>(e4m3fn ? tandem::detail::E4m3fn::kLargest : tandem::detail::E5m2::kLargest));
  const Tensor saturated = logical_and(logical_and(is_largest, isfinite(magnitude)), gt(magnitude, mul(value, beyond)));
  const Tensor flushed = logical_and(eq(bits, 0), gt(magnitude, 0));
  return stack({sum(saturated), sum(flushed)});
}

}  // namespace detail

Fp8Losses fp8_losses(const Tensor& x, const Fp8Tensor& rounded) {
  const OpScope op("fp8_losses");
  checks::floating("x", x);
  TANDEM_CHECK(x.sizes() == rounded.codes.sizes(), ShapeError, "x is {}, but was rounded to {}", checks::show(x),
               checks::show(rounded.codes));
  const Tensor counts = detail::count_losses(x, rounded.codes, rounded.scales).to(kCPU);
  return {x.numel(), counts[0].item<int64_t>(), counts[1].item<int64_t>()};
}

std::vector<LogValue> fp8_log_values(const nn::Module& model) {
  const NoGradGuard no_grad;
  const AutocastOff no_autocast;
  constexpr const char* kRows[] = {"input", "weight", "gradient"};
  std::vector<LogValue> values;
  for (const auto& [name, parameter] : model.named_parameters()) {
    const auto kept = find_weight_float8(parameter);
    if (!kept || !kept->delayed.defined()) continue;
    const Tensor& state = kept->delayed;
    for (int64_t row = 0; row < kDelayedRows; ++row) {
      const Tensor own = state.select(0, row);
      values.emplace_back(fmt::format("{}.{}_scale", name, kRows[row]), own.select(0, 0).clone());
      // The newest amax is the last one: the first place is for the iteration that is not over.
      if (state.size(1) > 2)
        values.emplace_back(fmt::format("{}.{}_amax", name, kRows[row]), own.select(0, -1).clone());
    }
  }
  return values;
}

}  // namespace tandem::amp
