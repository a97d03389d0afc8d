#pragma once
// The PTX files that TANDEM_PTX names, one for each .cu file of kernels/cuda, and their kernels by the names that the
// program's symbol table has for them.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/parser.h"

namespace tandem::cuda::emulated {

class PtxFolder {
 public:
  /// Throws Misuse if the folder has no PTX, or some for another compute capability than `capability`, such as 90.
  PtxFolder(const std::string& path, int capability);
  /// Returns the kernel that kernel_name() calls `name`. Throws Misuse if no file has it, ptx::SyntaxError if it cannot
  /// be parsed.
  const ptx::Kernel& kernel(const std::string& name);

 private:
  struct Entry {
    ptx::Module* module;
    std::string mangled;
  };
  std::string path_;
  std::vector<std::unique_ptr<ptx::Module>> modules_;
  std::unordered_map<std::string, Entry> entries_;  ///< by kernel_name()
};

/// kernel_name() of the kernel that nvcc calls `mangled`. Both compilers follow the Itanium C++ ABI, except for
/// anonymous namespaces: g++ calls all of them _GLOBAL__N_1, nvcc _GLOBAL__N__<hash>_<length>_<file>_<hash>.
std::string kernel_name_of_ptx(const std::string& mangled);

}  // namespace tandem::cuda::emulated
