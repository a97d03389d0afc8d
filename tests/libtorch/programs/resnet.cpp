// A small residual network: blocks made by a template, and a Sequential built in a loop.
#include "program.h"

using namespace torch;

struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(int64_t inplanes, int64_t planes, int64_t stride = 1, nn::Sequential shortcut = nn::Sequential())
      : conv1(conv3x3(inplanes, planes, stride)),
        bn1(planes),
        conv2(conv3x3(planes, planes, 1)),
        bn2(planes),
        downsample(shortcut) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    if (!downsample->is_empty()) register_module("downsample", downsample);
  }
  static nn::Conv2dOptions conv3x3(int64_t in, int64_t out, int64_t stride) {
    return nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false);
  }
  Tensor forward(Tensor x) {
    Tensor residual = downsample->is_empty() ? x : downsample->forward(x);
    Tensor out = relu(bn1(conv1(x)));
    out = bn2(conv2(out));
    out += residual;
    return torch::relu(out);
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential downsample;
};
TORCH_MODULE(BasicBlock);

struct ResNetImpl : nn::Module {
  explicit ResNetImpl(int64_t classes)
      : stem(nn::Conv2dOptions(3, 8, 3).padding(1).bias(false)),
        bn(8),
        layer1(make_layer(8, 1, 1)),
        layer2(make_layer(16, 2, 2)),
        pool(nn::AdaptiveAvgPool2dOptions({1, 1})),
        fc(16, classes) {
    register_module("stem", stem);
    register_module("bn", bn);
    register_module("layer1", layer1);
    register_module("layer2", layer2);
    register_module("pool", pool);
    register_module("fc", fc);
    for (auto& m : modules(/*include_self=*/false)) {
      if (auto* conv = dynamic_cast<nn::Conv2dImpl*>(m.get())) {
        nn::init::kaiming_normal_(conv->weight, 0, kFanOut, kReLU);
      } else if (auto* norm = m->as<nn::BatchNorm2d>()) {
        nn::init::constant_(norm->weight, 1);
        nn::init::constant_(norm->bias, 0);
      }
    }
  }
  nn::Sequential make_layer(int64_t planes, int64_t blocks, int64_t stride) {
    nn::Sequential shortcut;
    if (stride != 1 || inplanes != planes) {
      shortcut = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(inplanes, planes, 1).stride(stride).bias(false)),
                                nn::BatchNorm2d(planes));
    }
    nn::Sequential layers;
    layers->push_back(BasicBlock(inplanes, planes, stride, shortcut));
    inplanes = planes;
    for (int64_t i = 1; i < blocks; ++i) layers->push_back(BasicBlock(planes, planes));
    return layers;
  }
  Tensor forward(Tensor x) {
    x = relu(bn(stem(x)));
    x = layer2->forward(layer1->forward(x));
    return fc(pool(x).flatten(1));
  }
  int64_t inplanes = 8;
  nn::Conv2d stem;
  nn::BatchNorm2d bn;
  nn::Sequential layer1, layer2;
  nn::AdaptiveAvgPool2d pool;
  nn::Linear fc;
};
TORCH_MODULE(ResNet);

int main() {
  ResNet model(4);
  program::set_weights(*model, 1);
  optim::SGD sgd(model->parameters(), optim::SGDOptions(0.02).momentum(0.9).nesterov(true).weight_decay(1e-4));
  const Tensor x = program::numbers({8, 3, 12, 12}, 100), target = program::integers({8}, 0, 4, 101);
  for (int step = 0; step < 8; ++step) {
    sgd.zero_grad();
    Tensor loss = nn::CrossEntropyLoss()(model->forward(x), target);
    loss.backward();
    sgd.step();
    program::report_step(step, loss);
  }
  int64_t count = 0;
  for (const auto& p : model->parameters()) count += p.numel();
  program::report("parameters", static_cast<double>(count));
  model->eval();
  program::report("eval", model->forward(x).sum());
}
