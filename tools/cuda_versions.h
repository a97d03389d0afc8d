#pragma once
// The versions of the CUDA libraries.
#include <string>
#include <utility>
#include <vector>

namespace tools {

/// Whether this build has the CUDA backend.
bool has_cuda_backend();
/// Returns pairs such as {"driver", "13.0"}: the newest CUDA that the driver supports, then the libraries in use. Empty
/// in a build without CUDA.
std::vector<std::pair<std::string, std::string>> cuda_versions();

}  // namespace tools
