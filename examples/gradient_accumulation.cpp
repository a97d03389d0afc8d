// Gradient accumulation under AMP: one optimizer step for several batches, with the same scale for all of them.
// Source: "Working with Scaled Gradients" in PyTorch's AMP examples.
#include "toy.h"

using namespace tandem;

namespace {

constexpr int64_t kAccumulate = 4;

double train(bool use_amp, int64_t steps) {
  manual_seed(0);
  const Device device = toy::device();
  toy::Net net;
  net.to(device);
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(0.01));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_amp));
  for (int64_t i = 0; i < kAccumulate * steps; ++i) {
    const toy::Batch batch = toy::spirals(32, device);
    Tensor loss;
    {
      amp::AutocastGuard autocast(device.type(), kHalf, use_amp);
      // The loss of a step is the mean over all of its batches.
      loss = cross_entropy(net.forward(batch.inputs), batch.targets) / kAccumulate;
    }
    // Accumulates scaled gradients. update() comes after the step, which finds out whether the scale must change.
    scaler.scale(loss).backward();

    if ((i + 1) % kAccumulate == 0) {
      // If you use unscale_() and clipping, call them here, after all gradients have been accumulated.
      scaler.step(adamw);
      scaler.update();
      adamw.zero_grad();
    }
  }
  return toy::accuracy(net, toy::spirals(1000, device));
}

}  // namespace

int main(int argc, char** argv) { return toy::compare(train, argc, argv); }
