#pragma once
// The two networks of a DCGAN for images of 28x28. Also compiles with libtorch.
// Source: Radford et al., Unsupervised Representation Learning with Deep Convolutional Generative Adversarial Networks,
// 2015.
#include <torch/torch.h>

namespace models {

/// Images in [-1, 1], [batch, 1, 28, 28], from noise, [batch, `noise`].
struct GeneratorImpl : torch::nn::Module {
  GeneratorImpl(int64_t noise, int64_t width)
      : width(width),
        fc(torch::nn::LinearOptions(noise, 2 * width * 7 * 7).bias(false)),
        bn1(2 * width),
        conv1(torch::nn::ConvTranspose2dOptions(2 * width, width, 4).stride(2).padding(1).bias(false)),
        bn2(width),
        conv2(torch::nn::ConvTranspose2dOptions(width, 1, 4).stride(2).padding(1)) {
    register_module("fc", fc);
    register_module("bn1", bn1);
    register_module("conv1", conv1);
    register_module("bn2", bn2);
    register_module("conv2", conv2);
  }
  torch::Tensor forward(const torch::Tensor& noise) {
    const auto x = torch::relu(bn1(fc(noise).view({-1, 2 * width, 7, 7})));
    return torch::tanh(conv2(torch::relu(bn2(conv1(x)))));
  }

  int64_t width;
  torch::nn::Linear fc;
  torch::nn::BatchNorm2d bn1;
  torch::nn::ConvTranspose2d conv1;
  torch::nn::BatchNorm2d bn2;
  torch::nn::ConvTranspose2d conv2;
};
TORCH_MODULE(Generator);

/// The score, [batch], that images are real.
struct DiscriminatorImpl : torch::nn::Module {
  explicit DiscriminatorImpl(int64_t width)
      : conv1(torch::nn::Conv2dOptions(1, width, 4).stride(2).padding(1)),
        conv2(torch::nn::Conv2dOptions(width, 2 * width, 4).stride(2).padding(1).bias(false)),
        bn(2 * width),
        fc(2 * width * 7 * 7, 1) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("bn", bn);
    register_module("fc", fc);
  }
  torch::Tensor forward(const torch::Tensor& images) {
    auto x = torch::leaky_relu(conv1(images), 0.2);
    x = torch::leaky_relu(bn(conv2(x)), 0.2);
    return fc(x.flatten(1)).squeeze(1);
  }

  torch::nn::Conv2d conv1, conv2;
  torch::nn::BatchNorm2d bn;
  torch::nn::Linear fc;
};
TORCH_MODULE(Discriminator);

/// The weights that the paper starts from: convolutions with deviation 0.02.
inline void initialize(torch::nn::Module& network) {
  torch::NoGradGuard no_grad;
  for (const auto& entry : network.named_parameters()) {
    if (entry.value().dim() == 4) torch::nn::init::normal_(entry.value(), 0.0, 0.02);
  }
}

}  // namespace models
