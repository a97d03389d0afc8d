// Bidirectional LSTM over padded sequences, packed by their lengths.
#include "program.h"

namespace rnn_utils = torch::nn::utils::rnn;

struct BiLSTMImpl : torch::nn::Module {
  BiLSTMImpl(int64_t input_size, int64_t hidden_size, int64_t num_layers, int64_t num_classes)
      : lstm(torch::nn::LSTMOptions(input_size, hidden_size)
                 .num_layers(num_layers)
                 .batch_first(true)
                 .bidirectional(true)),
        fc(hidden_size * 2, num_classes) {
    register_module("lstm", lstm);
    register_module("fc", fc);
  }
  torch::Tensor forward(torch::Tensor x, torch::Tensor lengths) {
    auto packed = rnn_utils::pack_padded_sequence(x, lengths, /*batch_first=*/true, /*enforce_sorted=*/false);
    auto [output, state] = lstm->forward_with_packed_input(packed);
    auto [padded, sizes] = rnn_utils::pad_packed_sequence(output, /*batch_first=*/true);
    auto [h, c] = state;
    return fc->forward(torch::cat({h[-2], h[-1]}, 1)) + padded.mean() + c.mean() * 0;
  }
  torch::nn::LSTM lstm;
  torch::nn::Linear fc;
};
TORCH_MODULE(BiLSTM);

int main() {
  BiLSTM model(5, 8, 2, 3);
  program::set_weights(*model, 1);
  const auto x = program::numbers({6, 7, 5}, 60), target = program::integers({6}, 0, 3, 61);
  const auto lengths = torch::tensor({7, 3, 5, 1, 6, 4}, torch::kLong);
  torch::optim::RMSprop optimizer(model->parameters(), torch::optim::RMSpropOptions(0.003).alpha(0.9));
  for (int step = 0; step < 12; ++step) {
    optimizer.zero_grad();
    auto loss = torch::cross_entropy_loss(model->forward(x, lengths), target);
    loss.backward();
    optimizer.step();
    program::report_step(step, loss);
  }
}
