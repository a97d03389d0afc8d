#include "support/golden.h"

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/counter.h"
#include "support/paths.h"

namespace tandem::testing {
namespace {

constexpr const char* cure = "; run .venv-torch/bin/python tests/golden/generate.py (scripts/torch_venv.sh makes it)";

const nlohmann::json& manifest() {
  static const nlohmann::json m = [] {
    const std::string path = source_path("golden/manifest.json");
    std::ifstream file(path);
    if (!file) throw std::runtime_error("no golden values: " + path + " is missing" + cure);
    return nlohmann::json::parse(file);
  }();
  return m;
}

const std::vector<float>& numbers(const std::string& family) {
  static std::map<std::string, std::vector<float>> files;
  auto [it, is_new] = files.try_emplace(family);
  if (is_new) {
    const std::string path = source_path("golden/" + family + ".bin");
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("no golden values: " + path + " is missing" + cure);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    it->second.resize(bytes.size() / sizeof(float));
    std::copy_n(bytes.data(), it->second.size() * sizeof(float), reinterpret_cast<char*>(it->second.data()));
  }
  return it->second;
}

DType dtype_named(const std::string& text) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name(static_cast<DType>(i)) == text) return static_cast<DType>(i);
  }
  throw std::runtime_error("golden manifest: unknown dtype " + text);
}

}  // namespace

Golden golden_of(const Case& c) {
  const auto& entries = manifest().at("cases");
  const auto it = entries.find(full_name(c));
  if (it == entries.end()) throw std::runtime_error("no golden values for " + full_name(c) + cure);
  const auto& entry = *it;
  if (entry.at("hash").get<uint64_t>() != fnv1a(to_json(c))) {
    throw std::runtime_error("the case " + full_name(c) + " has changed since its golden values were made" + cure);
  }
  const std::vector<float>& file = numbers(c.family);
  size_t at = entry.at("at").get<size_t>();
  auto take = [&](int64_t count) {
    if (at + static_cast<size_t>(count) > file.size()) {
      throw std::runtime_error("golden values of family " + c.family + " are cut short" + cure);
    }
    const float* p = file.data() + at;
    at += static_cast<size_t>(count);
    return std::vector<double>(p, p + count);
  };
  Golden golden;
  bool any_grad = false;
  for (const auto& o : entry.at("outputs")) {
    GoldenOutput output;
    output.dtype = dtype_named(o.at(0));
    output.sizes = o.at(1).get<std::vector<int64_t>>();
    output.requires_grad = o.at(2);
    output.values = take(numel_of(output.sizes));
    any_grad = any_grad || output.requires_grad;
    golden.outputs.push_back(std::move(output));
  }
  for (const Input& input : c.inputs) {
    if (any_grad && input.wants_grad()) golden.gradients.push_back(take(numel_of(input.sizes)));
  }
  return golden;
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& item : manifest().at("cases").items()) names.push_back(item.key());
  return names;
}

}  // namespace tandem::testing
