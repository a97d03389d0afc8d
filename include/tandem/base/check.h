#pragma once
// TANDEM_CHECK and TANDEM_THROW: argument checks. Include this only in .cpp and -inl.h files, because it includes fmt.
#include <fmt/format.h>

#include <string>

#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"

namespace tandem::detail {

/// Returns `message`; inside a WholeOpScope, the name before its first colon is replaced by the scope's name.
std::string in_name_of_op(std::string message);

}  // namespace tandem::detail

/// Throws `ErrorType` with an fmt-formatted message.
#define TANDEM_THROW(ErrorType, ...) \
  throw ::tandem::ErrorType(::tandem::detail::in_name_of_op(::fmt::format(__VA_ARGS__)))

/// Throws `ErrorType` with an fmt-formatted message unless `condition` holds. Arguments are formatted only on failure.
#define TANDEM_CHECK(condition, ErrorType, ...) \
  do {                                          \
    if (!(condition)) [[unlikely]] {            \
      TANDEM_THROW(ErrorType, __VA_ARGS__);     \
    }                                           \
  } while (false)
