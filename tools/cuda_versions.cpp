#include "tools/cuda_versions.h"

#if defined(TANDEM_TOOL_CUDA)
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <fmt/format.h>
#if defined(TANDEM_TOOL_NCCL)
#include <nccl.h>
#endif
#endif

namespace tools {

#if defined(TANDEM_TOOL_CUDA)
namespace {

/// Returns "major.minor.patch" of a number with a weight for each part.
std::string dotted(size_t version, size_t major, size_t minor) {
  return fmt::format("{}.{}.{}", version / major, version % major / minor, version % minor);
}

std::string cuda_version(int version) {
  return version == 0 ? "none" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

bool has_cuda_backend() { return true; }

std::vector<std::pair<std::string, std::string>> cuda_versions() {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const size_t cudnn = cudnnGetVersion();
  std::vector<std::pair<std::string, std::string>> versions = {
      {"driver", cuda_version(driver)},
      {"runtime", cuda_version(runtime)},
      {"cublaslt", dotted(cublasLtGetVersion(), 10000, 100)},
      {"cudnn", dotted(cudnn, 10000, 100)},
  };
#if defined(TANDEM_TOOL_NCCL)
  if (int nccl = 0; ncclGetVersion(&nccl) == ncclSuccess) {
    versions.emplace_back("nccl", dotted(static_cast<size_t>(nccl), 10000, 100));
  }
#endif
  return versions;
}
#else
bool has_cuda_backend() { return false; }

std::vector<std::pair<std::string, std::string>> cuda_versions() { return {}; }
#endif

}  // namespace tools
