#include "tandem/base/type_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace tandem {

std::string type_name(const std::type_info& type) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : type.name();
}

}  // namespace tandem
