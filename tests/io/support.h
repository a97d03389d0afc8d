#pragma once
// What the tests of io share: bitwise comparison, and the corpus of files.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tandem/tensor/state_dict.h"

namespace tandem::testing {

/// Empty when both have the same dtype, sizes and bits.
inline std::string difference(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? "" : "one is undefined";
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return "the form differs";
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  if (x.nbytes() == 0 || std::memcmp(x.raw_bytes(), y.raw_bytes(), x.nbytes()) == 0) return "";
  return "the bits differ";
}

/// Empty when both have the same names and bits; else the first name that differs.
inline std::string difference(const StateDict& a, const StateDict& b) {
  for (const auto& item : a) {
    if (!b.contains(item.key())) return item.key() + " is only in the first";
    const std::string text = difference(item.value(), b[item.key()]);
    if (!text.empty()) return item.key() + ": " + text;
  }
  return a.size() == b.size() ? "" : "the second has more entries";
}

/// A copy with memory of its own.
inline StateDict clone(const StateDict& state) {
  StateDict copy;
  for (const auto& item : state) copy.insert(item.key(), item.value().detach().clone());
  return copy;
}

/// The files of tests/io/corpus by name, sorted.
inline std::vector<std::pair<std::string, std::string>> corpus() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& entry : std::filesystem::directory_iterator(TANDEM_TESTS_DIR "/io/corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(entry.path().filename().string(),
                       std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tandem::testing
