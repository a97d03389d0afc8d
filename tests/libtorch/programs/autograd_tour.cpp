// The operations of the C++ autograd tutorial: graphs, higher derivatives, hooks, and detached parts.
#include "program.h"

int main() {
  auto x = torch::ones({2, 2}, torch::requires_grad());
  auto y = x + 2;
  program::report("name", y.exp().grad_fn()->name() == "ExpBackward0");
  auto z = y * y * 3;
  auto out = z.mean();
  out.backward();
  program::report("grad", x.grad().sum());

  auto a = program::numbers({2, 2}, 1);
  a = ((a * 3) / (a - 1));
  program::report("requires", a.requires_grad());
  a.requires_grad_(true);
  auto b = (a * a).sum();
  program::report("requires", b.requires_grad());

  x = program::numbers({3}, 2).requires_grad_(true);
  y = x * 2;
  while (y.norm().item<double>() < 1000) y = y * 2;
  auto v = torch::tensor({0.1, 1.0, 0.0001}, torch::kFloat);
  y.backward(v);
  program::report("vjp", x.grad().sum());
  {
    torch::NoGradGuard no_grad;
    program::report("no grad", x.pow(2).requires_grad());
  }
  y = x.detach();
  program::report("detached", y.requires_grad());
  program::report("equal", x.eq(y).all().item<bool>());

  // A gradient penalty: a derivative of a derivative.
  auto model = torch::nn::Linear(4, 3);
  program::set_weights(*model, 3);
  auto input = program::numbers({3, 4}, 5).requires_grad_(true);
  auto output = model(input);
  auto loss = torch::nn::MSELoss()(output, torch::zeros({3, 3}));
  auto grads = torch::autograd::grad({loss}, {input}, {}, /*retain_graph=*/true, /*create_graph=*/true);
  auto penalty = torch::pow((grads[0].norm(2, /*dim=*/1) - 1), 2).mean();
  auto combined = loss + penalty;
  combined.backward();
  program::report("penalty", combined);
  program::report("weight grad", model->weight.grad().abs().sum());

  auto h = torch::ones({1}, torch::requires_grad());
  h.register_hook([](torch::Tensor g) { return g * 2; });
  (h * 5).sum().backward();
  program::report("hooked", h.grad());

  torch::autograd::variable_list leaves = {h, model->bias};
  program::report("leaves", static_cast<double>(leaves.size()));
  const bool enabled = torch::GradMode::is_enabled();
  {
    torch::AutoGradMode off(false);
    program::report("mode", torch::GradMode::is_enabled());
  }
  program::report("mode", enabled == torch::GradMode::is_enabled());
}
