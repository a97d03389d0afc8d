#pragma once
// Options of Embedding.
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// `EmbeddingOptions(10000, 128).padding_idx(0)`
struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);
  TANDEM_ARG(int64_t, embedding_dim);
  /// A row that gets no gradient, and is initialised with 0 unless `_weight` is given. Negative values count from the
  /// end.
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  /// The initial table, [num_embeddings, embedding_dim]; random if undefined.
  TANDEM_ARG(Tensor, _weight);
};

namespace functional {
/// `EmbeddingFuncOptions().padding_idx(0)`
struct EmbeddingFuncOptions {
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
