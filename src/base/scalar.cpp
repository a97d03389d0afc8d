#include "tandem/base/scalar.h"

#include "tandem/base/check.h"

namespace tandem {

Scalar Scalar::operator-() const {
  const OpScope op("neg");
  TANDEM_CHECK(!is_boolean(), DTypeError, "a bool has no negative; use !");
  TANDEM_CHECK(kind_ != DType::U64 || int_ == std::numeric_limits<int64_t>::min(), DTypeError,
               "{} has no negative in i64; use to_double()", str());
  return is_floating_point() ? Scalar(-double_) : Scalar(static_cast<int64_t>(-static_cast<uint64_t>(int_)));
}

std::string Scalar::str() const {
  return is_boolean()          ? fmt::format("{}", to_int64() != 0)
         : kind_ == DType::U64 ? fmt::format("{}", to<uint64_t>())
         : is_integral()       ? fmt::format("{}", to_int64())
                               : fmt::format("{}", to_double());
}

void check_fits(Scalar value, DType t) {
  TANDEM_CHECK(value.fits(t), StateError, "{} is outside the range of {}; give another number or a wider dtype",
               value.str(), name(t));
}

}  // namespace tandem
