#include "tandem/base/scalar.h"

#include "tandem/base/check.h"

namespace tandem {

std::string Scalar::str() const {
  return is_boolean()    ? fmt::format("{}", to_int64() != 0)
         : is_integral() ? fmt::format("{}", to_int64())
                         : fmt::format("{}", to_double());
}

void check_fits(Scalar value, DType t) {
  TANDEM_CHECK(value.fits(t), StateError, "{} is outside the range of {}; give another number or a wider dtype",
               value.str(), name(t));
}

}  // namespace tandem
