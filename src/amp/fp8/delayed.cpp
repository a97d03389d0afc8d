#include "src/amp/fp8/delayed.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/observer.h"
#include "tandem/base/check.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/current_capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp::detail {
namespace {

/// The modes in which states are changed.
struct Unrecorded {
  const NoGradGuard no_grad;
  const AutocastOff no_autocast;
  const autograd::ObserversOff no_observers;
};

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

void check_no_capture(const Tensor& x) {
  if (x.is_cuda()) {
    check_not_capturing("preparing the scales of float8 for the first iteration with a weight is impossible",
                        "run a few steps before the capture");
  }
}

}  // namespace

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

Weight with_delayed_state(const Tensor& weight, const DelayedScaling& recipe, bool adapts) {
  static std::mutex mutex;
  const Weight kept = weight_float8(weight);
  const std::lock_guard lock(mutex);
  Tensor& state = kept->delayed;
  const int64_t length = recipe.amax_history_len();
  const bool fits = state.defined() && (state.size(1) == 1 + length || !adapts);
  if (fits && state.device() == weight.device()) return kept;
  check_no_capture(weight);
  const Unrecorded modes;
  const Tensor old = state.defined() ? state.to(weight.device()) : Tensor();
  if (fits) {
    state = old;
    return kept;
  }
  state = zeros({kDelayedRows, 1 + length}, TensorOptions(kFloat).device(weight.device()));
  state.select(1, 0).fill_(1);
  if (old.defined()) {
    const int64_t columns = std::min(old.size(1), 1 + length);
    state.slice(1, 0, columns).copy_(old.slice(1, 0, columns));
  }
  return kept;
}

void DelayedUpdates::add(const DelayedScaling& recipe, const Weight& weight, const Group& group) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& e) { return e.weight == weight; });
  entries_.push_back({recipe, weight, group});
}

std::vector<DelayedUpdates::Entry> DelayedUpdates::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(entries_, {});
}

void DelayedUpdates::run(const std::vector<Fp8Role>& roles, const Group& group) {
  /// The weights of one call.
  struct Batch {
    DelayedScaling recipe;
    bool agrees;
    std::vector<Tensor> states;
  };
  std::vector<Batch> batches;
  for (const Entry& entry : take()) {
    if (roles[0] == Fp8Role::gradient && entry.weight->gradient_noted.exchange(0) == 0) continue;
    const Tensor& state = entry.weight->delayed;
    const bool agrees = group && entry.group.lock() == group;
    auto batch = std::find_if(batches.begin(), batches.end(), [&](const Batch& b) {
      return b.recipe == entry.recipe && b.agrees == agrees && b.states[0].device() == state.device();
    });
    if (batch == batches.end()) batch = batches.insert(batch, {entry.recipe, agrees, {}});
    batch->states.push_back(state);
  }
  const Unrecorded modes;
  const int64_t first = static_cast<int64_t>(roles[0]), count = static_cast<int64_t>(roles.size());
  std::exception_ptr error;
  for (const Batch& batch : batches) {
    try {
      std::vector<DType> dtypes;
      for (const Fp8Role role : roles) dtypes.push_back(fp8_dtype(batch.recipe.fp8_format(), role));
      if (batch.agrees) agree(batch.states, first, count, *group);
      backend(batch.states[0]).update_delayed_scales(delayed_update(batch.recipe, batch.states, first, dtypes));
      for (const Tensor& state : batch.states) state.impl().storage->bump_version();
    } catch (...) {
      if (!error) error = std::current_exception();
      for (const Tensor& state : batch.states) newest(state, first, count).zero_();
    }
  }
  if (error) std::rethrow_exception(error);
}

void DelayedUpdates::discard(const std::vector<Fp8Role>& roles) {
  const Unrecorded modes;
  for (const Entry& entry : take()) {
    newest(entry.weight->delayed, static_cast<int64_t>(roles[0]), static_cast<int64_t>(roles.size())).zero_();
  }
}

DelayedIteration::DelayedIteration(std::shared_ptr<DelayedUpdates> gradients, Group group, bool notes)
    : number_(next_number()), gradients_(std::move(gradients)), group_(std::move(group)), notes_(notes) {}

void DelayedIteration::check(const DelayedScaling& recipe) {
  const std::lock_guard lock(mutex_);
  if (!recipe_) recipe_ = recipe;
  TANDEM_CHECK(*recipe_ == recipe, StateError,
               "another region of this iteration has {}, this one {}; their weights would share one history: use one "
               "recipe",
               to_string(*recipe_), to_string(recipe));
}

Weight DelayedIteration::begin(const Tensor& weight, const DelayedScaling& recipe) {
  Weight kept = with_delayed_state(weight, recipe, notes_forward());
  const uint64_t noted = kept->gradient_noted;
  if (noted != 0 && noted != number_ && notes_forward()) {
    check_no_capture(weight);
    DelayedUpdates update;
    update.add(recipe, kept, group_);
    update.run({Fp8Role::gradient}, group_);
  }
  return kept;
}

Tensor DelayedIteration::scales(const Tensor& state) {
  const std::lock_guard lock(mutex_);
  auto& [kept, scales] = scales_[&state.impl()];
  if (!scales.defined()) {
    kept = state;
    scales = state.select(1, 0).clone();
  }
  return scales;
}

void DelayedIteration::noted(const DelayedScaling& recipe, const Weight& weight, Fp8Role role) {
  if (role == Fp8Role::gradient) weight->gradient_noted = number_;
  (role == Fp8Role::gradient ? *gradients_ : forward_).add(recipe, weight, group_);
}

void DelayedIteration::end() {
  open_.store(false, std::memory_order_relaxed);
  forward_.run({Fp8Role::input, Fp8Role::weight}, group_);
}

void DelayedIteration::abandon() {
  open_.store(false, std::memory_order_relaxed);
  forward_.discard({Fp8Role::input, Fp8Role::weight});
}

}  // namespace tandem::amp::detail
