#include "tandem/nn/modules/embedding.h"

#include "src/nn/text-inl.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn {

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions o) : options(std::move(o)) { reset(); }

void EmbeddingImpl::reset() {
  const OpScope op("Embedding");
  const int64_t rows = options.num_embeddings(), columns = options.embedding_dim();
  TANDEM_CHECK(rows >= 0 && columns >= 0, StateError,
               "num_embeddings = {}, embedding_dim = {}; both must be at least 0", rows, columns);
  const bool given = options._weight().defined();
  if (given) checks::floating("_weight", options._weight());
  checks::sizes("_weight", options._weight(), {rows, columns});
  if (std::optional<int64_t>& padding = options.padding_idx(); padding) {
    TANDEM_CHECK(*padding >= -rows && *padding < rows, IndexError,
                 "padding_idx = {} is not a row of {} embeddings; use one in [{}, {}]", *padding, rows, -rows,
                 rows - 1);
    if (*padding < 0) *padding += rows;
  }
  const Tensor table = given ? options._weight() : empty({rows, columns});
  parameters_.clear();
  weight = register_parameter("weight", table);
  if (!given) reset_parameters();
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  NoGradGuard no_grad;
  weight.select(0, *options.padding_idx()).fill_(0);
}

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  return functional::embedding(indices, weight, functional::EmbeddingFuncOptions().padding_idx(options.padding_idx()));
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  print(stream, "tandem::nn::Embedding(num_embeddings={}, embedding_dim={}", options.num_embeddings(),
        options.embedding_dim());
  if (options.padding_idx()) print(stream, ", padding_idx={}", *options.padding_idx());
  stream << ")";
}

}  // namespace tandem::nn
