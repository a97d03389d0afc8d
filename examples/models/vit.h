#pragma once
// A vision transformer: classifies images by their patches. Also compiles with libtorch.
#include "models/transformer.h"

namespace models {

struct VitOptions {
  int64_t image, patch, width, depth, heads;
};

/// Scores of 10 classes from images, [batch, 1, image, image].
struct VitImpl : torch::nn::Module {
  explicit VitImpl(const VitOptions& o)
      : patches(torch::nn::Conv2dOptions(1, o.width, o.patch).stride(o.patch)),
        body(o.width, o.depth, o.heads, /*causal=*/false),
        scores(o.width, 10) {
    const int64_t tokens = (o.image / o.patch) * (o.image / o.patch);
    register_module("patches", patches);
    register_module("body", body);
    register_module("scores", scores);
    first = register_parameter("first", torch::zeros({1, 1, o.width}));
    position = register_parameter("position", torch::randn({1, tokens + 1, o.width}) * 0.02);
  }
  torch::Tensor forward(const torch::Tensor& images) {
    const auto x = patches(images).flatten(2).transpose(1, 2);
    const auto token = first.expand({x.size(0), 1, x.size(2)});
    return scores(body(torch::cat({token, x}, 1) + position).select(1, 0));
  }

  torch::nn::Conv2d patches;
  Transformer body;
  torch::nn::Linear scores;
  torch::Tensor first, position;
};
TORCH_MODULE(Vit);

}  // namespace models
