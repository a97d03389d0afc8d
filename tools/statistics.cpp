#include "tools/statistics.h"

#include <fmt/format.h>
#include <tandem/amp/tools/check_numerics.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tools {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallLoss = 0.01;  // share of the values

template <class T>
double widened(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

void count_values(const tandem::Tensor& x, Statistics& s) {
  const tandem::Tensor contiguous = x.contiguous();
  double sum = 0;
  tandem::visit_dtype(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* values = contiguous.const_data_ptr<T>();
    for (int64_t i = 0; i < s.count; ++i) {
      const double value = widened(values[i]), magnitude = std::abs(value);
      if (!std::isfinite(value)) {
        ++(std::isnan(value) ? s.nan : s.inf);
        continue;
      }
      sum += value;
      s.min = std::fmin(s.min, value);
      s.max = std::fmax(s.max, value);
      s.largest = std::fmax(s.largest, magnitude);
      if (magnitude == 0) {
        ++s.zeros;
      } else {
        s.smallest_nonzero = std::fmin(s.smallest_nonzero, magnitude);
      }
    }
  });
  const int64_t finite = s.count - s.nan - s.inf;
  if (finite > 0) s.mean = sum / static_cast<double>(finite);
}

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

bool Statistics::fits_f16() const { return f16_overflows == 0 && share(f16_underflows, nonzero()) <= kSmallLoss; }

std::string Statistics::verdict() const {
  if (!floating) return "not a floating dtype";
  if (number) return "a number, not a tensor";
  std::string text;
  const auto add = [&](const std::string& words) { text.append(text.empty() ? "" : "; ").append(words); };
  const auto percent = [&](int64_t part) { return fmt::format("{:.3g} %", 100 * share(part, nonzero())); };
  if (nan + inf > 0) add(fmt::format("has {} NaN and {} inf", nan, inf));
  if (f16_overflows > 0) {
    add(fmt::format("{} {} inf in f16", f16_overflows, f16_overflows == 1 ? "value becomes" : "values become"));
  }
  if (share(f16_underflows, nonzero()) > kSmallLoss) {
    add(fmt::format("{} of the nonzero values become 0 in f16", percent(f16_underflows)));
  }
  if (fits_f16()) {
    add("fits f16");
    if (dtype != tandem::kHalf && share(f16_subnormals, nonzero()) > kSmallLoss) {
      add(fmt::format("{} of the nonzero values lose bits", percent(f16_subnormals)));
    }
  }
  return text;
}

bool is_number(const tandem::Tensor& x) { return x.dim() == 0 && x.dtype() == tandem::kDouble; }

Statistics statistics(const tandem::Tensor& x) {
  Statistics s{.dtype = x.dtype(),
               .count = x.numel(),
               .min = kNaN,
               .max = kNaN,
               .mean = kNaN,
               .largest = kNaN,
               .smallest_nonzero = kNaN};
  s.floating = tandem::is_floating_point(x.dtype());
  s.number = is_number(x);
  count_values(x, s);
  if (s.floating) {
    const tandem::amp::Numerics numerics = tandem::amp::check_numerics(x);
    s.f16_overflows = numerics.f16_overflows;
    s.f16_underflows = numerics.f16_underflows;
    s.f16_subnormals = numerics.f16_subnormals;
  }
  return s;
}

}  // namespace tools
