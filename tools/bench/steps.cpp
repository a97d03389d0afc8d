#include "tools/bench/steps.h"

#include <tandem/tandem.h>

#include <memory>

#include "tools/bench/timer.h"

namespace tools {
namespace {

using namespace tandem;

/// A network in training in one precision.
class Run {
 public:
  Run(const NetworkShape& shape, const Device& device, DType dtype)
      : device_(device), dtype_(dtype), net_(seeded(shape)), sgd_(moved(), optim::SGDOptions(1e-3).momentum(0.9)) {
    x_ = randn(shape.input_sizes(), device);
    target_ = randint(0, shape.outputs(), {shape.batch}, TensorOptions(kLong).device(device));
    times_.dtype = dtype;
  }

  /// One training step, as a program would write it.
  void step() {
    sgd_.zero_grad();
    Tensor loss;
    {
      const amp::AutocastGuard autocast(device_.type(), dtype_ == kFloat ? std::nullopt : std::optional(dtype_),
                                        dtype_ != kFloat);
      loss = cross_entropy(net_->forward(x_), target_);
    }
    if (dtype_ != kHalf) {
      loss.backward();
      sgd_.step();
      return;
    }
    scaler_.scale(loss).backward();
    scaler_.step(sgd_);
    scaler_.update();
  }

  /// Times several steps, after one that brings this network back into the caches.
  void sample(int steps) {
    step();
    for (int i = 0; i < steps; ++i) times_.seconds.push_back(seconds_of(device_, [&] { step(); }));
  }

  const StepTimes& times() const { return times_; }

 private:
  static nn::Sequential seeded(const NetworkShape& shape) {
    manual_seed(0);
    return shape.make();
  }
  std::vector<Tensor> moved() {
    net_->to(device_);
    return net_->parameters();
  }

  Device device_;
  DType dtype_;
  nn::Sequential net_;
  optim::SGD sgd_;
  amp::GradScaler scaler_;
  Tensor x_, target_;
  StepTimes times_;
};

}  // namespace

double predicted_step(const NetworkShape& shape, DType dtype, const Peaks& peaks) {
  double seconds = 0;
  for (const Product& p : shape.products()) {
    const double passes = p.first ? 2 : 3;  // forward, gradient of the weight, gradient of the input
    seconds += passes * p.operations() / peaks.all_threads.at(dtype, p.side());
  }
  const auto width = static_cast<double>(element_size(dtype)), f32 = 4.0;
  // A result: written, twice read and masked by ReLU; its gradient likewise.
  const double activations = static_cast<double>(shape.activations()) * width * 6;
  // A weight: read in both passes. Its gradient: written and read by the optimizer, which reads and writes the weight
  // and the momentum, and writes the low-precision copy. A scaler reads and writes the gradient once more.
  double per_parameter = 2 * width + 6 * f32;
  if (dtype != kFloat) per_parameter += width;
  if (dtype == kHalf) per_parameter += 2 * f32;
  return seconds + (activations + static_cast<double>(shape.parameters()) * per_parameter) / peaks.copy_bandwidth;
}

std::vector<StepTimes> measure_steps(const NetworkShape& shape, const Device& device, double budget) {
  std::vector<std::unique_ptr<Run>> runs;
  for (const DType dtype : trainable_dtypes(device)) runs.push_back(std::make_unique<Run>(shape, device, dtype));
  for (const auto& run : runs) {
    for (int i = 0; i < 2; ++i) run->step();
  }
  const double end = bench::now() + budget;
  // In turn, so that other programs disturb all alike; several steps at once, so that each has the caches to itself.
  for (int round = 0; round < 3 || bench::now() < end; ++round) {
    for (const auto& run : runs) run->sample(round < 3 ? 1 : 5);
  }
  std::vector<StepTimes> times;
  for (const auto& run : runs) times.push_back(run->times());
  return times;
}

}  // namespace tools
