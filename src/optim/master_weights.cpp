// Master weights and scaled steps: the parts shared by all optimizers.
#include <mutex>

#include "src/optim/multi_tensor.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/base/check.h"
#include "tandem/math/split_float.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/optim/optimizer.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

std::mutex default_scaler_mutex;
std::shared_ptr<StepScaler>& default_scaler() {
  static auto* scaler = new std::shared_ptr<StepScaler>;
  return *scaler;
}

/// The f32 values of bf16 numbers and their remainders. Computed on the CPU: for inspection and saving, not for steps.
Tensor joined(const Tensor& param, const Tensor& remainder) {
  const Tensor rounded = param.detach().to(kCPU).contiguous(), low = remainder.to(kCPU).contiguous();
  const Tensor value = empty(param.sizes(), TensorOptions(kFloat).device(kCPU));
  const auto* high_bits = static_cast<const uint16_t*>(rounded.raw_bytes());
  const auto* low_bits = static_cast<const uint16_t*>(low.raw_bytes());
  float* to = value.raw<float>();
  for (int64_t i = 0; i < value.numel(); ++i) to[i] = math::join_float({high_bits[i], low_bits[i]});
  return value.to(param.device());
}

/// Writes `value` into `param` as bf16 numbers and returns their remainders.
Tensor split_into(const Tensor& param, const Tensor& value) {
  const Tensor from = value.to(kCPU).to(kFloat).contiguous();
  const Tensor rounded = empty_like(from, kBFloat16), remainder = empty_like(from, kShort);
  auto* high_bits = static_cast<uint16_t*>(rounded.raw_bytes());
  auto* low_bits = static_cast<uint16_t*>(remainder.raw_bytes());
  for (int64_t i = 0; i < from.numel(); ++i) {
    const math::SplitFloat halves = math::split_float(from.raw<float>()[i]);
    high_bits[i] = halves.rounded;
    low_bits[i] = halves.remainder;
  }
  param.copy_(rounded);
  return remainder.to(param.device());
}

}  // namespace

bool Optimizer::has_master(const Tensor& param) const {
  return master_kind_ != MasterWeights::none && is_reduced_floating_point(param.dtype());
}

void Optimizer::keep_master_weights(MasterWeights kind) {
  const OpScope op("keep_master_weights");
  NoGradGuard no_grad;
  TANDEM_CHECK(kind == MasterWeights::none || supports_master_weights(), NotImplementedError,
               "this optimizer does not support master weights; use one of tandem's optimizers except LBFGS, or keep "
               "the parameters in f32");
  if (kind == master_kind_) return;
  if (Optimizer& holder = state_holder(); &holder != this) {
    holder.keep_master_weights(kind);
    master_kind_ = kind;
    set_grad_dtypes(parameters());
    return;
  }
  std::vector<std::pair<Tensor, Tensor>> values;
  for (const Tensor& p : parameters()) {
    if (masters_.contains(&p.impl())) values.emplace_back(p, master(p));
  }
  master_kind_ = kind;
  masters_.clear();
  set_grad_dtypes(parameters());
  if (kind == MasterWeights::none) return;
  for (const auto& [p, value] : values) set_master(p, value);
}

void Optimizer::set_grad_dtypes(const std::vector<Tensor>& parameters) const {
  for (const Tensor& p : parameters) autograd::accumulate_in_f32(p, master_kind_ != MasterWeights::none);
}

Optimizer::Master& Optimizer::entry_of(const Tensor& param) const {
  const auto [entry, is_new] = masters_.try_emplace(&param.impl());
  if (is_new) keep_alive(param);
  return entry->second;
}

Optimizer::Master* Optimizer::current_master(const Tensor& param) const {
  if (!has_master(param)) return nullptr;
  const bool split = master_kind_ == MasterWeights::remainder && param.dtype() == kBFloat16;
  Master& master = entry_of(param);
  const bool fits = master.value.defined() && master.value.sizes() == param.sizes() &&
                    master.value.device() == param.device() && (master.value.dtype() == kShort) == split;
  if (fits && master.version == param.impl().data_version()) return &master;
  // The program has written the parameter. Elements that still equal their rounded master keep its low bits.
  const Tensor now = param.detach();
  if (!fits) {
    check_no_new_state(param);
    master.value = split ? zeros_like(param, kShort) : to(now, kFloat);
    master.given = Tensor();
  } else if (split && master.given.defined()) {
    master.value.copy_(where(eq(master.given, now), master.value, zeros_like(master.value)));
  } else if (split) {
    // Those elements can no longer be determined.
    if (param.is_cuda()) {
      check_not_capturing("a parameter was written since its last step, and dropping its remainder is impossible",
                          "take a step, or call master_params(), before the capture");
    }
    master.value.zero_();
  } else {
    master.value.copy_(where(eq(to(master.value, param.dtype()), now), master.value, to(now, kFloat)));
  }
  master.version = param.impl().data_version();
  return &master;
}

Tensor Optimizer::master(const Tensor& param) const {
  const OpScope op("master");
  NoGradGuard no_grad;
  checks::defined("the parameter", param);
  if (!keeps_state_of(param)) return param;
  const Master* master = holder().current_master(param);
  if (!master) return param;
  return master->value.dtype() == kShort ? joined(param, master->value) : master->value;
}

void Optimizer::set_master(const Tensor& param, const Tensor& value) {
  const OpScope op("set_master");
  NoGradGuard no_grad;
  checks::defined("the parameter", param);
  checks::defined("the value", value);
  checks::floating("the value", value);
  TANDEM_CHECK(value.sizes() == param.sizes(), ShapeError, "the value is {}, but the parameter is {}",
               checks::show(value), checks::show(param));
  TANDEM_CHECK(has_master(param), StateError,
               "the parameter {} has no master; call keep_master_weights() first, with f16 or bf16 parameters",
               checks::show(param));
  const bool split = master_kind_ == MasterWeights::remainder && param.dtype() == kBFloat16;
  if (!keeps_state_of(param)) {  // rounded as by the optimizer that keeps the master
    if (split) {
      static_cast<void>(split_into(param, value));
    } else {
      param.copy_(to(value, kFloat));
    }
    return;
  }
  Master& master = state_holder().entry_of(param);
  if (split) {
    master.value = split_into(param, value);
    master.given = param.detach().clone();
  } else {
    master.value = zeros_like(param, kFloat);
    master.value.copy_(value);
    param.copy_(master.value);
  }
  master.version = param.impl().data_version();
}

std::vector<Tensor> Optimizer::master_params() const {
  const OpScope op("master_params");
  std::vector<Tensor> all;
  all.reserve(size());
  for (const Tensor& p : parameters()) all.push_back(master(p));
  return all;
}

Optimizer::StepTarget Optimizer::step_target(const Tensor& param) {
  Master* master = current_master(param);
  if (!master) return {param, writable_copy(param)};
  return master->value.dtype() == kShort ? StepTarget{param, master->value} : StepTarget{master->value, param};
}

void Optimizer::note_masters(const OptimizerTensors& call) {
  if (masters_.empty()) return;
  for (const std::vector<Tensor>* list : {&call.params, &call.shadows}) {
    for (const Tensor& param : *list) {
      const auto found = param.defined() ? masters_.find(&param.impl()) : masters_.end();
      if (found == masters_.end()) continue;
      found->second.version = param.impl().data_version();
      found->second.given = Tensor();
      if (GraphCapture* capture = current_capture(); capture && param.is_cuda()) {
        const std::weak_ptr<const Optimizer*> weak = self_;
        capture->before_replay([weak, param] {
          const auto self = weak.lock();
          if (!self) return;
          NoGradGuard no_grad;
          (*self)->current_master(param);
        });
        capture->after_replay([weak, param] {
          const auto self = weak.lock();
          if (!self) return;
          const auto master = (*self)->masters_.find(&param.impl());
          if (master != (*self)->masters_.end()) master->second.version = param.impl().data_version();
        });
      }
    }
  }
}

void Optimizer::set_step_scaler(std::shared_ptr<StepScaler> scaler) {
  const OpScope op("set_step_scaler");
  TANDEM_CHECK(!scaler || supports_amp_scaling(), NotImplementedError,
               "this optimizer cannot unscale and skip on its own; override step(const FusedUnscale&) and "
               "supports_amp_scaling(), and either do not override step(closure) or end it with plain_step()");
  step_scaler_ = std::move(scaler);
}

void Optimizer::set_default_step_scaler(std::shared_ptr<StepScaler> scaler) {
  std::lock_guard lock(default_scaler_mutex);
  default_scaler() = std::move(scaler);
}

std::shared_ptr<StepScaler> Optimizer::current_step_scaler() const {
  if (step_scaler_) return step_scaler_;
  std::lock_guard lock(default_scaler_mutex);
  return default_scaler();
}

StateCommit StepScaler::prepare_load_state_dict(const StateDict&) {
  return [] {};
}

void Optimizer::plain_step() {
  const std::shared_ptr<StepScaler> scaler = current_step_scaler();
  // A step() called by the scaler itself is a plain step.
  if (!scaler || inside_scaler_) return step(FusedUnscale{});
  struct Inside {
    bool& flag;
    explicit Inside(bool& f) : flag(f) { flag = true; }
    ~Inside() { flag = false; }
  } const inside(inside_scaler_);
  scaler->step(*this);
}

}  // namespace tandem::optim
