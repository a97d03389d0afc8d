// Custom autograd functions under autocast: one runs in the precision of the region, one needs f32. Part of the network
// is recomputed in backward instead of being stored.
// Source: "Autocast and Custom Autograd Functions" in PyTorch's AMP examples.
#include <tandem/amp/custom_function.h>
#include <tandem/autograd/checkpoint.h>

#include "toy.h"

using namespace tandem;
using autograd::AutogradContext;
using autograd::variable_list;

namespace {

/// The product a b. Both passes run in the autocast precision in effect where apply() is called.
struct MyMM : amp::CustomFunction<MyMM> {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    ctx->save_for_backward({a, b});
    return a.mm(b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {grads[0].mm(saved[1].t()), saved[0].t().mm(grads[0])};
  }
};

/// x sigmoid(beta x). Inside autocast regions, both passes run in f32, whatever the dtype of x.
struct Swish : amp::CustomFunction<Swish, kFloat> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double beta) {
    ctx->saved_data["beta"] = beta;
    ctx->save_for_backward({x});
    return x * (x * beta).sigmoid();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const double beta = ctx->saved_data["beta"].toDouble();
    const Tensor x = ctx->get_saved_variables()[0], s = (x * beta).sigmoid();
    return {grads[0] * (s + x * beta * s * (1 - s)), Tensor()};  // beta is not a tensor
  }
};

struct Net : toy::Net {
  Tensor forward(const Tensor& x) {
    const auto hidden = [this](const Tensor& h) { return MyMM::apply(h, fc2->weight.t()) + fc2->bias; };
    // No intermediates of `hidden` are stored. Backward runs it again, under the autocast state of the forward pass.
    return fc3(Swish::apply(autograd::checkpoint(hidden, Swish::apply(fc1(x), 1.0)), 1.5));
  }
};

double train(bool use_amp, int64_t steps) {
  manual_seed(0);
  const Device device = toy::device();
  Net net;
  net.to(device);
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(0.01));
  amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_amp));
  for (int64_t step = 0; step < steps; ++step) {
    const toy::Batch batch = toy::spirals(128, device);
    adamw.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard autocast(device.type(), kHalf, use_amp);
      loss = cross_entropy(net.forward(batch.inputs), batch.targets);
    }
    scaler.scale(loss).backward();
    scaler.step(adamw);
    scaler.update();
  }
  return toy::accuracy(net, toy::spirals(1000, device));
}

}  // namespace

int main(int argc, char** argv) { return toy::compare(train, argc, argv); }
