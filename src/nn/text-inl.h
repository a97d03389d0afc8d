#pragma once
// Output helper for the modules' one-line descriptions.
#include <fmt/format.h>

#include <ostream>
#include <string>

#include "tandem/base/shape.h"
#include "tandem/base/type_name.h"

namespace tandem::nn {

/// Writes fmt-formatted text.
template <class... Args>
void print(std::ostream& stream, fmt::format_string<Args...> format, Args&&... args) {
  stream << fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace tandem::nn
