#pragma once
// Shared by the small examples: a task, a network for it, and the command line.
#include <tandem/tandem.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace toy {

using namespace tandem;

/// `--quick` trains briefly: the examples are also tests. `--device cuda|cpu` sets the default device; without it, that
/// is the GPU if available.
struct Arguments {
  Arguments(int argc, char** argv) {
    Device device = cuda::is_available() ? kCUDA : kCPU;
    for (int i = 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      if (argument == "--quick") {
        quick = true;
      } else if (argument == "--device" && i + 1 < argc) {
        device = argv[++i];
      } else {
        std::fprintf(stderr, "usage: %s [--quick] [--device cuda|cpu]\n", argv[0]);
        std::exit(2);
      }
    }
    set_default_device(device);
  }
  bool quick = false;
};

inline Device device() { return get_default_device(); }

struct Batch {
  Tensor inputs, targets;
};

/// Points on three spiral arms, with noise; the class is the arm.
inline Batch spirals(int64_t count, Device device) {
  const Tensor radius = rand({count}), arm = (rand({count}) * 3).floor();
  const Tensor angle = radius * 3 + arm * (2 * std::acos(-1.0) / 3) + randn({count}) * 0.1;
  return {stack({radius * angle.cos(), radius * angle.sin()}, 1).to(device), arm.to(kLong).to(device)};
}

struct Net : nn::Module {
  Net() {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  Tensor forward(const Tensor& x) { return fc3(relu(fc2(relu(fc1(x))))); }
  nn::Linear fc1{2, 64}, fc2{64, 64}, fc3{64, 3};
};

/// Returns the share of points that a model assigns to the right arm.
template <class Model>
double accuracy(Model& model, const Batch& test) {
  const NoGradGuard no_grad;
  return model.forward(test.inputs).argmax(1).eq(test.targets).to(kFloat).mean().template item<double>();
}

/// Returns the number of skipped steps. skipped() waits for the device, so keep the results and count after the loop.
inline int64_t skipped(const std::vector<amp::StepResult>& steps) {
  return std::count_if(steps.begin(), steps.end(), [](const amp::StepResult& step) { return step.skipped(); });
}

/// Returns whether an AMP run has learned about as much as the f32 run; accuracies are between 0 and 1.
inline bool learned_as_much(double f32, double amp) { return amp > 0.5 && amp > f32 - 0.05; }

/// Trains in f32 and with AMP by `train(bool amp, int64_t steps)`, which returns the accuracy, and prints both
/// accuracies. Returns the exit status of the example.
template <class Train>
int compare(const Train& train, int argc, char** argv) {
  const int64_t steps = Arguments(argc, argv).quick ? 200 : 2000;
  const double f32 = train(false, steps), amp = train(true, steps);
  std::printf("accuracy: f32 %.3f, AMP %.3f\n", f32, amp);
  return learned_as_much(f32, amp) ? 0 : 1;
}

}  // namespace toy
