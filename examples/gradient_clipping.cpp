// Gradient clipping under AMP: unscale first, then clip with the same threshold as in f32.
// Source: "Working with Unscaled Gradients" in PyTorch's AMP examples.
#include "toy.h"

using namespace tandem;

namespace {

double train(bool use_amp, int64_t steps) {
  manual_seed(0);
  const Device device = toy::device();
  toy::Net net;
  net.to(device);
  optim::SGD sgd(net.parameters(), optim::SGDOptions(0.2).momentum(0.9));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_amp));
  Tensor clipped = zeros({}, device);  // kept on the device: reading a value in each step would wait for the device
  std::vector<amp::StepResult> results;
  for (int64_t step = 0; step < steps; ++step) {
    const toy::Batch batch = toy::spirals(128, device);
    sgd.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard autocast(device.type(), kHalf, use_amp);
      loss = cross_entropy(net.forward(batch.inputs), batch.targets);
    }
    scaler.scale(loss).backward();

    // Gives the gradients of the unscaled loss. Clipping before this would compare scaled gradients with an unscaled
    // threshold; tandem warns about that.
    scaler.unscale_(sgd);
    const Tensor norm = nn::utils::clip_grad_norm_(net.parameters(), /*max_norm=*/0.5);

    // step() does not unscale again. It skips the update if the gradients contain inf or NaN.
    results.push_back(scaler.step(sgd));
    scaler.update();
    clipped += norm.gt(0.5);
  }
  std::printf("%s: clipped %.0f of %lld steps, skipped %lld\n", use_amp ? "AMP" : "f32", clipped.item<double>(),
              static_cast<long long>(steps), static_cast<long long>(toy::skipped(results)));
  return toy::accuracy(net, toy::spirals(1000, device));
}

}  // namespace

int main(int argc, char** argv) { return toy::compare(train, argc, argv); }
