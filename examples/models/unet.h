#pragma once
// A U-Net: one score per pixel. Also compiles with libtorch.
// Source: Ronneberger et al., U-Net: Convolutional Networks for Biomedical Image Segmentation, 2015.
#include <torch/torch.h>

#include <vector>

namespace models {

/// Two 3x3 convolutions, each with batch norm and ReLU.
inline torch::nn::Sequential double_conv(int64_t in, int64_t out) {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false)), nn::BatchNorm2d(out),
                        nn::ReLU(), nn::Conv2d(nn::Conv2dOptions(out, out, 3).padding(1).bias(false)),
                        nn::BatchNorm2d(out), nn::ReLU());
}

/// Scores, [batch, 1, height, width], of images of one channel. Height and width are multiples of 2^depth.
struct UNetImpl : torch::nn::Module {
  UNetImpl(int64_t width, int64_t depth)
      : bottom(double_conv(width << (depth - 1), width << depth)), scores(torch::nn::Conv2dOptions(width, 1, 1)) {
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t channels = width << i;
      down.push_back(register_module("down" + std::to_string(i), double_conv(i == 0 ? 1 : channels / 2, channels)));
      up.push_back(register_module(
          "up" + std::to_string(i),
          torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(2 * channels, channels, 2).stride(2))));
      merge.push_back(register_module("merge" + std::to_string(i), double_conv(2 * channels, channels)));
    }
    register_module("bottom", bottom);
    register_module("scores", scores);
  }
  torch::Tensor forward(torch::Tensor x) {
    std::vector<torch::Tensor> skipped;
    for (auto& stage : down) {
      x = stage->forward(x);
      skipped.push_back(x);
      x = torch::max_pool2d(x, {2, 2});
    }
    x = bottom->forward(x);
    for (size_t i = down.size(); i-- > 0;) x = merge[i]->forward(torch::cat({skipped[i], up[i](x)}, 1));
    return scores(x);
  }

  std::vector<torch::nn::Sequential> down, merge;
  std::vector<torch::nn::ConvTranspose2d> up;
  torch::nn::Sequential bottom;
  torch::nn::Conv2d scores;
};
TORCH_MODULE(UNet);

}  // namespace models
