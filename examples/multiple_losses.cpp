// Two models, two losses, two optimizers and one scaler. Each optimizer skips on its own; the scale is updated once.
// Source: "Working with Multiple Models, Losses, and Optimizers" in PyTorch's AMP examples.
#include "toy.h"

using namespace tandem;

namespace {

double train(bool use_amp, int64_t steps) {
  manual_seed(0);
  const Device device = toy::device();
  toy::Net net0, net1;
  net0.to(device);
  net1.to(device);
  optim::SGD optimizer0(net0.parameters(), optim::SGDOptions(0.02).momentum(0.9));
  optim::AdamW optimizer1(net1.parameters(), optim::AdamWOptions(0.005));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_amp));
  std::vector<amp::StepResult> results0, results1;
  for (int64_t step = 0; step < steps; ++step) {
    const toy::Batch batch = toy::spirals(128, device);
    optimizer0.zero_grad();
    optimizer1.zero_grad();
    Tensor loss0, loss1;
    {
      amp::AutocastGuard autocast(device.type(), kHalf, use_amp);
      const Tensor output0 = net0.forward(batch.inputs), output1 = net1.forward(batch.inputs);
      loss0 = cross_entropy(2 * output0 + output1, batch.targets);
      loss1 = cross_entropy(output0 + 2 * output1, batch.targets);
    }
    // retain_graph is unrelated to AMP: the two losses share parts of the graph.
    scaler.scale(loss0).backward({}, /*retain_graph=*/true);
    scaler.scale(loss1).backward();

    // Call unscale_() only for gradients that you read or change; step() unscales the others.
    scaler.unscale_(optimizer0);
    nn::utils::clip_grad_norm_(net0.parameters(), 5.0);

    results0.push_back(scaler.step(optimizer0));
    results1.push_back(scaler.step(optimizer1));
    scaler.update();  // once, after all steps
  }
  std::printf("%s: skipped %lld and %lld steps\n", use_amp ? "AMP" : "f32",
              static_cast<long long>(toy::skipped(results0)), static_cast<long long>(toy::skipped(results1)));
  const toy::Batch test = toy::spirals(1000, device);
  return (toy::accuracy(net0, test) + toy::accuracy(net1, test)) / 2;
}

}  // namespace

int main(int argc, char** argv) { return toy::compare(train, argc, argv); }
