// The network of libtorch's MNIST example, with dropout of probability 0.
#include "program.h"

struct Net : torch::nn::Module {
  Net()
      : conv1(torch::nn::Conv2dOptions(1, 10, /*kernel_size=*/5)),
        conv2(torch::nn::Conv2dOptions(10, 20, /*kernel_size=*/5)),
        fc1(320, 50),
        fc2(50, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv2_drop", conv2_drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(conv2_drop->forward(conv2->forward(x)), 2));
    x = x.view({-1, 320});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.0, /*training=*/is_training());
    x = fc2->forward(x);
    return torch::log_softmax(x, /*dim=*/1);
  }

  torch::nn::Conv2d conv1;
  torch::nn::Conv2d conv2;
  torch::nn::Dropout2d conv2_drop{torch::nn::Dropout2dOptions(0.0)};
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
};

template <typename Batches>
void train(int64_t epoch, Net& model, torch::Device device, const Batches& batches,
           torch::optim::Optimizer& optimizer) {
  model.train();
  for (const auto& [images, labels] : batches) {
    auto data = images.to(device), targets = labels.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    optimizer.step();
    program::report("epoch " + std::to_string(epoch), loss);
  }
}

int main() {
  torch::DeviceType device_type = torch::kCPU;
  torch::Device device(device_type);
  Net model;
  model.to(device);
  program::set_weights(model, 1);
  std::vector<std::pair<torch::Tensor, torch::Tensor>> batches;
  for (uint64_t i = 0; i < 4; ++i) {
    batches.emplace_back(program::numbers({16, 1, 28, 28}, 50 + i), program::integers({16}, 0, 10, 60 + i));
  }
  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  for (int64_t epoch = 1; epoch <= 4; ++epoch) train(epoch, model, device, batches, optimizer);

  torch::NoGradGuard no_grad;
  model.eval();
  double test_loss = 0;
  int32_t correct = 0;
  for (const auto& [data, targets] : batches) {
    auto output = model.forward(data);
    test_loss += torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).item<float>();
    auto pred = output.argmax(1);
    correct += pred.eq(targets).sum().item<int64_t>();
  }
  program::report("test loss", test_loss);
  program::report("correct", correct);
}
