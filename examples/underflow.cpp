// Why gradients are scaled. A network whose gradients are below f16's smallest number (2^-24) does not learn without a
// GradScaler and trains with one. With an initial scale that overflows, steps are skipped until the scale is low
// enough; then training proceeds.
#include "toy.h"

using namespace tandem;

namespace {

constexpr int64_t kBatch = 256, kIn = 64, kHidden = 128;
constexpr double kSmall = 1e-6;  // weight of the loss: pushes its gradients below f16's range

struct Outcome {
  double first_loss, last_loss, zero_fraction, first_scale, last_scale;
  int64_t skipped;
};

Outcome train(bool use_scaler, double init_scale, int64_t steps) {
  manual_seed(3);
  const Tensor x = randn({kBatch, kIn}), teacher = randn({kIn, 1}) * 0.3;
  const Tensor y = tanh(x.mm(teacher));
  nn::Sequential net(nn::Linear(kIn, kHidden), nn::ReLU(), nn::Linear(kHidden, 1));
  // This learning rate compensates for the small weight: without underflow this is ordinary gradient descent.
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1 / kSmall));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_scaler).init_scale(init_scale).growth_interval(50));
  // Rounds weight gradients through f16, as PyTorch does, so that they can underflow.
  amp::set_gradient_dtype(amp::GradientDType::Lower);

  Outcome out{};
  out.first_scale = scaler.get_scale();
  int64_t zeros_seen = 0, all = 0;
  if (use_scaler) out.first_scale = init_scale;
  for (int64_t step = 0; step < steps; ++step) {
    sgd.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard autocast(toy::device().type(), kHalf);
      loss = mse_loss(net->forward(x), y);
    }
    scaler.scale(loss * kSmall).backward();
    for (const Tensor& p : net->parameters()) {
      zeros_seen += p.grad().eq(0).sum().item<int64_t>();
      all += p.numel();
    }
    out.skipped += scaler.step(sgd).skipped();
    scaler.update();
    if (step == 0) out.first_loss = loss.item<float>();
    out.last_loss = loss.item<float>();
  }
  out.zero_fraction = static_cast<double>(zeros_seen) / static_cast<double>(all);
  out.last_scale = scaler.get_scale();
  return out;
}

void print(const char* title, const Outcome& o) {
  std::printf("%-28s loss %.4f -> %.4f   zero gradients %5.1f %%   skipped %lld   scale %.3g -> %.3g\n", title,
              o.first_loss, o.last_loss, 100 * o.zero_fraction, static_cast<long long>(o.skipped), o.first_scale,
              o.last_scale);
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = toy::Arguments(argc, argv).quick ? 60 : 300;
  std::printf("f16 autocast, %lld steps; the loss is weighted by %g\n", static_cast<long long>(steps), kSmall);
  const Outcome without = train(false, 1, steps), with = train(true, 65536, steps), over = train(true, 0x1p40, steps);
  print("without a GradScaler", without);
  print("with a GradScaler", with);
  print("with a scale that overflows", over);
  const auto trains = [](const Outcome& o) { return o.last_loss < o.first_loss / 2; };
  return !trains(without) && trains(with) && trains(over) && over.skipped > 0 ? 0 : 1;
}
