#include "tandem/tensor/checks.h"

#include "tandem/base/check.h"

namespace tandem::checks {

std::string show(const Tensor& x) {
  return x.defined() ? fmt::format("{} {}", to_string(x.sizes()), name(x.dtype())) : std::string("undefined");
}

void not_expanded(const char* which, const Tensor& x, std::optional<size_t> number) {
  TANDEM_CHECK(!is_expanded(x.sizes(), x.strides()), ShapeError,
               "several elements of {}{} {} share memory (expanded, strides {}); clone() it first", which,
               number ? fmt::format(" {}", *number) : "", show(x), to_string(x.strides()));
}

}  // namespace tandem::checks
