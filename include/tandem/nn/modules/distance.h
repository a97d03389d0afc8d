#pragma once
// Distances of two tensors as modules.
#include "tandem/nn/module.h"
#include "tandem/nn/options/distance.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// functional::cosine_similarity
class CosineSimilarityImpl : public Cloneable<CosineSimilarityImpl> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  Tensor forward(const Tensor& x1, const Tensor& x2);
  void pretty_print(std::ostream& stream) const override;

  CosineSimilarityOptions options;
};
TANDEM_MODULE(CosineSimilarity);

/// functional::pairwise_distance
class PairwiseDistanceImpl : public Cloneable<PairwiseDistanceImpl> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& options_ = {}) : options(options_) {}
  void reset() override {}
  Tensor forward(const Tensor& x1, const Tensor& x2);
  void pretty_print(std::ostream& stream) const override;

  PairwiseDistanceOptions options;
};
TANDEM_MODULE(PairwiseDistance);

}  // namespace tandem::nn
#pragma GCC visibility pop
