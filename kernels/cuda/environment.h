#pragma once
// Switches of the CUDA backend in the environment.
#include <cstdlib>
#include <string_view>

namespace tandem::cuda {

/// True if the variable is set, and neither empty nor 0.
inline bool is_switched_on(const char* variable) {
  const char* text = std::getenv(variable);
  return text && *text && std::string_view(text) != "0";
}

}  // namespace tandem::cuda
