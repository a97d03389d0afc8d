#include "tandem/base/dtype.h"

#include "tandem/base/check.h"

namespace tandem::detail {

void throw_storage_only_promotion(DType a, DType b) {
  TANDEM_THROW(DTypeError, "{} and {} have no common dtype, since {} only holds values; convert one with .to()",
               name(a), name(b), name(is_storage_only(a) ? a : b));
}

void throw_storage_only_arithmetic(DType t) {
  TANDEM_THROW(DTypeError, "does not compute in {}, which only holds values; convert with .to({})", name(t),
               is_floating_point(t) ? "kFloat) or .to(kBFloat16" : "kLong) or .to(kFloat");
}

void throw_undefined_dtype() { TANDEM_THROW(DTypeError, "the dtype is that of an undefined tensor; give another one"); }

}  // namespace tandem::detail
