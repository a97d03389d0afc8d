// The program in README.md: trains an MLP on Fashion-MNIST for one epoch in mixed precision.
#include <tandem/tandem.h>

#include <iostream>

using namespace tandem;

struct Net : nn::Module {
  Net() : fc1(784, 256), fc2(256, 10) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) { return fc2(relu(fc1(x))); }
  nn::Linear fc1, fc2;
};

int main() {
  const Device device = cuda::is_available() ? Device(kCUDA) : Device(kCPU);
  Net net;
  net.to(device);
  optim::SGD sgd(net.parameters(), optim::SGDOptions(0.1).momentum(0.9));
  amp::GradScaler scaler;
  auto loader = data::make_data_loader(data::datasets::MNIST("/usr/share/datasets/fashion-mnist")
                                           .map(data::transforms::Normalize<>(0.2860, 0.3530))
                                           .map(data::transforms::Stack<>()),
                                       128);
  Tensor loss;
  for (auto& batch : *loader) {
    const Tensor x = batch.data.to(device).flatten(1), y = batch.target.to(device);
    sgd.zero_grad();
    {
      amp::AutocastGuard autocast(device.type());  // f16 on CUDA, bf16 on the CPU
      loss = cross_entropy(net.forward(x), y);
    }
    scaler.scale(loss).backward();
    scaler.step(sgd);
    scaler.update();
  }
  std::cout << "loss of the last batch: " << loss.item<float>() << "\n";
}
