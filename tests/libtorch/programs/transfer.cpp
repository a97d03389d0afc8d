// Weights that Python saved with torch.save: copied into a model by name, frozen except for a new last layer, which is
// trained, and saved again.
#include <fstream>
#include <iterator>

#include "program.h"

struct ClassifierImpl : torch::nn::Module {
  explicit ClassifierImpl(int64_t classes)
      : features(register_module(
            "features", torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).padding(1)),
                                              torch::nn::BatchNorm2d(4), torch::nn::ReLU(), torch::nn::MaxPool2d(2),
                                              torch::nn::Flatten(), torch::nn::Linear(64, 16)))),
        head(register_module("head", torch::nn::Linear(16, classes))) {}
  torch::Tensor forward(torch::Tensor x) { return head(torch::relu(features->forward(x))); }

  torch::nn::Sequential features;
  torch::nn::Linear head;
};
TORCH_MODULE(Classifier);

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Copies the tensors whose names and sizes fit. Returns their number.
int64_t copy_weights(torch::nn::Module& model, const torch::IValue& saved) {
  torch::NoGradGuard no_grad;
  auto parameters = model.named_parameters();
  auto buffers = model.named_buffers();
  int64_t copied = 0;
  for (const auto& entry : saved.toGenericDict()) {
    const std::string name = entry.key().toStringRef();
    const torch::Tensor value = entry.value().toTensor();
    torch::Tensor* to = parameters.find(name) ? parameters.find(name) : buffers.find(name);
    if (!to || to->sizes() != value.sizes()) continue;
    to->copy_(value);
    ++copied;
  }
  return copied;
}

int main() {
  Classifier model(3);
  program::set_weights(*model, 20);
  program::report("copied", copy_weights(*model, torch::pickle_load(bytes_of("transfer.pt"))));
  for (auto& p : model->features->parameters()) p.requires_grad_(false);
  model->features->eval();

  const auto x = program::numbers({12, 1, 8, 8}, 1);
  const auto target = program::integers({12}, 0, 3, 2);
  program::report("features", model->features->forward(x).abs().mean());

  torch::optim::SGD optimizer(model->head->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(model(x), target);
    loss.backward();
    optimizer.step();
    program::report_step(step, loss);
  }
  program::report("frozen", model->features->parameters()[0].grad().defined());

  const std::vector<char> bytes = torch::pickle_save(model->head->weight.detach());
  program::report("saved", torch::pickle_load(bytes).toTensor().equal(model->head->weight));
}
