#include "tandem/nn/modules/distance.h"

#include "src/nn/text-inl.h"
#include "tandem/nn/functional.h"

namespace tandem::nn {

Tensor CosineSimilarityImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::cosine_similarity(x1, x2, options);
}

void CosineSimilarityImpl::pretty_print(std::ostream& stream) const {
  Description(stream, "CosineSimilarity").field("dim", options.dim()).field("eps", options.eps());
}

Tensor PairwiseDistanceImpl::forward(const Tensor& x1, const Tensor& x2) {
  return functional::pairwise_distance(x1, x2, options);
}

void PairwiseDistanceImpl::pretty_print(std::ostream& stream) const {
  Description(stream, "PairwiseDistance")
      .field("p", options.p())
      .field("eps", options.eps())
      .field("keepdim", options.keepdim());
}

}  // namespace tandem::nn
