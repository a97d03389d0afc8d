#pragma once
// TANDEM_CHECK: the one way to refuse bad input. For .cpp and -inl.h files only: it includes fmt.
#include <fmt/format.h>

#include <string>

#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"

namespace tandem::detail {

/// `message` with the name in front of its first colon replaced by that of a WholeOpScope around it.
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
