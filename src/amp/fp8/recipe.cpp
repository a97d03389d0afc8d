#include "tandem/amp/fp8/recipe.h"

#include "tandem/base/check.h"

namespace tandem::amp {

DType fp8_dtype(Fp8Format format, Fp8Role role) {
  if (format == Fp8Format::HYBRID) return role == Fp8Role::gradient ? kFloat8_e5m2 : kFloat8_e4m3fn;
  return format == Fp8Format::E4M3 ? kFloat8_e4m3fn : kFloat8_e5m2;
}

double fp8_max(DType dtype) {
  TANDEM_CHECK(dtype == kFloat8_e4m3fn || dtype == kFloat8_e5m2, DTypeError,
               "fp8_max: {} is neither kFloat8_e4m3fn nor kFloat8_e5m2", name(dtype));
  return dtype == kFloat8_e4m3fn ? 448 : 57344;
}

DType fp8_dtype(const Fp8Recipe& recipe, Fp8Role role) {
  return std::visit([role](const auto& r) { return fp8_dtype(r.fp8_format(), role); }, recipe);
}

}  // namespace tandem::amp
