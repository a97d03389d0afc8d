// Apex's optimization levels: one network trained at O0 to O3, with clipping of the master weights' gradients and a
// checkpoint of O0 that the other levels load. Source: NVIDIA Apex, amp.initialize.
#include <cstdio>

#include <tandem/amp/modes.h>

#include "toy.h"

using namespace tandem;

namespace {

nn::Sequential make_net() {
  return nn::Sequential(nn::Linear(16, 64), nn::BatchNorm1d(nn::BatchNormOptions(64)), nn::ReLU(), nn::Linear(64, 4));
}

/// The task: which of the first four inputs is the largest.
std::pair<Tensor, Tensor> make_batch() {
  const Tensor x = randn({128, 16});
  return {x, x.narrow(1, 0, 4).argmax(1)};
}

double accuracy(nn::Sequential& net) {
  net->eval();
  NoGradGuard no_grad;
  const auto [x, y] = make_batch();
  const double share = net(x).argmax(1).eq(y).to(kFloat).mean().item<double>();
  net->train();
  return share;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = toy::Arguments(argc, argv).quick ? 60 : 600;
  double f32 = 0;
  bool learned = true;
  OrderedDict<std::string, Tensor> checkpoint;
  for (const char* name : {"O0", "O1", "O2", "O3"}) {
    manual_seed(1);
    nn::Sequential net = make_net();
    optim::AdamW adam(net->parameters(), optim::AdamWOptions(5e-3));
    amp::initialize(net, adam, amp::opt_level(name));
    if (checkpoint.size() > 0) amp::load_model_state(*net, checkpoint, {&adam});  // weights of O0 after some steps

    Tensor loss;
    for (int i = 0; i < steps; ++i) {
      const auto [x, y] = make_batch();
      adam.zero_grad();
      loss = cross_entropy(net(x), y);
      amp::scale_loss(loss, adam).backward();
      nn::utils::clip_grad_norm_(amp::master_params(adam), 1.0);
      adam.step();
      if (checkpoint.size() == 0 && i + 1 == steps / 10) checkpoint = amp::model_state(*net, {&adam});
    }
    const double share = accuracy(net);
    if (std::string_view(name) == "O0") f32 = share;
    learned = learned && toy::learned_as_much(f32, share);
    std::printf("%s: weights %s, batch norm %s, loss %.4f, accuracy %.1f %%\n", name,
                std::string(tandem::name(net->parameters()[0].dtype())).c_str(),
                std::string(tandem::name(net->parameters()[2].dtype())).c_str(), loss.item<double>(), 100 * share);
    amp::set_autocast_enabled(toy::device().type(), false);  // O1 leaves autocast enabled
  }

  // Two losses with one scale each. The second overflows: only its scale is lowered, and the step is skipped.
  nn::Linear net(4, 1);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1));
  amp::initialize(net, sgd, amp::OptLevel::O2, amp::InitializeOptions().num_losses(2).verbosity(0));
  const Tensor x = randn({8, 4});
  amp::scale_loss(net(x).mean() * 0.1, sgd, amp::ScaleLossOptions().loss_id(0)).backward();
  amp::scale_loss(net(x).mean() * 1e30, sgd, amp::ScaleLossOptions().loss_id(1)).backward();
  sgd.step();
  const amp::LossScalersState state = amp::state_dict(sgd);
  const auto scale = [&](const char* scaler) { return state.at(scaler).at("scale").to_double(); };
  std::printf("scales: %g of the first loss, %g of the second\n", scale("loss_scaler0"), scale("loss_scaler1"));
  return learned && scale("loss_scaler0") == 2 * scale("loss_scaler1") ? 0 : 1;
}
