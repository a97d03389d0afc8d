#pragma once
// Networks and a training program whose step is repeated by a CUDA graph.
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "tandem/autograd/checkpoint.h"
#include "tandem/optim/optim.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {

constexpr int64_t kBatch = 4, kClasses = 3;
/// Steps before a capture.
constexpr int kWarmUp = 3;

struct Net : nn::Module {
  virtual Tensor forward(const Tensor& x) = 0;
  virtual std::vector<int64_t> input_sizes() const = 0;
};

struct Mlp : Net {
  Mlp() : fc1(6, 10), fc2(10, kClasses) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  Tensor forward(const Tensor& x) override { return fc2(dropout(relu(fc1(x)), 0.25, is_training())); }
  std::vector<int64_t> input_sizes() const override { return {kBatch, 6}; }
  nn::Linear fc1, fc2;
};

/// The same, but recomputes its hidden layer in backward.
struct CheckpointedMlp : Mlp {
  Tensor forward(const Tensor& x) override {
    const auto hidden = [this](const Tensor& in) { return dropout(relu(fc1(in)), 0.25, is_training()); };
    return fc2(dropout(autograd::checkpoint(hidden, x), 0.1, is_training()));
  }
};

struct Cnn : Net {
  Cnn() : conv1(nn::Conv2dOptions(1, 3, 3)), norm(3), conv2(nn::Conv2dOptions(3, 4, 2)), fc(16, kClasses) {
    register_module("conv1", conv1);
    register_module("norm", norm);
    register_module("conv2", conv2);
    register_module("fc", fc);
  }
  Tensor forward(const Tensor& x) override {
    Tensor h = max_pool2d(relu(norm(conv1(x))), {2, 2});
    h = dropout(relu(conv2(h)), 0.1, is_training());
    return fc(h.flatten(1));
  }
  std::vector<int64_t> input_sizes() const override { return {kBatch, 1, 8, 8}; }
  nn::Conv2d conv1;
  nn::BatchNorm2d norm;
  nn::Conv2d conv2;
  nn::Linear fc;
};

enum class Rule { sgd, adam, adamw, rmsprop, nadam, lion, lamb };

inline std::unique_ptr<optim::Optimizer> make_optimizer(Rule rule, const std::vector<Tensor>& parameters) {
  switch (rule) {
    case Rule::sgd:
      return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-3));
    case Rule::adam:
      return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(0.01).amsgrad(true));
    case Rule::rmsprop:
      return std::make_unique<optim::RMSprop>(parameters, optim::RMSpropOptions(0.01).centered(true).momentum(0.5));
    case Rule::nadam:
      return std::make_unique<optim::NAdam>(parameters, optim::NAdamOptions(0.01));
    case Rule::lion:
      return std::make_unique<optim::Lion>(parameters, optim::LionOptions(0.01).weight_decay(0.1));
    case Rule::lamb:
      return std::make_unique<optim::LAMB>(parameters, optim::LAMBOptions(0.01));
    default:
      return std::make_unique<optim::AdamW>(
          parameters, optim::AdamWOptions(0.01).exp_avg_dtype(kFloat8_e4m3fn).exp_avg_sq_dtype(kBFloat16));
  }
}

/// A training program around the steps, the same for both runs.
struct Program {
  Program(std::shared_ptr<Net> net, Rule rule)
      : model(std::move(net)), scaler(amp::GradScalerOptions().init_scale(1024).growth_interval(3)) {
    manual_seed(5);
    {
      const NoGradGuard no_grad;  // weights from this seed, independent of earlier draws
      for (const Tensor& p : model->parameters()) p.uniform_(-0.5, 0.5);
    }
    model->to(kCUDA);
    optimizer = make_optimizer(rule, model->parameters());
    x = tandem::zeros(model->input_sizes(), kCUDA);
    y = zeros({kBatch}, TensorOptions(kLong).device(kCUDA));
  }

  void step() {
    optimizer->zero_grad();
    {
      const amp::AutocastGuard autocast(kCUDA);
      loss = nn::functional::cross_entropy(model->forward(x), y);
    }
    scaler.scale(loss).backward();
    scaler.step(*optimizer);
    scaler.update();
  }

  void load(int i) {
    Generator inputs(static_cast<uint64_t>(100 + i));
    Tensor batch = tandem::empty(model->input_sizes());
    batch.uniform_(-1, 1, inputs);
    if (i == 5) batch.view({-1})[0] = std::numeric_limits<float>::infinity();  // an overflow
    x.copy_(batch);
    Tensor labels = tandem::empty({kBatch}, kLong);
    labels.random_(0, kClasses, inputs);
    y.copy_(labels);
  }

  void keep(const Tensor& t) { trace.push_back(t.detach().to(kCPU).clone()); }

  /// Runs step i; `run` is step() or a replay of it.
  void iterate(int i, const std::function<void()>& run) {
    load(i);
    for (auto& group : optimizer->param_groups()) group.options().set_lr(0.02 / (1 + i));
    if (i == 6) scaler.set_growth_interval(1);
    if (i == 7) scaler.set_growth_factor(4);
    run();
    keep(loss);
    if (i == 4) {  // read only after some steps: others leave their gradients pending
      for (const Tensor& p : model->parameters()) keep(p.grad());
      keep(model->parameters()[0].grad());
    }
    if (i == 5) scaler.update(256.0);
    if (i == 6) {  // a separate forward pass, which uses the casts that the step left
      const NoGradGuard no_grad;
      const amp::AutocastGuard autocast(kCUDA);
      keep(model->forward(x));
    }
    if (i == 7) {  // weights changed by the program, which the casts must follow
      const NoGradGuard no_grad;
      for (const Tensor& p : model->parameters()) p.mul_(0.5);
    }
    if (i == 8) {  // a separate step between replays, with its own gradients and loss
      const Tensor shown = loss;
      step();
      keep(loss);
      loss = shown;
    }
    for (const Tensor& p : model->parameters()) keep(p);
    for (const Tensor& b : model->buffers()) keep(b);
    keep(tensor(scaler.get_scale()));
    keep(tensor(static_cast<double>(default_generator().get_state().offset)));
  }

  std::shared_ptr<Net> model;
  amp::GradScaler scaler;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor x, y, loss;
  std::vector<Tensor> trace;
};

}  // namespace tandem::cuda::testing
