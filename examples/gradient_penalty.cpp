// A gradient penalty under AMP: backward through the gradients of a scaled loss.
// Source: "Gradient penalty" in PyTorch's AMP examples.
#include "toy.h"

using namespace tandem;

namespace {

double train(bool use_amp, int64_t steps) {
  manual_seed(0);
  const Device device = toy::device();
  toy::Net net;
  net.to(device);
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(0.01));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_amp));
  Tensor norm;
  for (int64_t step = 0; step < steps; ++step) {
    const toy::Batch batch = toy::spirals(128, device);
    adamw.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard autocast(device.type(), kHalf, use_amp);
      loss = cross_entropy(net.forward(batch.inputs), batch.targets);
    }
    // Scale the loss for this backward pass too: otherwise its f16 gradients would underflow.
    const std::vector<Tensor> scaled_grads =
        autograd::grad({scaler.scale(loss)}, net.parameters(), {}, {}, /*create_graph=*/true);
    // No optimizer owns these gradients, so unscale_() does not apply. unscale() divides by the scale on the device,
    // and is differentiable.
    const std::vector<Tensor> grads = scaler.unscale(scaled_grads);
    {
      // The penalty is part of the forward pass.
      amp::AutocastGuard autocast(device.type(), kHalf, use_amp);
      norm = zeros({}, device);
      for (const Tensor& g : grads) norm = norm + g.pow(2).sum();
      norm = norm.sqrt();
      loss = loss + 0.1 * norm;
    }
    scaler.scale(loss).backward();
    scaler.step(adamw);
    scaler.update();
  }
  std::printf("%s: the last gradient's norm is %.4f\n", use_amp ? "AMP" : "f32", norm.item<float>());
  return toy::accuracy(net, toy::spirals(1000, device));
}

}  // namespace

int main(int argc, char** argv) { return toy::compare(train, argc, argv); }
