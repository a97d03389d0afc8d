#pragma once
// The two networks of the examples, written as for libtorch.
#include <tandem/tandem.h>

namespace mnist {

/// 784-256-128-10 with ReLU.
struct MlpImpl : tandem::nn::Module {
  MlpImpl() : fc1(784, 256), fc2(256, 128), fc3(128, 10) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  tandem::Tensor forward(const tandem::Tensor& images) {
    using tandem::relu;
    return fc3(relu(fc2(relu(fc1(images.flatten(1))))));
  }
  tandem::nn::Linear fc1, fc2, fc3;
};
TANDEM_MODULE(Mlp);

/// Two 5x5 convolutions with pooling, then 1024-128-10.
struct CnnImpl : tandem::nn::Module {
  CnnImpl()
      : conv1(tandem::nn::Conv2dOptions(1, 32, 5)),
        conv2(tandem::nn::Conv2dOptions(32, 64, 5)),
        fc1(1024, 128),
        fc2(128, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  tandem::Tensor forward(const tandem::Tensor& images) {
    using namespace tandem;
    Tensor x = relu(max_pool2d(conv1(images), 2));
    x = relu(max_pool2d(conv2(x), 2));
    return fc2(relu(fc1(x.flatten(1))));
  }
  tandem::nn::Conv2d conv1, conv2;
  tandem::nn::Linear fc1, fc2;
};
TANDEM_MODULE(Cnn);

}  // namespace mnist
