#pragma once
// TANDEM_CHECK: the one way to refuse bad input. For .cpp and -inl.h files only: it includes fmt.
#include <fmt/format.h>

#include "tandem/base/error.h"

/// Throws `ErrorType` with an fmt-formatted message unless `condition` holds. Arguments are formatted only on failure.
#define TANDEM_CHECK(condition, ErrorType, ...)              \
  do {                                                       \
    if (!(condition)) [[unlikely]] {                         \
      throw ::tandem::ErrorType(::fmt::format(__VA_ARGS__)); \
    }                                                        \
  } while (false)
