#include "tandem/nn/modules/adaptive.h"

#include <cmath>
#include <optional>
#include <vector>

#include "src/nn/text-inl.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

namespace {

void check_cutoffs(const std::vector<int64_t>& cutoffs, int64_t n_classes) {
  bool valid = !cutoffs.empty() && cutoffs.front() >= 1 && cutoffs.back() < n_classes;
  for (size_t i = 1; i < cutoffs.size(); ++i) valid = valid && cutoffs[i - 1] < cutoffs[i];
  TANDEM_CHECK(valid, StateError,
               "cutoffs = {}; they must be ascending, the first at least 1 and the last below n_classes = {}",
               to_string(cutoffs), n_classes);
}

/// The positions of the true elements of a mask of rank 1.
Tensor positions(const Tensor& mask) { return nonzero(mask).squeeze(1); }

}  // namespace

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(const AdaptiveLogSoftmaxWithLossOptions& o)
    : options(o) {
  reset();
}

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes,
                                                               std::vector<int64_t> cutoffs)
    : AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  const OpScope op("AdaptiveLogSoftmaxWithLoss");
  check_cutoffs(options.cutoffs(), options.n_classes());
  TANDEM_CHECK(options.div_value() > 0, StateError, "div_value = {}; it must be above 0", options.div_value());
  const Linear new_head(LinearOptions(options.in_features(), shortlist() + clusters()).bias(options.head_bias()));
  const ModuleList new_tail;
  for (int64_t i = 0; i < clusters(); ++i) {
    const double width = static_cast<double>(options.in_features()) / std::pow(options.div_value(), i + 1);
    TANDEM_CHECK(width >= 1, StateError,
                 "cluster {} would have {} / {}^{} features, fewer than one; use a smaller div_value or fewer cutoffs",
                 i, options.in_features(), options.div_value(), i + 1);
    const auto features = static_cast<int64_t>(width);
    new_tail->push_back(Sequential(Linear(LinearOptions(options.in_features(), features).bias(false)),
                                   Linear(LinearOptions(features, end(i) - end(i - 1)).bias(false))));
  }
  children_.clear();
  head = register_module("head", new_head);
  tail = register_module("tail", new_tail);
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (const auto& cluster : *tail) {
    for (const auto& layer : *cluster->as<Sequential>()) layer.ptr()->as<Linear>()->reset_parameters();
  }
}

int64_t AdaptiveLogSoftmaxWithLossImpl::end(int64_t i) const {
  return i + 1 < clusters() ? options.cutoffs()[static_cast<size_t>(i + 1)] : options.n_classes();
}

void AdaptiveLogSoftmaxWithLossImpl::check_input(const Tensor& input) const {
  checks::floating("the input", input);
  TANDEM_CHECK((input.dim() == 1 || input.dim() == 2) && input.size(-1) == options.in_features(), ShapeError,
               "the input is {}; it must be [N, {}] or [{}]", checks::show(input), options.in_features(),
               options.in_features());
}

Tensor AdaptiveLogSoftmaxWithLossImpl::tail_log_prob(int64_t cluster, const Tensor& input) const {
  return log_softmax(tail->at<SequentialImpl>(static_cast<size_t>(cluster)).forward(input), 1);
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Tensor& input, const Tensor& target) {
  {
    const OpScope op("AdaptiveLogSoftmaxWithLoss");
    check_input(input);
    checks::index("the target", target);
    TANDEM_CHECK(target.dim() == input.dim() - 1 && (target.dim() == 0 || target.size(0) == input.size(0)), ShapeError,
                 "the target is {}, but the input is {}; give one class for each sample", checks::show(target),
                 checks::show(input));
    if (target.numel() > 0) {
      const int64_t least = target.min().item<int64_t>(), most = target.max().item<int64_t>();
      TANDEM_CHECK(least >= 0 && most < options.n_classes(), IndexError,
                   "the target has the class {}; classes are in [0, {})", least < 0 ? least : most,
                   options.n_classes());
    }
  }
  if (input.dim() == 1) {
    const ASMoutput batch = forward(input.unsqueeze(0), target.unsqueeze(0));
    return {batch.output.squeeze(0), batch.loss};
  }
  // The cluster of each target, counted from 1; 0 is the shortlist.
  const Tensor cluster =
      bucketize(target.to(kLong), tensor(options.cutoffs(), TensorOptions(kLong).device(target.device())), false, true);
  const Tensor entry = where(cluster.eq(0), target.to(kLong), cluster + (shortlist() - 1));
  Tensor output = log_softmax(head(input), 1).gather(1, entry.unsqueeze(1)).squeeze(1);
  for (int64_t i = 0; i < clusters(); ++i) {
    const Tensor rows = positions(cluster.eq(i + 1));
    if (rows.numel() == 0) continue;
    const Tensor classes = target.index_select(0, rows) - end(i - 1);
    const Tensor within = tail_log_prob(i, input.index_select(0, rows)).gather(1, classes.unsqueeze(1)).squeeze(1);
    output = output.index_add(0, rows, within);
  }
  return {output, output.mean().neg()};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::all_log_probs(const Tensor& input, const Tensor& head_scores) const {
  const Tensor head_log_probs = log_softmax(head_scores, 1);
  std::vector<Tensor> parts{head_log_probs.narrow(1, 0, shortlist())};
  for (int64_t i = 0; i < clusters(); ++i) {
    parts.push_back(tail_log_prob(i, input) + head_log_probs.narrow(1, shortlist() + i, 1));
  }
  return cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Tensor& input) {
  {
    const OpScope op("AdaptiveLogSoftmaxWithLoss");
    check_input(input);
    TANDEM_CHECK(input.dim() == 2, ShapeError, "the input is {}; it must be [N, {}]", checks::show(input),
                 options.in_features());
  }
  return all_log_probs(input, head(input));
}

Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Tensor& input) {
  {
    const OpScope op("AdaptiveLogSoftmaxWithLoss");
    check_input(input);
  }
  if (input.dim() == 1) return predict(input.unsqueeze(0)).squeeze(0);
  const Tensor scores = head(input);
  const Tensor best = scores.argmax(1);
  const Tensor rows = positions(best.ge(shortlist()));
  if (rows.numel() == 0) return best;
  const Tensor rare = all_log_probs(input.index_select(0, rows), scores.index_select(0, rows)).argmax(1);
  return best.index_copy(0, rows, rare);
}

void AdaptiveLogSoftmaxWithLossImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::AdaptiveLogSoftmaxWithLoss";
}

}  // namespace tandem::nn
