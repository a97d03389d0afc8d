// 10,000 random sequences of legal and illegal calls over several optimizers and losses, bit for bit against a simple
// model written from PyTorch's rules (torch/amp/grad_scaler.py) and tandem's differences (docs/differences.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "support/device.h"
#include "support/sanitizers.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

/// The expected state of a scaler, in plain numbers and enums.
struct Model {
  float scale;
  float growth, backoff;
  int64_t interval;
  int64_t tracker = 0;
  bool scaled = false;
  int period = 0;
  struct Optimizer {
    enum { ready, unscaled, stepped } stage = ready;
    bool checked = false, inf = false;
    float grad = 0;  // as stored, scaled or not
    // How it is stored: as the program gave it, unscaled, or multiplied by `at`, the scale of that period between two
    // changes of the scale.
    enum { assigned, divided, multiplied } kind = assigned;
    float at = 1;
    int period = 0;
    bool partly_assigned = false;
    float param = 1;
    bool has_grad = false;
  };
  std::vector<Optimizer> optimizers;

  /// Scales the loss sum(slope * parameter) and runs backward. The loss does not use parameters with slope 0.
  void backward(const std::vector<float>& slopes) {
    scaled = true;
    for (size_t i = 0; i < slopes.size(); ++i) {
      if (slopes[i] == 0) continue;
      Optimizer& o = optimizers[i];
      float old = o.has_grad ? o.grad : 0;
      if (o.has_grad && o.kind == Optimizer::divided) old *= scale;
      if (o.has_grad && o.kind == Optimizer::multiplied && o.period != period)
        old = rescaled(old, inverse(o.at), scale);
      o.partly_assigned = o.has_grad && (o.partly_assigned || o.kind == Optimizer::assigned);
      o.grad = old + scale * slopes[i];
      o.has_grad = true;
      o.kind = Optimizer::multiplied;
      o.at = scale;
      o.period = period;
    }
  }
  /// Returns whether loading a state is currently an error.
  bool in_iteration() const {
    return std::any_of(optimizers.begin(), optimizers.end(), [](const Optimizer& o) { return o.checked; });
  }
  /// Returns whether the call is an error.
  bool unscale(Optimizer& o) {
    if (!scaled || o.stage != Optimizer::ready || is_unknown(o)) return true;
    divide(o);
    o.stage = Optimizer::unscaled;
    return false;
  }
  bool step(Optimizer& o, bool& skipped) {
    if (!scaled || o.stage == Optimizer::stepped || is_unknown(o)) return true;
    if (o.stage == Optimizer::ready || (o.has_grad && o.kind == Optimizer::multiplied)) divide(o);
    o.kind = Optimizer::divided;  // also what the program has assigned after unscale_()
    o.partly_assigned = false;
    skipped = o.inf;
    if (o.has_grad && !o.inf) o.param -= 0.5F * o.grad;
    o.stage = Optimizer::stepped;
    return false;
  }
  bool update() {
    bool any = false, inf = false;
    for (const Optimizer& o : optimizers) {
      any = any || o.checked;
      inf = inf || o.inf;
    }
    if (!scaled || !any) return true;
    if (inf) {
      const float lower = static_cast<float>(static_cast<double>(scale) * backoff);
      if (std::isnormal(lower)) scale = lower;
      tracker = 0;
    } else if (++tracker >= interval) {
      const float higher = static_cast<float>(static_cast<double>(scale) * growth);
      if (std::isfinite(higher)) scale = higher;
      tracker = 0;
    }
    restart();
    return false;
  }
  bool set_scale(float value) {
    if (!scaled) return true;
    scale = value;
    restart();
    return false;
  }

  void load() { ++period; }

 private:
  /// In f64, rounded once.
  static float rescaled(float x, float from_inverse, float to) {
    return static_cast<float>(static_cast<double>(x) * from_inverse * to);
  }
  static float inverse(float s) { return static_cast<float>(1.0 / static_cast<double>(s)); }
  /// Whether a part of the gradient may have another scale than the rest.
  bool is_unknown(const Optimizer& o) const {
    return o.has_grad && o.kind == Optimizer::multiplied && o.partly_assigned &&
           (o.at != scale || o.stage == Optimizer::unscaled);
  }
  void divide(Optimizer& o) {
    o.checked = true;
    if (!o.has_grad) return;
    const float before = o.grad;
    if (o.kind != Optimizer::divided) o.grad *= inverse(o.kind == Optimizer::assigned ? scale : o.at);
    o.inf |= !std::isfinite(before) || !std::isfinite(o.grad);
    o.kind = Optimizer::divided;
    o.partly_assigned = false;
  }
  void restart() {
    ++period;
    for (Optimizer& o : optimizers) {
      o.stage = Optimizer::ready;
      o.checked = o.inf = false;
    }
  }
};

class Sequence {
 public:
  explicit Sequence(uint64_t seed) : random_(seed) {
    model_.scale = pick({1.0F, 65536.0F, 3.0F, 0x1p-126F, 1e38F, 0x1p-20F});
    model_.growth = pick({2.0F, 1.5F, 16.0F});
    model_.backoff = pick({0.5F, 0.75F});
    model_.interval = pick<int64_t>({1, 2, 5});
    scaler_ = std::make_unique<amp::GradScaler>(amp::GradScalerOptions()
                                                    .init_scale(model_.scale)
                                                    .growth_factor(model_.growth)
                                                    .backoff_factor(model_.backoff)
                                                    .growth_interval(model_.interval));
    const int count = pick({1, 2, 3});
    model_.optimizers.resize(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      params_.push_back(ones({1}).requires_grad_());
      optimizers_.push_back(std::make_unique<optim::SGD>(std::vector<Tensor>{params_.back()}, optim::SGDOptions(0.5)));
    }
    losses_.resize(pick<size_t>({1, 2, 3}));
    for (std::vector<float>& slopes : losses_) {
      for (int i = 0; i < count; ++i) slopes.push_back(pick({0.0F, 1.0F, -2.0F, 0.5F, 1.0F, 4.0F}));
    }
  }

  /// Makes one random call on both; returns a description of the first disagreement, or "".
  std::string call() {
    const size_t which = random_() % optimizers_.size();
    Model::Optimizer& o = model_.optimizers[which];
    const Tensor& p = params_[which];
    bool model_error = false, error = false, model_skipped = false, skipped = false;
    // Illegal calls must throw and change nothing: the whole state is compared after each call.
    const int action = pick({0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6, 7, 7, 7, 7, 8, 9, 10});
    try {
      switch (action) {
        case 0:
          model_.scaled = true;
          scaler_->scale(ones({}));
          break;
        case 1:
          o.has_grad = true;
          o.kind = Model::Optimizer::assigned;
          o.partly_assigned = false;
          o.grad = pick({1.0F, -2.0F, 1024.0F, 3e38F, 1e-30F, INFINITY, -INFINITY, NAN, 1.0F, 0.5F, 0.0F, 7.0F});
          p.mutable_grad() = full({1}, o.grad);
          break;
        case 2:
          model_error = model_.unscale(o);
          scaler_->unscale_(*optimizers_[which]);
          break;
        case 3:
          model_error = model_.step(o, model_skipped);
          skipped = scaler_->step(*optimizers_[which]).skipped();
          break;
        case 4:
          model_error = model_.update();
          scaler_->update();
          break;
        case 5: {
          const float value = pick({8.0F, 1e-3F});
          model_error = model_.set_scale(value);
          if (pick({false, true})) {
            scaler_->update(full({1}, value));
          } else {
            scaler_->update(static_cast<double>(value));
          }
          break;
        }
        case 6:
          model_.interval = pick<int64_t>({1, 2, 3});
          scaler_->set_growth_interval(model_.interval);
          break;
        case 7: {
          std::vector<float> slopes = losses_[random_() % losses_.size()];
          if (random_() % 8 == 0) slopes[which] = INFINITY;
          model_.backward(slopes);
          Tensor loss = zeros({});
          for (size_t i = 0; i < slopes.size(); ++i) {
            if (slopes[i] != 0) loss = loss + (params_[i] * slopes[i]).sum();
          }
          const Tensor scaled = scaler_->scale(loss);
          if (scaled.requires_grad()) scaled.backward();
          break;
        }
        case 8:
          o.has_grad = false;
          optimizers_[which]->zero_grad();
          break;
        case 9:
          model_error = model_.in_iteration();
          scaler_->load_state_dict(scaler_->state_dict());
          model_.load();
          break;
        default:
          model_.growth = pick({2.0F, 4.0F});
          model_.backoff = pick({0.5F, 0.25F});
          scaler_->set_growth_factor(model_.growth);
          scaler_->set_backoff_factor(model_.backoff);
      }
    } catch (const StateError&) {
      error = true;
    }
    if (error != model_error) return describe("error", action, which, model_error, error);
    if (skipped != model_skipped) return describe("skip", action, which, model_skipped, skipped);
    if (scaler_->get_scale() != model_.scale)
      return describe("scale", action, which, model_.scale, scaler_->get_scale());
    if (scaler_->get_growth_tracker() != model_.tracker) {
      return describe("tracker", action, which, static_cast<double>(model_.tracker),
                      static_cast<double>(scaler_->get_growth_tracker()));
    }
    if (!same(p.item<float>(), o.param)) return describe("parameter", action, which, o.param, p.item<float>());
    // Read the gradient only sometimes: reading applies a postponed unscale.
    if (o.has_grad && random_() % 4 == 0 && !same(p.grad().item<float>(), o.grad)) {
      return describe("gradient", action, which, o.grad, p.grad().item<float>());
    }
    return "";
  }

 private:
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  static bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }
  static std::string describe(const char* what, int action, size_t which, double expected, double actual) {
    return std::string(what) + " after action " + std::to_string(action) + " on optimizer " + std::to_string(which) +
           ": the model has " + std::to_string(expected) + ", the scaler " + std::to_string(actual);
  }

  std::mt19937_64 random_;
  Model model_;
  std::unique_ptr<amp::GradScaler> scaler_;
  std::vector<Tensor> params_;
  std::vector<std::vector<float>> losses_;  // slopes, indexed by parameter
  std::vector<std::unique_ptr<optim::SGD>> optimizers_;
};

TEST(GradScalerModelTest, RandomCallSequencesMatchTheModel) {
  // Fewer on CUDA, where each call waits for the device.
  const uint64_t sequences = testing::on_cuda() || testing::kSlowRun ? 1000 : 10000;
  for (uint64_t seed = 0; seed < sequences; ++seed) {
    Sequence sequence(seed);
    for (int i = 0; i < 40; ++i) {
      const std::string disagreement = sequence.call();
      ASSERT_EQ(disagreement, "") << "sequence " << seed << ", call " << i;
    }
  }
}

}  // namespace
}  // namespace tandem
