#include "src/amp/fp8/delayed.h"

#include <algorithm>
#include <cmath>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp::detail {
namespace {

/// The amax of the current iteration, in rows [first, first + count).
Tensor newest(const Tensor& state, int64_t first, int64_t count) {
  return state.slice(0, first, first + count).select(1, 1);
}

void agree(const std::vector<Tensor>& states, int64_t first, int64_t count, distributed::ProcessGroup& group) {
  std::vector<Tensor> parts;
  for (const Tensor& state : states) parts.push_back(newest(state, first, count));
  const Tensor all = cat(parts);
  group.all_reduce(all, distributed::ReduceOp::MAX);
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * count;
    parts[i].copy_(all.slice(0, begin, begin + count));
  }
}

uint64_t next_number() {
  static std::atomic<uint64_t> number{0};
  return ++number;
}

}  // namespace

Fp8Tensor quantize_delayed(const Tensor& x, DType dtype, const Tensor& scale, const Tensor& amax) {
  const auto options = Float8CastOptions().overflow(Float8Overflow::saturate).scale(scale).amax(amax);
  const Tensor codes = cast_float8(x, dtype, options), inverse = reciprocal(scale);
  // 0 amax is 0, or NaN if amax is not finite.
  return {codes, {.inverse = amax.defined() ? add(inverse, amax, 0) : inverse}};
}

DelayedScalesCall delayed_update(const DelayedScaling& recipe, std::vector<Tensor> states, int64_t first,
                                 const std::vector<DType>& dtypes) {
  DelayedScalesCall call{.states = std::move(states),
                         .first = first,
                         .count = static_cast<int64_t>(dtypes.size()),
                         .largest = {},
                         .factor = std::ldexp(1.0, -recipe.margin()),
                         .most_recent = recipe.amax_compute_algo() == Fp8AmaxAlgorithm::most_recent};
  for (const DType dtype : dtypes) call.largest.push_back(fp8_max(dtype));
  return call;
}

std::shared_ptr<WeightFloat8> with_delayed_state(const Tensor& weight, const DelayedScaling& recipe) {
  static std::mutex mutex;
  std::shared_ptr<WeightFloat8> kept = weight_float8(weight);
  const std::lock_guard lock(mutex);
  Tensor& state = kept->delayed;
  const int64_t length = recipe.amax_history_len();
  if (state.defined() && state.size(1) == 1 + length && state.device() == weight.device()) return kept;
  const NoGradGuard no_grad;
  const AutocastOff no_autocast;
  const Tensor old = state.defined() ? state.to(weight.device()) : Tensor();
  state = zeros({kDelayedRows, 1 + length}, TensorOptions(kFloat).device(weight.device()));
  state.select(1, 0).fill_(1);
  if (old.defined()) {
    const int64_t columns = std::min(old.size(1), 1 + length);
    state.slice(1, 0, columns).copy_(old.slice(1, 0, columns));
  }
  return kept;
}

void DelayedUpdates::add(const DelayedScaling& recipe, const std::shared_ptr<WeightFloat8>& weight) {
  const std::lock_guard lock(mutex_);
  auto batch = std::find_if(batches_.begin(), batches_.end(), [&](const Batch& b) {
    return b.recipe == recipe && b.weights[0]->delayed.device() == weight->delayed.device();
  });
  if (batch == batches_.end()) batch = batches_.insert(batch, {recipe, {}});
  if (std::find(batch->weights.begin(), batch->weights.end(), weight) == batch->weights.end()) {
    batch->weights.push_back(weight);
  }
}

void DelayedUpdates::run(const std::vector<Fp8Role>& roles, distributed::ProcessGroup* group) {
  std::vector<Batch> batches;
  {
    const std::lock_guard lock(mutex_);
    batches.swap(batches_);
  }
  const NoGradGuard no_grad;
  const AutocastOff no_autocast;
  const int64_t first = static_cast<int64_t>(roles[0]);
  for (Batch& batch : batches) {
    std::vector<DType> dtypes;
    for (const Fp8Role role : roles) dtypes.push_back(fp8_dtype(batch.recipe.fp8_format(), role));
    std::vector<Tensor> states;
    for (const auto& weight : batch.weights) {
      states.push_back(weight->delayed);
      if (roles.back() == Fp8Role::gradient) weight->gradient_noted = false;
    }
    if (group) agree(states, first, static_cast<int64_t>(roles.size()), *group);
    const DelayedScalesCall call = delayed_update(batch.recipe, std::move(states), first, dtypes);
    backend(call.states[0]).update_delayed_scales(call);
    for (const Tensor& state : call.states) state.impl().storage->bump_version();
  }
}

DelayedIteration::DelayedIteration(std::shared_ptr<DelayedUpdates> gradients,
                                   std::shared_ptr<distributed::ProcessGroup> group)
    : number_(next_number()), gradients_(std::move(gradients)), group_(std::move(group)) {}

Tensor DelayedIteration::scales(const Tensor& state) {
  const std::lock_guard lock(mutex_);
  auto& [kept, scales] = scales_[&state.impl()];
  if (!scales.defined()) {
    kept = state;
    scales = state.select(1, 0).clone();
  }
  return scales;
}

void DelayedIteration::end() {
  open_.store(false, std::memory_order_relaxed);
  forward_.run({Fp8Role::input, Fp8Role::weight}, group_.get());
}

void DelayedIteration::continue_restored(const DelayedScaling& recipe, const std::shared_ptr<WeightFloat8>& weight) {
  if (!weight->restored) return;
  weight->restored = false;
  DelayedUpdates update;
  update.add(recipe, weight);
  update.run({Fp8Role::gradient}, group_.get());
}

}  // namespace tandem::amp::detail
