// Functions with derivatives of their own: a linear function, and a clamp whose gradient passes straight through.
#include "program.h"

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               torch::Tensor bias = torch::Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    auto output = input.mm(weight.t());
    if (bias.defined()) output += bias.unsqueeze(0).expand_as(output);
    return output;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0], weight = saved[1], bias = saved[2];
    auto grad_output = grad_outputs[0];
    auto grad_input = grad_output.mm(weight);
    auto grad_weight = grad_output.t().mm(input);
    auto grad_bias = torch::Tensor();
    if (bias.defined()) grad_bias = grad_output.sum(0);
    return {grad_input, grad_weight, grad_bias};
  }
};

class StraightThrough : public torch::autograd::Function<StraightThrough> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x, double limit) {
    ctx->saved_data["limit"] = limit;
    return x.clamp(-limit, limit);
  }
  static torch::autograd::variable_list backward(AutogradContext* ctx, torch::autograd::variable_list grads) {
    return {grads[0] * ctx->saved_data["limit"].toDouble(), torch::Tensor()};
  }
};

int main() {
  auto x = program::numbers({2, 3}, 1).requires_grad_();
  auto weight = program::numbers({4, 3}, 2).requires_grad_();
  auto bias = program::numbers({4}, 3).requires_grad_();
  auto y = LinearFunction::apply(x, weight, bias);
  y.sum().backward();
  program::report("y", y.sum());
  program::report("x", x.grad().sum());
  program::report("weight", weight.grad().abs().sum());
  program::report("bias", bias.grad().sum());

  auto z = program::numbers({8}, 4).requires_grad_();
  auto clamped = StraightThrough::apply(z, 0.5);
  clamped.pow(2).sum().backward();
  program::report("clamped", clamped.sum());
  program::report("z", z.grad().abs().sum());
}
