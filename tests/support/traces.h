#pragma once
// JSON files of traces that the scripts in tests/golden made with PyTorch.
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace tandem::testing {

/// tests/golden/NAME.json. Throws with the command that makes it where it is missing.
inline nlohmann::json read_traces(const std::string& name) {
  std::ifstream file(std::string(TANDEM_TESTS_DIR) + "/golden/" + name + ".json");
  if (!file) throw std::runtime_error("tests/golden/" + name + ".json is missing: run tests/golden/" + name + ".py");
  return nlohmann::json::parse(file);
}

}  // namespace tandem::testing
