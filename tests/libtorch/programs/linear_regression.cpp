// y = x w + b + noise, fitted with plain tensors and autograd, then with nn::Linear and SGD.
#include "program.h"

int main() {
  const torch::Tensor x = program::numbers({64, 3}, 1);
  const torch::Tensor y = torch::matmul(x, torch::tensor({1.5f, -2.0f, 0.5f})) + 0.25 + 0.1 * program::numbers({64}, 2);

  torch::Tensor w = torch::zeros({3}, torch::requires_grad());
  torch::Tensor b = torch::zeros({1}, torch::TensorOptions().dtype(torch::kFloat32).requires_grad(true));
  for (int step = 0; step < 20; ++step) {
    torch::Tensor loss = (torch::mv(x, w) + b - y).pow(2).mean();
    loss.backward();
    program::report_step(step, loss);
    torch::NoGradGuard no_grad;
    w -= 0.1 * w.grad();
    b -= 0.1 * b.grad();
    w.mutable_grad().zero_();
    b.mutable_grad().zero_();
  }

  torch::nn::Linear model(3, 1);
  program::set_weights(*model, 3);
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < 20; ++step) {
    sgd.zero_grad();
    torch::Tensor loss = torch::mse_loss(model->forward(x).squeeze(1), y);
    loss.backward();
    sgd.step();
    program::report_step(step, loss);
  }
  TORCH_CHECK(model->weight.sizes() == torch::IntArrayRef({1, 3}), "unexpected sizes ", model->weight.sizes());
}
