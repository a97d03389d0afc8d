#include "tandem/base/dtype.h"

#include "tandem/base/check.h"

namespace tandem::detail {

void throw_float8_promotion(DType a, DType b) {
  TANDEM_THROW(DTypeError, "{} and {} have no common dtype, since float8 only holds values; convert one with .to()",
               name(a), name(b));
}

void throw_float8_arithmetic(DType t) {
  TANDEM_THROW(DTypeError,
               "does not compute in {}, which only holds values; convert with .to(kFloat) or .to(kBFloat16)", name(t));
}

void throw_undefined_dtype() { TANDEM_THROW(DTypeError, "the dtype is that of an undefined tensor; give another one"); }

}  // namespace tandem::detail
