#pragma once
// The files that tests/golden/torch_files.py wrote with PyTorch and NumPy.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/paths.h"
#include "tandem/io/safetensors.h"

namespace tandem::testing {

inline std::string torch_file(const std::string& name) { return source_path("io/torch/" + name); }

/// The tensors that NAME.safetensors says are in a file.
inline StateDict expected_tensors(const std::string& name) {
  return io::load_file(torch_file(name + ".safetensors")).tensors;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The names of the files that end in `ending`, sorted.
inline std::vector<std::string> torch_files(const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(torch_file(""))) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(ending)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tandem::testing
