#include "tandem/base/assert.h"

namespace tandem::detail {

void throw_assertion(const char* condition, const char* file, int line, const std::string& message) {
  throw Error((message.empty() ? str("expected ", condition, " to be true") : message) +
              str(" (", file, ':', line, ')'));
}

}  // namespace tandem::detail
