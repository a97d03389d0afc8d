#pragma once
// What the command line of the Fashion-MNIST examples sets.
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace mnist {

struct Settings {
  std::vector<std::string> precisions = {"f32", "bf16", "f16"};
  std::string device = "auto";
  std::string data;
  std::string json;
  std::string log;     // folder for the training logs; empty: none
  int64_t epochs = 0;  // 0: the example's own choice
  int64_t steps = 0;   // at most; 0: all
  int64_t batch = 128;
  double lr = 2e-3;  // of the first step; it falls to zero in a straight line
  int64_t workers = 1;
  uint64_t seed = 1;
  bool quick = false;
};

/// Declares the flags on `app`; parsing fills `settings`.
void add_flags(CLI::App& app, Settings& settings);

}  // namespace mnist
