// LBFGS with a closure and the strong Wolfe line search, on Rosenbrock's function and on a small regression.
#include "program.h"

int main() {
  auto p = torch::tensor({-1.2, 1.0}, torch::TensorOptions().dtype(torch::kDouble)).requires_grad_(true);
  torch::optim::LBFGS rosenbrock({p}, torch::optim::LBFGSOptions(1).max_iter(8).line_search_fn("strong_wolfe"));
  auto closure = [&]() {
    rosenbrock.zero_grad();
    auto loss = (1 - p[0]).pow(2) + 100 * (p[1] - p[0].pow(2)).pow(2);
    loss.backward();
    return loss;
  };
  for (int step = 0; step < 6; ++step) program::report_step(step, rosenbrock.step(closure));
  program::report("x", p[0]);
  program::report("y", p[1]);

  torch::nn::Linear model(5, 1);
  model->to(torch::kDouble);
  program::set_weights(*model, 1);
  const auto x = program::numbers({40, 5}, 4).to(torch::kDouble), y = x.sum(1, /*keepdim=*/true).sin();
  torch::optim::LBFGS optimizer(model->parameters(), torch::optim::LBFGSOptions(0.5).max_iter(4).history_size(5));
  for (int step = 0; step < 5; ++step) {
    auto loss = optimizer.step([&]() -> torch::Tensor {
      optimizer.zero_grad();
      auto value = torch::mse_loss(model->forward(x), y);
      value.backward();
      return value;
    });
    program::report_step(step, loss);
  }
}
