#pragma once
// Training on Fashion-MNIST in one precision: the loop that the examples share.
#include <functional>
#include <string>

#include <tandem/tandem.h>

#include "mnist/settings.h"

namespace mnist {

/// What one run in one precision gave: a row of the table and of the JSON file.
struct RunResult {
  std::string example, precision, device, processor;
  double seconds_per_epoch = 0, images_per_second = 0;
  int64_t peak_bytes = 0;    // of tensors, beside the stored images
  double test_accuracy = 0;  // percent
  int64_t skipped_steps = 0;
  double final_scale = 1;
};

/// A network and how to train it.
struct Example {
  std::string name;
  int64_t epochs;
  /// Makes freshly initialised parameters, and the function from images to class scores over them.
  struct Network {
    std::shared_ptr<tandem::nn::Module> module;
    std::function<tandem::Tensor(const tandem::Tensor&)> forward;
  };
  std::function<Network()> make;
};

Example mlp();
Example cnn();

/// Trains and tests `example` in one of mode_names(). Shows progress when stderr is a terminal.
RunResult run(const Example& example, const std::string& precision, const Settings& settings);

/// Runs all precisions of all examples, prints the table, and writes the JSON file if asked for.
void run_all(const std::vector<Example>& examples, const Settings& settings);

/// main() of a program for these examples. Returns the exit status.
int main_of(const std::string& description, const std::vector<Example>& examples, int argc, char** argv);

}  // namespace mnist
