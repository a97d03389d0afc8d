// Two classes, told apart by a linear model, with AdamW and a learning rate that is halved at times.
#include "program.h"

struct LogisticRegressionImpl : torch::nn::Module {
  explicit LogisticRegressionImpl(int64_t features)
      : linear(register_module("linear", torch::nn::Linear(features, 1))) {}
  torch::Tensor forward(torch::Tensor x) { return linear->forward(x).squeeze(-1); }

  torch::nn::Linear linear{nullptr};
};
TORCH_MODULE(LogisticRegression);

int main() {
  const torch::Tensor x = program::numbers({200, 4}, 1);
  const torch::Tensor target = ((x.select(1, 0) - 2 * x.select(1, 2)) > 0.3).to(torch::kFloat);
  LogisticRegression model(4);
  program::set_weights(*model, 2);

  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(0.1).weight_decay(0.01));
  for (int step = 0; step < 30; ++step) {
    optimizer.zero_grad();
    auto loss = torch::nn::functional::binary_cross_entropy_with_logits(model(x), target);
    loss.backward();
    optimizer.step();
    if (step % 10 == 9) {
      for (auto& group : optimizer.param_groups()) group.options().set_lr(group.options().get_lr() / 2);
    }
    program::report_step(step, loss);
  }
  const auto predicted = torch::sigmoid(model(x)).gt(0.5).to(torch::kFloat);
  program::report("accuracy", predicted.eq(target).to(torch::kFloat).mean());
}
