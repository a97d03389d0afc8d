#pragma once
// The training loop on Fashion-MNIST that the examples share.
#include <functional>
#include <string>

#include <tandem/tandem.h>

#include "mnist/settings.h"

namespace mnist {

/// The results of one run in one precision: a row of the table and of the JSON file.
struct RunResult {
  std::string example, precision, device, processor;
  double seconds_per_epoch = 0, images_per_second = 0;
  int64_t peak_bytes = 0;    // of all tensors except the stored images
  double test_accuracy = 0;  // percent
  int64_t skipped_steps = 0;
  double final_scale = 1;
};

/// A network and how long to train it.
struct Example {
  std::string name;
  int64_t epochs;
  /// A module with freshly initialised parameters, and the function from images to class scores that uses it.
  struct Network {
    std::shared_ptr<tandem::nn::Module> module;
    std::function<tandem::Tensor(const tandem::Tensor&)> forward;
  };
  std::function<Network()> make;
};

Example mlp();
Example cnn();

/// Trains and tests `example` in one of mode_names(). Shows progress if stderr is a terminal.
RunResult run(const Example& example, const std::string& precision, const Settings& settings);

/// Runs all precisions of all examples, prints the table, and writes the JSON file if requested.
void run_all(const std::vector<Example>& examples, const Settings& settings);

/// The main() of a program that runs these examples. Returns the exit status.
int main_of(const std::string& description, const std::vector<Example>& examples, int argc, char** argv);

}  // namespace mnist
