#include "src/nn/parallel/reducer.h"

#include <algorithm>
#include <exception>

#include "tandem/autograd/accumulate_grad.h"
#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/loss_scale.h"
#include "tandem/autograd/meta.h"
#include "tandem/base/check.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::parallel::detail {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kFirstBucketMiB = 1;  // small, so that communication starts early

/// The options of a parameter's gradient.
TensorOptions grad_options(const Tensor& p) { return p.options().dtype(autograd::grad_dtype(p)); }

/// A gradient of `p` in the memory of a buffer, from element `at` on. It has a version of its own, by which writes of
/// the program are told from those of other gradients.
Tensor part_of(const Tensor& buffer, const Tensor& p, int64_t at) {
  // The strides of the parameter, so that copies and the optimizer read both in order.
  Tensor part = make_view(buffer, p.sizes(), dense_strides(p.sizes(), p.strides()), at);
  const std::shared_ptr<Storage>& whole = buffer.impl().storage;
  part.impl().storage = std::make_shared<Storage>(whole->data(), whole->nbytes(), whole->device(), [whole](void*) {});
  part.impl().storage->set_pointer_escaped(Storage::Pointer::reads);  // reductions do not wait for postponed writes
  return part;
}

bool is_scaled(const autograd::LossScalePtr& scale) {
  return scale && scale->kind == autograd::LossScale::Kind::scaled;
}

}  // namespace

Reducer::Reducer(std::vector<Parameter> parameters, std::shared_ptr<distributed::ProcessGroup> group,
                 const DistributedDataParallelOptions& options)
    : parameters_(std::move(parameters)), group_(std::move(group)), options_(options), scale_check_(*group_) {
  // Backward passes use parameters roughly in the reverse of the order in which modules register them.
  std::vector<size_t> order;
  for (size_t i = parameters_.size(); i-- > 0;) order.push_back(i);
  make_buckets(order);
  start_iteration();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    handles_.push_back(autograd::register_post_accumulate_grad_hook(parameters_[i].tensor,
                                                                    [this, i](const Tensor&) { on_gradient(i); }));
  }
}

Reducer::~Reducer() {
  for (size_t i = 0; i < handles_.size(); ++i) {
    autograd::remove_post_accumulate_grad_hook(parameters_[i].tensor, handles_[i]);
  }
}

void Reducer::set_hook(CommHook hook) {
  TANDEM_CHECK(hook, StateError, "the function is empty; pass one that starts the reduction of a bucket");
  TANDEM_CHECK(!has_user_hook_, StateError, "a hook has already been registered; there can be one");
  hook_ = std::move(hook);
  has_user_hook_ = true;
}

void Reducer::make_buckets(const std::vector<size_t>& order) {
  buckets_.clear();
  places_.assign(parameters_.size(), {});
  std::vector<int64_t> sizes;  // of the buckets, in elements
  const auto same_kind = [](const Tensor& a, const Tensor& b) {
    return autograd::grad_dtype(a) == autograd::grad_dtype(b) && a.device() == b.device();
  };
  for (const size_t p : order) {
    const Tensor& x = parameters_[p].tensor;
    // The last bucket of this dtype and device, if the parameter fits into it.
    size_t b = buckets_.size();
    while (b > 0 && !same_kind(parameters_[buckets_[b - 1].parameters[0]].tensor, x)) --b;
    const double cap = b == 1 ? std::min(kFirstBucketMiB, options_.bucket_cap_mb()) : options_.bucket_cap_mb();
    const bool fits = b > 0 && static_cast<double>(sizes[b - 1] + x.numel()) *
                                       static_cast<double>(element_size(autograd::grad_dtype(x))) <=
                                   cap * kMiB;
    if (!fits) {
      buckets_.emplace_back();
      sizes.push_back(0);
      b = buckets_.size();
    }
    places_[p] = {b - 1, buckets_[b - 1].parameters.size()};
    buckets_[b - 1].parameters.push_back(p);
    sizes[b - 1] += x.numel();
  }
  for (size_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    bucket.buffer = zeros({sizes[b]}, grad_options(parameters_[bucket.parameters[0]].tensor));
    int64_t at = 0;
    for (const size_t p : bucket.parameters) {
      const Tensor& x = parameters_[p].tensor;
      bucket.gradients.push_back(part_of(bucket.buffer, x, at));
      at += x.numel();
    }
  }
}

void Reducer::follow_parameters() {
  bool changed = false;
  std::vector<size_t> order;
  for (const Bucket& bucket : buckets_) {
    for (const size_t p : bucket.parameters) {
      const Tensor& x = parameters_[p].tensor;
      changed |= autograd::grad_dtype(x) != bucket.buffer.dtype() || x.device() != bucket.buffer.device();
      order.push_back(p);
    }
  }
  if (!changed) return;
  make_buckets(order);
  start_iteration();
}

void Reducer::start_iteration() {
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parameters.size();
    bucket.reduction = {};
  }
  collected_.assign(parameters_.size(), false);
  used_.assign(parameters_.size(), false);
  kept_.clear();
  use_order_.clear();
  next_bucket_ = 0;
  scale_.reset();
}

void Reducer::recover() {
  for (size_t b = 0; b < next_bucket_; ++b) buckets_[b].reduction.work.wait();
  pass_runs_ = false;
  start_iteration();
}

void Reducer::before_forward() {
  if (pass_failed()) recover();
  report_different_scales();
  for (const Parameter& p : parameters_) {
    if (p.tensor.requires_grad()) continue;
    fail(fmt::format("{} was frozen after the model was wrapped; wrap it again, so that its gradient is not awaited",
                     p.name));
  }
  if (use_order_.empty()) follow_parameters();
  if (!syncs_ || use_order_.empty()) return;
  fail(fmt::format(
      "in the last iteration these parameters got no gradient, so that the others were not all averaged: {}. Use them "
      "in the loss, freeze them before wrapping the model, or set find_unused_parameters(true)",
      names_of_missing()));
}

std::string Reducer::names_of_missing() const {
  constexpr size_t kMost = 10;
  std::string names;
  size_t count = 0;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (collected_[i] || (!never_used_.empty() && never_used_[i])) continue;
    if (count++ < kMost) names += (names.empty() ? "" : ", ") + parameters_[i].name;
  }
  if (count > kMost) names += fmt::format(" and {} more", count - kMost);
  return names;
}

void Reducer::report_different_scales() {
  if (const std::optional<std::string> difference = scale_check_.difference()) fail(*difference);
}

void Reducer::fail(const std::string& message) {
  group_->abort(message);  // the other ranks wait for reductions that this one will not join
  TANDEM_THROW(StateError, "{}", message);
}

void Reducer::on_gradient(size_t p) {
  const Tensor& x = parameters_[p].tensor;
  // Also without a reduction: the next one averages what has been accumulated.
  if (x.grad().defined()) used_[p] = true;
  if (!syncs_) return;
  const OpScope op("DistributedDataParallel");
  if (GradMode::is_enabled()) {
    fail(
        "backward(create_graph = true) is not supported: the average over the ranks has no derivative here; use "
        "autograd::grad() for gradient penalties, inside the loss");
  }
  if (!never_used_.empty() && never_used_[p]) {
    fail(
        fmt::format("parameter {} got a gradient, but was not used in the first iteration; static_graph promises that "
                    "each iteration uses the same parameters",
                    parameters_[p].name));
  }
  if (pass_failed()) {
    recover();
    used_[p] = x.grad().defined();
  }
  if (pass_.expired()) {
    const auto pass = std::make_shared<int>();
    pass_ = pass;
    pass_runs_ = true;
    autograd::queue_callback([this, pass] { at_end_of_pass(); });
  }
  if (collected_[p] && places_[p].bucket < next_bucket_) {
    fail(
        fmt::format("parameter {} got a second gradient in one iteration, after its first was sent. Add up the losses "
                    "and call backward once, use no_sync() for all passes but the last, or set "
                    "find_unused_parameters(true), which averages after each pass",
                    parameters_[p].name));
  }
  const autograd::LossScalePtr scale = autograd::gradient_scale(x).scale;
  if (!is_scaled(scale_) && (is_scaled(scale) || !scale_)) {
    scale_ = scale;
  }
  use_order_.push_back(p);
  collect(p);
  reduce_full_buckets();
}

void Reducer::collect(size_t p) {
  const NoGradGuard no_grad;
  const Place place = places_[p];
  Bucket& bucket = buckets_[place.bucket];
  const Tensor &x = parameters_[p].tensor, &view = bucket.gradients[place.index];
  const Tensor& grad = x.grad();
  if (scale_) autograd::rescale_gradient(x, scale_);
  if (!grad.defined()) {
    view.zero_();
  } else if (!grad.is_same(view)) {
    view.copy_(grad);
    if (options_.gradient_as_bucket_view()) autograd::replace_gradient(x, view);
  }
  if (collected_[p]) return;
  collected_[p] = true;
  --bucket.missing;
}

void Reducer::reduce_full_buckets() {
  const OpScope op("DistributedDataParallel");
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing == 0) {
    Bucket& bucket = buckets_[next_bucket_];
    std::vector<Tensor> parameters;
    for (const size_t p : bucket.parameters) parameters.push_back(parameters_[p].tensor);
    const GradBucket shown(next_bucket_, next_bucket_ + 1 == buckets_.size(), bucket.buffer, bucket.gradients,
                           std::move(parameters));
    try {
      bucket.reduction = hook_(*group_, shown);
    } catch (const std::exception& e) {
      group_->abort(e.what());  // the other ranks wait for this reduction
      throw;
    }
    const Tensor& result = bucket.reduction.result;
    if (!result.defined() || result.dim() != 1 || result.numel() != bucket.buffer.numel() || !result.is_contiguous() ||
        !is_differentiable(result.dtype()) || result.device() != bucket.buffer.device()) {
      fail(fmt::format(
          "the communication hook returned {} for the bucket {}; it must return a contiguous floating tensor "
          "of the same sizes on the same device",
          checks::show(result), checks::show(bucket.buffer)));
    }
    ++next_bucket_;
    ++reductions_;
  }
}

void Reducer::collect_unused() {
  if (!options_.find_unused_parameters() && !options_.static_graph()) return;
  for (const Bucket& bucket : buckets_) {
    for (const size_t p : bucket.parameters) {
      const Tensor& grad = parameters_[p].tensor.grad();
      if (scale_) autograd::rescale_gradient(parameters_[p].tensor, scale_);
      if (!used_[p] && options_.gradient_as_bucket_view() && grad.defined()) kept_[p] = grad.clone();
      if (!collected_[p]) collect(p);
    }
  }
  reduce_full_buckets();
}

void Reducer::at_end_of_pass() {
  const OpScope op("DistributedDataParallel");
  const NoGradGuard no_grad;
  collect_unused();
  // Otherwise a later pass of this iteration brings the missing gradients, or the next forward pass reports them.
  if (next_bucket_ == buckets_.size()) finish_iteration();
  pass_runs_ = false;  // not if anything above has failed
}

std::vector<bool> Reducer::used_anywhere() const {
  if (!never_used_.empty()) {
    std::vector<bool> used = never_used_;
    used.flip();
    return used;
  }
  if (!options_.find_unused_parameters() && !options_.static_graph()) {
    return std::vector<bool>(parameters_.size(), true);
  }
  const Tensor flags = empty({static_cast<int64_t>(parameters_.size())}, TensorOptions(kInt).device(kCPU));
  for (size_t p = 0; p < parameters_.size(); ++p) flags.raw<int32_t>()[p] = used_[p];
  const Tensor on_device = flags.to(parameters_[0].tensor.device());
  group_->all_reduce_async(on_device, distributed::ReduceOp::MAX, "used parameters").wait();
  const Tensor result = on_device.cpu();
  std::vector<bool> used(parameters_.size());
  for (size_t p = 0; p < used.size(); ++p) used[p] = result.raw<int32_t>()[p] != 0;
  return used;
}

void Reducer::finish_iteration() {
  const NoGradGuard no_grad;
  if (is_scaled(scale_)) {
    scale_ = scale_check_.checked(scale_);
    report_different_scales();
  }
  const std::vector<bool> used = used_anywhere();
  std::vector<autograd::GradientScale> scales;
  for (const Parameter& p : parameters_) scales.push_back(autograd::gradient_scale(p.tensor));
  for (Bucket& bucket : buckets_) {
    bucket.reduction.work.wait();
    write_back(bucket, used);
  }
  if (options_.static_graph() && never_used_.empty()) {
    never_used_ = used;
    never_used_.flip();
  }
  if (!ordered_by_use_ && !options_.find_unused_parameters()) order_buckets_by_use();
  // At the end, because a new order of the buckets replaces gradients.
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const autograd::LossScale* scale = scales[p].scale.get();
    // An average contains gradients of other ranks, also if this rank has none, or zeros.
    if (used[p]) scale = autograd::scale_of_sum({scale_.get()}, {scale}).scale;
    const Tensor& x = parameters_[p].tensor;
    if (x.grad().defined() && (scale || used[p])) {
      autograd::note_gradient_scale(x, scale ? scale->shared_from_this() : nullptr, scales[p].partly_assigned);
    }
  }
  start_iteration();
}

void Reducer::write_back(Bucket& bucket, const std::vector<bool>& used) {
  const Tensor& result = bucket.reduction.result;
  const bool other_result = !result.is_same(bucket.buffer);
  if (options_.gradient_as_bucket_view() && other_result) bucket.buffer.copy_(result);
  int64_t at = 0;
  for (size_t i = 0; i < bucket.parameters.size(); ++i) {
    const size_t p = bucket.parameters[i];
    const Tensor& x = parameters_[p].tensor;
    const Tensor& view = bucket.gradients[i];
    const int64_t begin = at;
    at += x.numel();
    if (!used[p]) {
      if (const auto kept = kept_.find(p); kept != kept_.end()) view.copy_(kept->second);
      continue;
    }
    Tensor& grad = x.mutable_grad();
    if (options_.gradient_as_bucket_view()) {
      grad = view;
    } else {
      if (!grad.defined()) grad = empty_like(x.detach(), autograd::grad_dtype(x));
      grad.copy_(other_result ? result.as_strided(x.sizes(), view.strides(), result.storage_offset() + begin) : view);
    }
  }
}

void Reducer::order_buckets_by_use() {
  ordered_by_use_ = true;
  // Parameters in the order of their gradients on rank 0. Of a static graph, without those that no rank uses.
  std::vector<bool> placed(parameters_.size());
  const Tensor order = empty({static_cast<int64_t>(parameters_.size())}, TensorOptions(kLong).device(kCPU));
  int64_t count = 0;
  const auto place = [&](size_t p) {
    if (placed[p] || (!never_used_.empty() && never_used_[p])) return;
    placed[p] = true;
    order.raw<int64_t>()[count++] = static_cast<int64_t>(p);
  };
  for (const size_t p : use_order_) place(p);
  for (size_t p = 0; p < parameters_.size(); ++p) place(p);
  const Tensor on_device = order.narrow(0, 0, count).to(parameters_[0].tensor.device());
  group_->broadcast(on_device);
  const Tensor agreed = on_device.cpu();
  std::vector<size_t> parameters;
  for (int64_t i = 0; i < agreed.numel(); ++i) parameters.push_back(static_cast<size_t>(agreed.raw<int64_t>()[i]));
  const std::vector<Bucket> old = std::move(buckets_);
  make_buckets(parameters);
  if (!options_.gradient_as_bucket_view()) return;
  for (const Bucket& bucket : old) {
    for (size_t i = 0; i < bucket.parameters.size(); ++i) {
      const size_t p = bucket.parameters[i];
      const Tensor& grad = parameters_[p].tensor.grad();
      if (!grad.defined() || !grad.is_same(bucket.gradients[i])) continue;
      const Tensor& view = buckets_[places_[p].bucket].gradients[places_[p].index];
      view.copy_(grad);
      parameters_[p].tensor.mutable_grad() = view;
    }
  }
}

}  // namespace tandem::nn::parallel::detail
