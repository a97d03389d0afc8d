// A language model of characters: embedding, LSTM with a detached state, and greedy sampling.
#include <map>

#include "program.h"

struct CharModelImpl : torch::nn::Module {
  CharModelImpl(int64_t vocabulary, int64_t embedding, int64_t hidden)
      : embed(torch::nn::Embedding(vocabulary, embedding)),
        lstm(torch::nn::LSTMOptions(embedding, hidden)),
        head(torch::nn::Linear(hidden, vocabulary)) {
    register_module("embed", embed);
    register_module("lstm", lstm);
    register_module("head", head);
  }
  std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>> forward(
      torch::Tensor tokens, torch::optional<std::tuple<torch::Tensor, torch::Tensor>> state) {
    auto [y, next] = lstm->forward(embed->forward(tokens), state.value_or(std::tuple<torch::Tensor, torch::Tensor>()));
    return {head->forward(y), next};
  }
  torch::nn::Embedding embed;
  torch::nn::LSTM lstm;
  torch::nn::Linear head;
};
TORCH_MODULE(CharModel);

int main() {
  const std::string text = "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. ";
  std::map<char, int64_t> ids;
  for (char c : text) ids.emplace(c, 0);
  int64_t count = 0;
  for (auto& [c, id] : ids) id = count++;
  std::vector<int64_t> encoded;
  for (char c : text) encoded.push_back(ids[c]);
  auto tokens = torch::from_blob(encoded.data(), {static_cast<int64_t>(encoded.size())}, torch::kInt64).clone();

  CharModel model(count, 12, 24);
  program::set_weights(*model, 1);
  torch::optim::Adam adam(model->parameters(), torch::optim::AdamOptions(0.01).amsgrad(true));
  const int64_t length = 20;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::tuple<torch::Tensor, torch::Tensor> state{torch::zeros({1, 1, 24}), torch::zeros({1, 1, 24})};
    for (int64_t at = 0; at + length + 1 < tokens.size(0); at += length) {
      auto input = tokens.slice(0, at, at + length).unsqueeze(1);
      auto target = tokens.narrow(0, at + 1, length);
      auto [logits, next] = model->forward(input, state);
      auto loss = torch::nn::functional::nll_loss(torch::log_softmax(logits.squeeze(1), 1), target);
      adam.zero_grad();
      loss.backward();
      adam.step();
      state = {std::get<0>(next).detach(), std::get<1>(next).detach()};
      program::report("at " + std::to_string(at), loss);
    }
  }
  torch::NoGradGuard no_grad;
  auto token = torch::zeros({1, 1}, torch::kLong);
  torch::optional<std::tuple<torch::Tensor, torch::Tensor>> state =
      std::make_tuple(torch::zeros({1, 1, 24}), torch::zeros({1, 1, 24}));
  int64_t sum = 0;
  for (int i = 0; i < 5; ++i) {
    auto [logits, next] = model->forward(token, state);
    token = logits.argmax(-1);
    state = next;
    sum += token.item<int64_t>();
  }
  program::report("sampled", static_cast<double>(sum >= 0));
}
