// An ordinary f32 training program without any AMP code. Run it as it is, then with the environment variables:
//
//   environment_switch
//   TANDEM_AUTO_MIXED_PRECISION=1 environment_switch
//   TANDEM_AUTO_MIXED_PRECISION=1 TANDEM_AUTO_MIXED_PRECISION_DTYPE=f16 environment_switch
//
// It prints the dtype of the network's output, and reaches about the same accuracy each time.
#include "toy.h"

using namespace tandem;

namespace {

struct Net : nn::Module {
  Net() : conv(nn::Conv2dOptions(1, 16, 3).padding(1)), fc1(16 * 4 * 4, 64), fc2(64, 4) {
    register_module("conv", conv);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& images) {
    const Tensor x = max_pool2d(relu(conv(images)), 2).flatten(1);
    return fc2(relu(fc1(x)));
  }
  nn::Conv2d conv;
  nn::Linear fc1, fc2;
};

}  // namespace

int main(int argc, char** argv) {
  const int epochs = toy::Arguments(argc, argv).quick ? 8 : 40;
  manual_seed(3);
  const Tensor images = randn({1024, 1, 8, 8});
  // The label is the quarter of the image with the largest sum.
  const Tensor quarters = avg_pool2d(images, 4).flatten(1);
  const Tensor labels = quarters.argmax(1);

  Net net;
  optim::Adam adam(net.parameters(), optim::AdamOptions(3e-3));
  Tensor scores, loss;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int64_t at = 0; at < images.size(0); at += 64) {
      adam.zero_grad();
      scores = net.forward(images.narrow(0, at, 64));
      loss = cross_entropy(scores, labels.narrow(0, at, 64));
      loss.backward();
      nn::utils::clip_grad_norm_(net.parameters(), 5.0);
      adam.step();
    }
  }
  NoGradGuard no_grad;
  const double share = net.forward(images).argmax(1).eq(labels).to(kFloat).mean().item<double>();
  std::printf("the network's output is %s, its weights are %s; loss %.4f, accuracy %.1f %%\n",
              std::string(name(scores.dtype())).c_str(), std::string(name(net.fc1->weight.dtype())).c_str(),
              loss.item<double>(), 100 * share);
  return share > 0.75 ? 0 : 1;  // chance is 0.25
}
