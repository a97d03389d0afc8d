#pragma once
// TANDEM_CHECK and TANDEM_THROW: argument checks. Include this only in .cpp and -inl.h files, because it includes fmt.
//
//   Tensor foo(const Tensor& x) {
//     const OpScope op("foo");
//     TANDEM_CHECK(x.dim() == 2, ShapeError, "x is {}, but must have rank 2; reshape it", checks::show(x));
//
// throws ShapeError("foo: x is [3] f32, but must have rank 2; reshape it"). The name is that of the outermost OpScope.
#include <fmt/format.h>

#include "tandem/base/error.h"
#include "tandem/base/op_scope.h"

/// Throws `ErrorType` in the name of the running op, with an fmt-formatted message.
#define TANDEM_THROW(ErrorType, ...) throw ::tandem::ErrorType(::tandem::running_op(), ::fmt::format(__VA_ARGS__))

/// Throws `ErrorType` in the name of the running op, with an fmt-formatted message, unless `condition` holds. Arguments
/// are formatted only on failure.
#define TANDEM_CHECK(condition, ErrorType, ...) \
  do {                                          \
    if (!(condition)) [[unlikely]] {            \
      TANDEM_THROW(ErrorType, __VA_ARGS__);     \
    }                                           \
  } while (false)
