// A recurrent classifier: nn::RNN, nn::GRU and nn::LSTMCell by turns.
#include "program.h"

struct RNNClassifierImpl : torch::nn::Module {
  RNNClassifierImpl(int64_t input, int64_t hidden, int64_t classes)
      : rnn(torch::nn::RNNOptions(input, hidden).num_layers(2).batch_first(true).nonlinearity(torch::kTanh)),
        gru(torch::nn::GRUOptions(hidden, hidden).batch_first(true)),
        cell(hidden, hidden),
        fc(hidden, classes) {
    register_module("rnn", rnn);
    register_module("gru", gru);
    register_module("cell", cell);
    register_module("fc", fc);
  }
  torch::Tensor forward(torch::Tensor x) {
    auto out = std::get<0>(rnn->forward(x));
    torch::Tensor last;
    std::tie(out, last) = gru->forward(out);
    auto state = cell->forward(out.slice(1, -1).squeeze(1));
    state = cell->forward(last.squeeze(0), state);
    return fc->forward(std::get<0>(state));
  }
  torch::nn::RNN rnn{nullptr};
  torch::nn::GRU gru{nullptr};
  torch::nn::LSTMCell cell{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(RNNClassifier);

int main() {
  RNNClassifier model(6, 16, 3);
  program::set_weights(*model, 1);
  const auto x = program::numbers({12, 9, 6}, 50), target = program::integers({12}, 0, 3, 51);
  torch::optim::Adam adam(model->parameters(), torch::optim::AdamOptions(0.01));
  for (int step = 0; step < 15; ++step) {
    adam.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(model->forward(x), target);
    loss.backward();
    adam.step();
    program::report_step(step, loss);
  }
}
