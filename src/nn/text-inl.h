#pragma once
// What the modules' one-line descriptions are made of.
#include <fmt/format.h>

#include <ostream>
#include <string>
#include <typeinfo>

#include "tandem/base/shape.h"

namespace tandem::nn {

/// The demangled name of a type.
std::string type_name(const std::type_info& type);

/// Writes fmt-formatted text.
template <class... Args>
void print(std::ostream& stream, fmt::format_string<Args...> format, Args&&... args) {
  stream << fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace tandem::nn
