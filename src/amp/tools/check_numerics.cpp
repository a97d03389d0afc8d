#include "tandem/amp/tools/check_numerics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "src/amp/tools/text.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

/// The smallest normal number of a floating dtype.
double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::F16:
    case DType::F8E5M2:
      return 0x1p-14;
    case DType::F8E4M3FN:
      return 0x1p-6;
    case DType::F8E8M0FNU:
      return 0;
    case DType::F64:
      return std::numeric_limits<double>::min();
    default:
      return std::numeric_limits<float>::min();  // bf16 has the exponents of f32
  }
}

void count(Numerics& n, const double* values) {
  const double normal = smallest_normal(n.dtype);
  double sum = 0;
  for (int64_t i = 0; i < n.count; ++i) {
    const double x = values[i], magnitude = std::abs(x);
    if (std::isnan(x)) {
      ++n.nan;
    } else if (std::isinf(x)) {
      ++(x > 0 ? n.positive_inf : n.negative_inf);
    } else {
      n.min = std::fmin(n.min, x);  // fmin(NaN, x) is x
      n.max = std::fmax(n.max, x);
      n.amax = std::fmax(n.amax, magnitude);
      sum += x;
      if (x == 0) {
        ++n.zeros;
        continue;
      }
      ++n.exponents[std::ilogb(magnitude)];
      n.subnormals += magnitude < normal;
      // Ties round to even: 65520 to inf, 2^-25 to 0, and the tie just below 2^-14 to the normal 2^-14.
      n.f16_overflows += magnitude >= 65520;
      n.f16_underflows += magnitude <= 0x1p-25;
      n.f16_subnormals += magnitude > 0x1p-25 && magnitude < 0x1p-14 - 0x1p-25;
    }
  }
  for (int64_t i = 0; i < n.count; ++i) {
    const double magnitude = std::abs(values[i]);
    n.e4m3_underflows += magnitude > 0 && magnitude <= n.amax * 0x1p-10 / 448;
    n.e5m2_underflows += magnitude > 0 && magnitude <= n.amax * 0x1p-17 / 57344;
  }
  n.mean = sum / static_cast<double>(n.count - n.nonfinite());  // NaN (0 / 0) if no element is finite
}

}  // namespace

Numerics check_numerics(const Tensor& x) {
  const OpScope op("check_numerics");
  checks::defined("the tensor", x);
  if (!is_float8(x.dtype())) checks::floating("the tensor", x);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  Numerics n{.sizes = x.impl().sizes,
             .dtype = x.dtype(),
             .count = x.numel(),
             .min = none,
             .max = none,
             .mean = none,
             .amax = none,
             .exponents = {}};
  // Every floating dtype widens to f64 without loss. Calls the kernels directly, so that observers see no op.
  const Tensor host = empty(x.sizes(), x.options().device(kCPU)), wide = empty_like(host, kDouble);
  backend(x).copy(host, x);
  backend(wide).copy(wide, host);
  count(n, wide.raw<double>());
  return n;
}

std::string Numerics::summary() const {
  return fmt::format("{} {}: {} NaN, {} inf, {} zeros, {} subnormal; finite values in [{:.4g}, {:.4g}], mean {:.4g}",
                     to_string(sizes), tandem::name(dtype), nan, positive_inf + negative_inf, zeros, subnormals, min,
                     max, mean);
}

std::string Numerics::table() const {
  const auto share = [this](int64_t n) {
    return count ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(n) / static_cast<double>(count)) : "";
  };
  text::Table counts({fmt::format("{} {}", to_string(sizes), tandem::name(dtype)), "elements", ""});
  for (const auto& [what, n] : {std::pair<const char*, int64_t>{"all", count},
                                {"NaN", nan},
                                {"+inf", positive_inf},
                                {"-inf", negative_inf},
                                {"zero", zeros},
                                {"subnormal", subnormals},
                                {"would overflow in f16", f16_overflows},
                                {"would become 0 in f16", f16_underflows},
                                {"subnormal in f16", f16_subnormals},
                                {"would become 0 in e4m3fn, scaled", e4m3_underflows},
                                {"would become 0 in e5m2, scaled", e5m2_underflows}}) {
    counts.add({what, std::to_string(n), share(n)});
  }
  std::string lines =
      counts.str() + fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}  amax {:.6g}\n", min, max, mean, amax);
  if (exponents.empty()) return lines;
  constexpr int kBars = 24, kWidth = 40;
  const int first = exponents.begin()->first, last = exponents.rbegin()->first;
  const int step = (last - first) / kBars + 1;
  std::vector<int64_t> bars(static_cast<size_t>((last - first) / step + 1));
  for (const auto& [e, n] : exponents) bars[static_cast<size_t>((e - first) / step)] += n;
  const int64_t highest = *std::max_element(bars.begin(), bars.end());
  text::Table histogram({"|x| from", "elements", ""});
  for (size_t i = bars.size(); i-- > 0;) {
    const auto width = static_cast<size_t>((bars[i] * kWidth + highest - 1) / highest);
    histogram.add({fmt::format("2^{}", first + static_cast<int>(i) * step), std::to_string(bars[i]),
                   std::string(width, '#') + std::string(kWidth - width, ' ')});
  }
  return lines + histogram.str();
}

std::ostream& operator<<(std::ostream& stream, const Numerics& numerics) { return stream << numerics.table(); }

}  // namespace tandem::amp
