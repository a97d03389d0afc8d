// Autocast and the gradient scaler in a libtorch program: with libtorch by tandem/libtorch_amp.h, with tandem by its
// own classes. First, the f16 run of the MLP in tests/golden/workflows.py that clips the norm of gradients. With an
// argument, only that of tests/golden/training.py, in which libtorch's f16 gradients of weights overflow and tandem's
// do not.
#include <tandem/libtorch_amp.h>

#include <algorithm>
#include <cmath>

#include "program.h"

namespace {

constexpr int64_t kInputs = 20, kClasses = 4, kBatch = 32;
constexpr uint64_t kSeed = 100;

struct MlpImpl : torch::nn::Module {
  MlpImpl() {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  torch::Tensor forward(const torch::Tensor& x) { return fc3(torch::relu(fc2(torch::relu(fc1(x))))); }
  torch::nn::Linear fc1{kInputs, 32}, fc2{32, 32}, fc3{32, kClasses};
};
TORCH_MODULE(Mlp);

/// The weights of training.py: matrices are scaled by a power of two near sqrt(2 / inputs).
void set_mlp_weights(torch::nn::Module& model) {
  const torch::NoGradGuard no_grad;
  uint64_t seed = kSeed;
  for (const auto& item : model.named_parameters()) {
    torch::Tensor p = item.value();
    const double inputs = static_cast<double>(p.numel()) / static_cast<double>(p.size(0));
    p.copy_(program::numbers(p.sizes(), seed++) *
            (p.dim() > 1 ? std::exp2(std::round(std::log2(std::sqrt(2 / inputs)))) : 0x1p-4));
  }
}

void report(const std::string& name, bool value) { std::printf("%s: %s\n", name.c_str(), value ? "yes" : "no"); }

/// Reports whether the call throws.
template <class F>
void report_error(const std::string& name, const F& call) {
  try {
    call();
    report(name, false);
  } catch (const std::exception&) {
    report(name, true);
  }
}

struct Run {
  int64_t steps;
  double init_scale;
  int64_t growth_interval;
  std::vector<int64_t> overflows;  ///< the steps that are made to overflow
  double max_norm;                 ///< of the gradients; 0: not clipped
};
const Run kTraining{200, 0x1p24, 20, {}, 0}, kClipping{100, 0x1p8, 15, {7, 31, 32, 60}, 0.5};

void train(const Run& run) {
  Mlp model;
  set_mlp_weights(*model);
  torch::optim::SGD sgd(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(1e-3));
  torch::amp::GradScaler scaler(
      torch::amp::GradScalerOptions().init_scale(run.init_scale).growth_interval(run.growth_interval));
  double first = 0, last = 0;
  for (int64_t step = 0; step < run.steps; ++step) {
    const torch::Tensor x = program::numbers({kBatch, kInputs}, kSeed + 1000 + static_cast<uint64_t>(step));
    const torch::Tensor target = (x.select(1, 0) > 0).to(torch::kLong) * 2 + (x.select(1, 1) > 0).to(torch::kLong);
    sgd.zero_grad();
    torch::Tensor loss;
    {
      torch::amp::AutocastGuard autocast(torch::kCPU, torch::kHalf);
      loss = torch::nn::functional::cross_entropy(model->forward(x), target);
    }
    const bool overflows = std::count(run.overflows.begin(), run.overflows.end(), step) > 0;
    scaler.scale(overflows ? loss * INFINITY : loss).backward();
    if (run.max_norm > 0) {
      scaler.unscale_(sgd);
      torch::nn::utils::clip_grad_norm_(model->parameters(), run.max_norm);
    }
    const bool skipped = scaler.step(sgd).skipped();
    scaler.update();
    std::printf("step %d: scale 2^%d, %s\n", static_cast<int>(step), std::ilogb(scaler.get_scale()),
                skipped ? "skipped" : "stepped");
    (step < run.steps / 2 ? first : last) += loss.item<double>();
  }
  report("the loss fell", last < 0.8 * first);
}

const char* text(at::ScalarType dtype) {
  return dtype == torch::kFloat ? "f32" : dtype == torch::kHalf ? "f16" : "bf16";
}

void report_dtype(const char* place) {
  const torch::Tensor product = torch::matmul(torch::ones({2, 2}), torch::ones({2, 2}));
  std::printf("%s: product in %s, its loss in %s\n", place, text(product.scalar_type()),
              text(torch::mse_loss(product, product).scalar_type()));
}

void regions() {
  report_dtype("outside");
  {
    torch::amp::AutocastGuard outer(torch::kCPU);
    report_dtype("in a region");
    {
      torch::amp::AutocastGuard off(torch::kCPU, {}, false);
      report_dtype("switched off inside");
    }
    {
      torch::amp::AutocastGuard half(torch::kCPU, torch::kHalf);
      report_dtype("of another dtype inside");
    }
    report_dtype("in the outer region again");
  }
  report_dtype("outside again");
  report_error("f64 is refused", [] { torch::amp::AutocastGuard wrong(torch::kCPU, torch::kDouble); });
  report_dtype("after an error");
}

void orders() {
  torch::Tensor w = torch::ones({4}).requires_grad_();
  torch::Tensor v = torch::ones({4}).requires_grad_();
  torch::optim::SGD sgd({w}, 0.125), other({v}, 0.125);
  torch::amp::GradScaler scaler(torch::amp::GradScalerOptions().init_scale(4).growth_interval(2));
  report_error("step before scale", [&] { scaler.step(sgd); });
  report_error("update before scale", [&] { scaler.update(); });
  scaler.scale((w * 2).sum() + (v * 3).sum()).backward();
  report_error("update before step", [&] { scaler.update(); });
  scaler.unscale_(sgd);
  program::report("unscaled gradient", w.grad().sum());
  report_error("unscale_ twice", [&] { scaler.unscale_(sgd); });
  scaler.step(sgd);
  report_error("step twice", [&] { scaler.step(sgd); });
  report_error("unscale_ after step", [&] { scaler.unscale_(sgd); });
  report_error("load in an iteration", [&] { scaler.load_state_dict(scaler.state_dict()); });
  scaler.step(other);
  scaler.update();
  program::report("first parameter", w.sum());
  program::report("second parameter", v.sum());
  program::report("scale", scaler.get_scale());
  program::report("growth tracker", static_cast<double>(scaler.get_growth_tracker()));

  sgd.zero_grad();
  scaler.scale((w * INFINITY).sum()).backward();
  report("inf is skipped", scaler.step(sgd).skipped());
  scaler.update();
  program::report("parameter after a skip", w.sum());
  program::report("scale after a skip", scaler.get_scale());
  scaler.update(8.0);
  program::report("scale that is set", scaler.get_scale());
  scaler.update(torch::tensor(16.f));
  program::report("scale from a tensor", scaler.get_scale());
  report_error("negative scale", [&] { scaler.update(-1.0); });
  report_error("closure", [&] { scaler.step(sgd, [&] { return w.sum(); }); });
  report_error("growth factor of 1", [&] { scaler.set_growth_factor(1); });
  scaler.set_growth_interval(7);

  torch::amp::GradScaler loaded;
  const torch::amp::ScalerState state = scaler.state_dict();
  loaded.load_state_dict(state);
  for (const char* name : {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}) {
    program::report(name, loaded.state_dict().at(name).to<double>());
  }
  report_error("empty state", [&] { loaded.load_state_dict({}); });

  torch::amp::GradScaler off(torch::amp::GradScalerOptions().enabled(false));
  sgd.zero_grad();
  off.scale((w * 2).sum()).backward();
  off.unscale_(sgd);
  report("skipped if disabled", off.step(sgd).skipped());
  off.update();
  program::report("parameter if disabled", w.sum());
  program::report("scale if disabled", off.get_scale());
  program::report("f16 loss in f32", scaler.scale(torch::full({}, 60000, torch::kHalf)));
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return train(kTraining), 0;
  train(kClipping);
  regions();
  orders();
}
