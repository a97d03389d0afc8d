// Colossal-AI's Booster: the same loop in f32 and in every mixed-precision mode. Only the name of the mode changes.
// Source: Colossal-AI, "Auto Mixed Precision Training".
#include <cstdio>
#include <cstring>

#include <tandem/amp/modes.h>

#include "toy.h"

using namespace tandem;

namespace {

struct Task {
  explicit Task(int64_t count) : x(randn({count, 1, 8, 8})), y(x.flatten(1).narrow(1, 0, 4).argmax(1)) {}
  Tensor x, y;
};

nn::Sequential make_net() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 3).padding(1)), nn::BatchNorm2d(nn::BatchNormOptions(8)),
                        nn::ReLU(), nn::Flatten(), nn::Linear(512, 4));
}

}  // namespace

int main(int argc, char** argv) {
  const int epochs = toy::Arguments(argc, argv).quick ? 3 : 30;
  manual_seed(2);
  const Task task(1024);
  double f32 = 0;
  bool learned = true;

  for (const char* mode : {"f32", "fp16", "bf16", "fp16_naive", "fp16_apex"}) {
    manual_seed(1);
    nn::Sequential model = make_net();
    optim::AdamW adamw(model->parameters(), optim::AdamWOptions(2e-3));
    nn::CrossEntropyLoss criterion;

    amp::Booster booster = std::strcmp(mode, "f32") == 0 ? amp::Booster() : amp::Booster(mode);
    auto [net, optimizer, loss_of] = booster.boost(model, adamw, criterion);

    Tensor loss;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (int64_t at = 0; at < task.x.size(0); at += 128) {
        optimizer.zero_grad();
        loss = loss_of(net(task.x.narrow(0, at, 128)), task.y.narrow(0, at, 128));
        booster.backward(loss, optimizer);
        booster.unscale_(optimizer);
        nn::utils::clip_grad_norm_(optimizer.parameters(), 5.0);
        optimizer.step();
      }
    }
    NoGradGuard no_grad;
    const double share = net(task.x).argmax(1).eq(task.y).to(kFloat).mean().item<double>();
    std::printf("%-10s weights %-4s loss %.4f  accuracy %.1f %%  scale %g\n", mode,
                std::string(name(model->parameters()[0].dtype())).c_str(), loss.item<double>(), 100 * share,
                booster.scale(optimizer));
    if (std::strcmp(mode, "f32") == 0) f32 = share;
    learned = learned && toy::learned_as_much(f32, share);
    amp::set_autocast_enabled(toy::device().type(), false);  // fp16_apex is O1, which leaves autocast enabled
  }

  // A mode with custom options.
  const auto naive = std::make_shared<amp::FP16NaiveMixedPrecision>(
      amp::FP16NaiveOptions().initial_scale(0x1p24).hysteresis(2).log_num_zeros_in_grad(true).verbose(true));
  nn::Sequential model = make_net();
  optim::SGD sgd(model->parameters(), optim::SGDOptions(0.1));
  amp::Booster booster(naive);
  auto [net, optimizer] = booster.boost(model, sgd);
  for (int i = 0; i < 12; ++i) {
    optimizer.zero_grad();
    booster.backward(cross_entropy(net(task.x.narrow(0, 0, 128)), task.y.narrow(0, 0, 128)), optimizer);
    optimizer.step();
  }
  std::printf("fp16_naive starting at 2^24: scale %g, zero gradients %lld\n", booster.scale(optimizer),
              static_cast<long long>(naive->num_zeros_in_grad(optimizer)));
  return learned ? 0 : 1;
}
