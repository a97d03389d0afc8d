#pragma once
// Names of C++ types, for messages.
#include <string>
#include <typeinfo>

#pragma GCC visibility push(default)
namespace tandem {

/// The demangled name of a type.
std::string type_name(const std::type_info& type);

}  // namespace tandem
#pragma GCC visibility pop
