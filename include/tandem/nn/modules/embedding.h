#pragma once
// Embedding, EmbeddingBag.
#include "tandem/nn/module.h"
#include "tandem/nn/options/embedding.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// Looks up rows of a table by index; integers of any sizes -> those sizes, then embedding_dim. The table is `_weight`
/// if given; otherwise it is initialised with normal(0, 1), and row padding_idx with 0. Throws IndexError if
/// padding_idx is not a row, ShapeError for a _weight of other sizes.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim);
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& indices);
  void pretty_print(std::ostream& stream) const override;

  EmbeddingOptions options;
  Tensor weight;
};
/// Holder of an EmbeddingImpl.
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using Impl = EmbeddingImpl;
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  /// Returns a layer with the given table [num_embeddings, embedding_dim], which is not copied.
  static Embedding from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

/// Sums, means or maxima of rows of a table (functional::embedding_bag). The table is initialised as Embedding's;
/// errors are the same.
class EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim);
  explicit EmbeddingBagImpl(EmbeddingBagOptions options);
  void reset() override;
  void reset_parameters();
  /// input: [n] with offsets, or [bags, length].
  Tensor forward(const Tensor& input, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});
  void pretty_print(std::ostream& stream) const override;

  EmbeddingBagOptions options;
  Tensor weight;
};

/// Holder of an EmbeddingBagImpl.
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using Impl = EmbeddingBagImpl;
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  /// Returns a layer with the given table [num_embeddings, embedding_dim], which is not copied.
  static EmbeddingBag from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options = {});
};

}  // namespace tandem::nn
#pragma GCC visibility pop
