#pragma once
// A CNN whose two convolutions have many channels. Also compiles with libtorch.
#include <torch/torch.h>

namespace models {

/// Scores of 10 classes from images, [batch, 1, 28, 28], by 3x3 convolutions with `channels1` and `channels2` channels.
struct BigCnnImpl : torch::nn::Module {
  explicit BigCnnImpl(int64_t channels1 = 420, int64_t channels2 = 1000)
      : conv1(torch::nn::Conv2dOptions(1, channels1, 3).padding(1)),
        conv2(torch::nn::Conv2dOptions(channels1, channels2, 3).padding(1)),
        fc(channels2 * 7 * 7, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("fc", fc);
  }
  torch::Tensor forward(const torch::Tensor& images) {
    auto x = torch::max_pool2d(torch::relu(conv1(images)), {2, 2});
    x = torch::max_pool2d(torch::relu(conv2(x)), {2, 2});
    return fc(x.flatten(1));
  }

  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc;
};
TORCH_MODULE(BigCnn);

}  // namespace models
