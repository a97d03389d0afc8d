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
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

inline std::string torch_file(const std::string& name) { return source_path("io/torch/" + name); }

/// The tensors that NAME.safetensors says are in a file.
inline StateDict expected_tensors(const std::string& name) {
  return io::load_file(torch_file(name + ".safetensors")).tensors;
}

inline bool shares_memory(const Tensor& a, const Tensor& b) { return &a.storage() == &b.storage(); }

/// The gradients with which those files' optimizers stepped.
inline Tensor golden_gradient(const Tensor& p, int64_t i) { return cos(arange(p.numel()) + i).reshape(p.sizes()); }

inline void set_gradients(const std::vector<Tensor>& parameters, int64_t seed) {
  for (const Tensor& p : parameters) p.mutable_grad() = golden_gradient(p, seed++);
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
