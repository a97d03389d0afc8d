#pragma once
// str and TANDEM_ASSERT: checks for programs that use tandem. Includes neither fmt nor tensors.
#include <sstream>
#include <string>

#include "tandem/base/error.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Returns what operator<< prints for the arguments, one after another: `str("sizes ", x.sizes())`. As c10::str.
template <class... Args>
std::string str(const Args&... args) {
  std::ostringstream out;
  static_cast<void>((out << ... << args));
  return std::move(out).str();
}

namespace detail {
/// Throws Error: `message`, or if it is empty that `condition` does not hold, and the place.
[[noreturn]] void throw_assertion(const char* condition, const char* file, int line, const std::string& message);
}  // namespace detail

}  // namespace tandem
#pragma GCC visibility pop

/// Throws tandem::Error unless `condition` holds. The message consists of the arguments, as str() joins them:
/// `TANDEM_ASSERT(x.dim() == 2, "expected a matrix, not ", x.sizes())`. They are evaluated only on failure. As
/// libtorch's TORCH_CHECK. (The library's own checks are in tandem/base/check.h.)
#define TANDEM_ASSERT(condition, ...) \
  ((condition) ? static_cast<void>(0) \
               : ::tandem::detail::throw_assertion(#condition, __FILE__, __LINE__, ::tandem::str(__VA_ARGS__)))
