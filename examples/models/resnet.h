#pragma once
// ResNet-18 in the form for small images: no stride and no pooling at the start. Also compiles with libtorch.
// Source: He et al., Deep Residual Learning for Image Recognition, 2015.
#include <torch/torch.h>

namespace models {

inline torch::nn::Conv2d conv3x3(int64_t in, int64_t out, int64_t stride = 1) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
}

/// relu(x + bn(conv(relu(bn(conv(x)))))), where a 1x1 convolution adapts x if the sizes differ.
struct BasicBlockImpl : torch::nn::Module {
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(conv3x3(in, out, stride)), bn1(out), conv2(conv3x3(out, out)), bn2(out) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    if (stride != 1 || in != out) {
      shortcut->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)));
      shortcut->push_back(torch::nn::BatchNorm2d(out));
    }
    register_module("shortcut", shortcut);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto y = bn2(conv2(torch::relu(bn1(conv1(x)))));
    return torch::relu(y + (shortcut->is_empty() ? x : shortcut->forward(x)));
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Sequential shortcut;
};
TORCH_MODULE(BasicBlock);

/// Scores of the classes from images, [batch, channels, height, width]. ResNet-18 has width 64.
struct ResNet18Impl : torch::nn::Module {
  ResNet18Impl(int64_t channels, int64_t width, int64_t classes)
      : conv(conv3x3(channels, width)), bn(width), fc(8 * width, classes) {
    register_module("conv", conv);
    register_module("bn", bn);
    int64_t in = width;
    for (int64_t stage = 0; stage < 4; ++stage) {
      const int64_t out = width << stage;
      blocks->push_back(BasicBlock(in, out, stage == 0 ? 1 : 2));
      blocks->push_back(BasicBlock(out, out, 1));
      in = out;
    }
    register_module("blocks", blocks);
    register_module("fc", fc);
  }
  torch::Tensor forward(const torch::Tensor& images) {
    const auto features = blocks->forward(torch::relu(bn(conv(images))));
    return fc(torch::adaptive_avg_pool2d(features, {1, 1}).flatten(1));
  }

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d bn;
  torch::nn::Sequential blocks;
  torch::nn::Linear fc;
};
TORCH_MODULE(ResNet18);

}  // namespace models
