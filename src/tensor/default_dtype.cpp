#include "tandem/tensor/default_dtype.h"

#include <atomic>

#include "tandem/base/check.h"

namespace tandem {
namespace {
std::atomic<DType> default_dtype{kFloat};
}  // namespace

DType get_default_dtype() { return default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  const OpScope op("set_default_dtype");
  TANDEM_CHECK(is_differentiable(dtype), DTypeError,
               "{} cannot be the default dtype; use kFloat, kDouble, kHalf or kBFloat16, and state other dtypes in "
               "TensorOptions",
               name(dtype));
  default_dtype.store(dtype, std::memory_order_relaxed);
}

}  // namespace tandem
