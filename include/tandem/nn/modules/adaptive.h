#pragma once
// AdaptiveLogSoftmaxWithLoss: softmax over many classes, most of them rare.
#include "tandem/nn/modules/container.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/options/adaptive.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// What AdaptiveLogSoftmaxWithLoss returns.
struct ASMoutput {
  Tensor output;  ///< [N] or []: log probability of each target
  Tensor loss;    ///< []: minus the mean of output
};

/// Adaptive softmax, for classes numbered by falling frequency. The head, a Linear layer, scores the classes below
/// cutoffs[0] and each cluster of the rarer classes [cutoffs[i], cutoffs[i + 1]), the last one ending at n_classes.
/// tail[i], two Linear layers without bias, scores the classes of cluster i for those samples whose target is in it:
///
///   log p(class) = log p(cluster) + log p(class | cluster)
///
/// Waits for the device, to find the samples of each cluster. Source: Grave et al., "Efficient softmax approximation
/// for GPUs" (2017).
class AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs);
  /// Throws StateError unless the cutoffs are ascending, from 1 to n_classes - 1, and each cluster has a feature.
  explicit AdaptiveLogSoftmaxWithLossImpl(const AdaptiveLogSoftmaxWithLossOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  /// `input`: [N, in_features], `target`: [N], or [in_features] and []. Throws ShapeError for other sizes, DTypeError
  /// for targets that are not integers, IndexError for targets outside [0, n_classes).
  ASMoutput forward(const Tensor& input, const Tensor& target);
  /// Returns the log probabilities of all classes: [N, in_features] -> [N, n_classes].
  Tensor log_prob(const Tensor& input);
  /// Returns the most likely class: [N, in_features] -> [N], or [in_features] -> []. Scores the clusters' classes only
  /// for samples for which the head prefers a cluster, as PyTorch does, so a class of the head may be returned although
  /// a rarer one is more likely.
  Tensor predict(const Tensor& input);

  AdaptiveLogSoftmaxWithLossOptions options;
  Linear head{nullptr};
  ModuleList tail{nullptr};

 private:
  int64_t clusters() const { return static_cast<int64_t>(options.cutoffs().size()); }
  int64_t shortlist() const { return options.cutoffs().front(); }
  /// The end of cluster `i`; that of the shortlist for -1.
  int64_t end(int64_t i) const;
  Tensor tail_log_prob(int64_t cluster, const Tensor& input) const;
  Tensor all_log_probs(const Tensor& input, const Tensor& head_scores) const;
  void check_input(const Tensor& input) const;
};
TANDEM_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace tandem::nn
#pragma GCC visibility pop
