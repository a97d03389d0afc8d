#pragma once
// Options of Embedding and EmbeddingBag.
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"
#include "tandem/ops/embedding_bag.h"
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
  /// Rows of a larger norm, of order norm_type, are scaled to it before they are looked up, in place.
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2;
  /// Whether the gradient of a row is divided by the number of indices that name it.
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  /// The initial table, [num_embeddings, embedding_dim]; random if undefined.
  TANDEM_ARG(Tensor, _weight);
};

/// `EmbeddingFromPretrainedOptions().freeze(false)`; the others are those of EmbeddingOptions.
struct EmbeddingFromPretrainedOptions {
  /// Whether the table gets no gradient.
  TANDEM_ARG(bool, freeze) = true;
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
};

/// kSum, kMean or kMax.
struct EmbeddingBagMode {
  EmbeddingBagMode(LossReduction reduction);
  EmbeddingBagMode(LargestOfBag) : mode(BagMode::Max) {}
  BagMode mode;
};

/// `EmbeddingBagOptions(10000, 128).mode(kSum)`; max_norm, norm_type and scale_grad_by_freq (not for kMax) are those of
/// EmbeddingOptions.
struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);
  TANDEM_ARG(int64_t, embedding_dim);
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  /// The initial table, [num_embeddings, embedding_dim]; random if undefined.
  TANDEM_ARG(Tensor, _weight);
  /// Whether the last offset is the number of indices, where the last bag ends.
  TANDEM_ARG(bool, include_last_offset) = false;
  /// A row that is left out of bags. Negative values count from the end.
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
};

/// `EmbeddingBagFromPretrainedOptions().mode(kSum)`; the others are those of EmbeddingBagOptions.
struct EmbeddingBagFromPretrainedOptions {
  /// Whether the table gets no gradient.
  TANDEM_ARG(bool, freeze) = true;
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  TANDEM_ARG(bool, include_last_offset) = false;
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
};

namespace functional {
/// `EmbeddingFuncOptions().padding_idx(0)`; see EmbeddingOptions.
struct EmbeddingFuncOptions {
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
};

/// `EmbeddingBagFuncOptions().mode(kSum).offsets(offsets)`; see EmbeddingBagOptions.
struct EmbeddingBagFuncOptions {
  /// Where the bags begin; undefined for an input of rank 2, of which each row is a bag.
  TANDEM_ARG(Tensor, offsets);
  TANDEM_ARG(EmbeddingBagMode, mode) = kMean;
  /// Factors of the rows, of the input's sizes; for kSum.
  TANDEM_ARG(Tensor, per_sample_weights);
  TANDEM_ARG(bool, include_last_offset) = false;
  TANDEM_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TANDEM_ARG(std::optional<double>, max_norm) = std::nullopt;
  TANDEM_ARG(double, norm_type) = 2;
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
};
}  // namespace functional

}  // namespace tandem::nn
#pragma GCC visibility pop
