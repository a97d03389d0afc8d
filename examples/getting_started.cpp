// Learns whether a point lies inside a circle (docs/getting_started.md).
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
  Net net;
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(1e-2));
  Tensor loss;
  for (int step = 0; step < 500; ++step) {
    const Tensor x = rand({256, 2}) * 2 - 1;                      // points in a square
    const Tensor inside = x.square().sum({1}).lt(0.5).to(kLong);  // 1 inside the circle, else 0
    adamw.zero_grad();
    loss = cross_entropy(net.forward(x), inside);
    loss.backward();
    adamw.step();
  }
  std::cout << "loss " << loss.item<float>() << "\n";
}
