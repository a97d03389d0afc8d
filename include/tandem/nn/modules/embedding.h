#pragma once
// Embedding.
#include "tandem/nn/module.h"
#include "tandem/nn/options/embedding.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Looks up rows of a table by index; integers of any sizes -> those sizes, then embedding_dim. The table is `_weight`
/// if given; otherwise it is initialised with normal(0, 1), and row padding_idx with 0. Throws IndexError if
/// padding_idx is not a row, ShapeError for a _weight of other sizes.
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
#pragma GCC visibility pop
