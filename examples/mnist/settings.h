#pragma once
// Command-line settings of the Fashion-MNIST examples.
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mnist {

struct Settings {
  std::vector<std::string> precisions = {"f32", "bf16", "f16"};
  std::string device = "auto";
  std::string data;
  std::string json;
  std::string log;              // folder for the training logs; empty for none
  std::string moments = "f32";  // dtypes of Adam's moments: f32, bf16, or fp8 (e4m3fn and bf16)
  int64_t epochs = 0;           // 0: the example's default
  int64_t steps = 0;            // maximum number of steps; 0: no limit
  int64_t batch = 128;
  double lr = 2e-3;  // initial learning rate; it falls linearly to zero
  int64_t workers = 1;
  uint64_t seed = 1;
  bool quick = false;
};

/// Declares the flags on `app`; parsing fills `settings`.
void add_flags(CLI::App& app, Settings& settings);

}  // namespace mnist
