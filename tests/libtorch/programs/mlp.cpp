// A perceptron with dropout (of probability 0) and batch norm, as a Sequential of named layers.
#include "program.h"

namespace F = torch::nn::functional;

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential net({{"fc1", torch::nn::Linear(torch::nn::LinearOptions(10, 32).bias(false))},
                             {"norm", torch::nn::BatchNorm1d(32)},
                             {"relu", torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true))},
                             {"drop", torch::nn::Dropout(0.0)},
                             {"fc2", torch::nn::Linear(32, 5)}});
  program::set_weights(*net, 1);
  std::cout << net << std::endl;
  const auto x = program::numbers({128, 10}, 20);
  const auto target = program::integers({128}, 0, 5, 21);

  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(1e-2).betas(std::make_tuple(0.9, 0.98)));
  net->train();
  for (int64_t step = 0; step < 25; ++step) {
    adam.zero_grad();
    auto loss = F::cross_entropy(net->forward(x), target, F::CrossEntropyFuncOptions().label_smoothing(0.1));
    loss.backward();
    torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
    adam.step();
    program::report_step(step, loss);
  }
  net->eval();
  torch::NoGradGuard no_grad;
  const auto prediction = net->forward(x).argmax(1);
  program::report("correct", prediction.eq(target).sum());
  for (const auto& pair : net->named_parameters()) program::report(pair.key(), pair.value().norm());
}
