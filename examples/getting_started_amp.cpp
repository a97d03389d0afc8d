// getting_started.cpp in mixed precision, on the GPU if there is one (docs/getting_started.md).
#include <tandem/tandem.h>

#include <iostream>

using namespace tandem;

struct Net : nn::Module {
  Net() {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) { return fc2(relu(fc1(x))); }

  nn::Linear fc1{2, 64}, fc2{64, 2};
};

int main() {
  const Device device = cuda::is_available() ? Device(kCUDA) : Device(kCPU);
  Net net;
  net.to(device);
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(1e-2));
  amp::GradScaler scaler;
  Tensor loss;
  for (int step = 0; step < 500; ++step) {
    const Tensor x = rand({256, 2}, device) * 2 - 1;
    const Tensor inside = x.square().sum({1}).lt(0.5).to(kLong);
    adamw.zero_grad();
    {
      amp::AutocastGuard autocast(device.type());  // f16 on CUDA, bf16 on the CPU
      loss = cross_entropy(net.forward(x), inside);
    }
    scaler.scale(loss).backward();
    scaler.step(adamw);
    scaler.update();
  }
  std::cout << "loss " << loss.item<float>() << "\n";
}
