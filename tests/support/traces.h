#pragma once
// Reads the JSON traces that the scripts in tests/golden made with PyTorch.
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "support/paths.h"

namespace tandem::testing {

/// Returns tests/golden/NAME.json. If it is missing, throws an error that names the command to make it.
inline nlohmann::json read_traces(const std::string& name) {
  std::ifstream file(source_path("golden/" + name + ".json"));
  if (!file) throw std::runtime_error("tests/golden/" + name + ".json is missing: run tests/golden/" + name + ".py");
  return nlohmann::json::parse(file);
}

}  // namespace tandem::testing
