// Optimizers and whole training steps.
#include <torch/torch.h>

#include "cuda_emulated/ptx_counts/rows.h"
#include "models/gpt.h"
#include "models/resnet.h"

namespace tandem::ptx_counts {
namespace {

constexpr int64_t kNumel = 1 << 18;

/// A step of an optimizer on f32 parameters and gradients.
template <class Optimizer, class Options>
void add_optimizer(Report& report, const char* what, double bytes, const Options& options) {
  const Tensor parameter = random({kNumel}, kFloat).requires_grad_(true);
  parameter.mutable_grad() = random({kNumel}, kFloat);
  Optimizer optimizer({parameter}, options);
  optimizer.step();  // makes its state
  report.add(std::string(what) + ", f32", "", kNumel, {.bytes = bytes}, [&] { optimizer.step(); });
}

/// A training step under autocast, with a GradScaler.
class Training {
 public:
  Training(std::shared_ptr<nn::Module> model, std::unique_ptr<optim::Optimizer> optimizer, std::function<Tensor()> loss)
      : model_(std::move(model)), optimizer_(std::move(optimizer)), loss_(std::move(loss)) {
    step();  // makes the states of the optimizer and of the scaler
  }
  void step() {
    optimizer_->zero_grad();
    Tensor loss;
    {
      const amp::AutocastGuard autocast(kCUDA);
      loss = loss_();
    }
    scaler_.scale(loss).backward();
    scaler_.step(*optimizer_);
    scaler_.update();
  }

 private:
  std::shared_ptr<nn::Module> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::function<Tensor()> loss_;
  amp::GradScaler scaler_;
};

}  // namespace

void add_optimizers(Report& report) {
  using namespace optim;
  constexpr double kRate = 1e-3;
  // Each reads the parameter, the gradient and the states, and writes all of them but the gradient.
  const auto bytes = [](int states) { return 12.0 + 8 * states; };
  add_optimizer<SGD>(report, "SGD", bytes(0), SGDOptions(kRate));
  add_optimizer<SGD>(report, "SGD with momentum", bytes(1), SGDOptions(kRate).momentum(0.9));
  add_optimizer<Adam>(report, "Adam", bytes(2), AdamOptions(kRate));
  add_optimizer<AdamW>(report, "AdamW", bytes(2), AdamWOptions(kRate));
  add_optimizer<AdamW>(report, "AdamW, moments in bf16", 12 + 8,
                       AdamWOptions(kRate).exp_avg_dtype(kBFloat16).exp_avg_sq_dtype(kBFloat16));
  add_optimizer<RMSprop>(report, "RMSprop", bytes(1), RMSpropOptions(kRate));
  add_optimizer<Adagrad>(report, "Adagrad", bytes(1), AdagradOptions(kRate));
  add_optimizer<Adadelta>(report, "Adadelta", bytes(2), AdadeltaOptions(kRate));
  add_optimizer<Adamax>(report, "Adamax", bytes(2), AdamaxOptions(kRate));
  add_optimizer<NAdam>(report, "NAdam", bytes(2), NAdamOptions(kRate));
  add_optimizer<RAdam>(report, "RAdam", bytes(2), RAdamOptions(kRate));
  add_optimizer<Lion>(report, "Lion", bytes(1), LionOptions(kRate));
  add_optimizer<LAMB>(report, "LAMB", bytes(2), LAMBOptions(kRate));

  const Tensor f16 = random({kNumel}, kHalf), f32 = random({kNumel}, kFloat);
  const Tensor inverse = full({}, 0.5), found = zeros({});
  const Backend& kernels = backend(kCUDA);
  report.add("unscale, f16", "", kNumel, {.bytes = 4}, [&] { kernels.unscale({f16}, inverse, found); });
  report.add("unscale, f32", "", kNumel, {.bytes = 8}, [&] { kernels.unscale({f32}, inverse, found); });
  report.add("check of f32 for inf and NaN", "", kNumel, {.bytes = 4},
             [&] { kernels.check_finite({f32}, inverse, found); });
}

void add_training_steps(Report& report) {
  constexpr int64_t kWords = 512, kLength = 64, kWidth = 128, kBatch = 4;
  models::Gpt gpt(models::GptOptions{kWords, kLength, kWidth, /*depth=*/2, /*heads=*/2});
  gpt->to(kCUDA);
  const Tensor words = randint(0, kWords, {kBatch, kLength}, kLong),
               next = randint(0, kWords, {kBatch * kLength}, kLong);
  Training transformer(gpt.ptr(), std::make_unique<optim::AdamW>(gpt->parameters(), optim::AdamWOptions(1e-3)), [&] {
    return cross_entropy(gpt(words).view({-1, kWords}), next);
  });
  report.add_step("transformer", [&] { transformer.step(); });

  constexpr int64_t kImages = 8, kSide = 16, kClasses = 10;
  models::ResNet18 resnet(/*channels=*/3, /*width=*/16, kClasses);
  resnet->to(kCUDA);
  const Tensor images = randn({kImages, 3, kSide, kSide}), labels = randint(0, kClasses, {kImages}, kLong);
  Training cnn(resnet.ptr(), std::make_unique<optim::SGD>(resnet->parameters(), optim::SGDOptions(0.1).momentum(0.9)),
               [&] { return cross_entropy(resnet(images), labels); });
  report.add_step("CNN", [&] { cnn.step(); });
}

}  // namespace tandem::ptx_counts
