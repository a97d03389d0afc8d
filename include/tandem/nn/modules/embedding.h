#pragma once
// Embedding.
#include "tandem/nn/module.h"
#include "tandem/nn/options/embedding.h"

namespace tandem::nn {

/// Rows of a table by number; integers of any sizes -> those sizes and embedding_dim. The table starts normal(0, 1),
/// its row padding_idx zero. Throws IndexError when padding_idx is no row, ShapeError for a _weight of other sizes.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& indices);
  void pretty_print(std::ostream& stream) const override;

  EmbeddingOptions options;
  Tensor weight;
};
TANDEM_MODULE(Embedding);

}  // namespace tandem::nn
