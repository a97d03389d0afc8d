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

namespace {

/// Checks the options of a table, wraps padding_idx, and returns the given table or a new one.
template <class Options>
Tensor table_of(Options& options) {
  const int64_t rows = options.num_embeddings(), columns = options.embedding_dim();
  TANDEM_CHECK(rows >= 0 && columns >= 0, StateError,
               "num_embeddings = {}, embedding_dim = {}; both must be at least 0", rows, columns);
  if (options._weight().defined()) checks::floating("_weight", options._weight());
  checks::sizes("_weight", options._weight(), {rows, columns});
  if (std::optional<int64_t>& padding = options.padding_idx(); padding) {
    TANDEM_CHECK(*padding >= -rows && *padding < rows, IndexError,
                 "padding_idx = {} is not a row of {} embeddings; use one in [{}, {}]", *padding, rows, -rows,
                 rows - 1);
    if (*padding < 0) *padding += rows;
  }
  return options._weight().defined() ? options._weight() : empty({rows, columns});
}

void fill_table(const Tensor& weight, std::optional<int64_t> padding_idx) {
  init::normal_(weight);
  if (!padding_idx) return;
  NoGradGuard no_grad;
  weight.select(0, *padding_idx).fill_(0);
}

/// Copies the options that all ways to look up a table have.
template <class From, class To>
void copy_table_options(const From& from, To& to) {
  to.padding_idx(from.padding_idx())
      .max_norm(from.max_norm())
      .norm_type(from.norm_type())
      .scale_grad_by_freq(from.scale_grad_by_freq());
}

template <class Options>
void describe_table_options(Description& text, const Options& options) {
  if (options.padding_idx()) text.field("padding_idx", *options.padding_idx());
  if (options.max_norm()) text.field("max_norm", *options.max_norm());
  if (options.norm_type() != 2) text.field("norm_type", options.norm_type());
  if (options.scale_grad_by_freq()) text.field("scale_grad_by_freq", true);
}

/// The options of a module with a given table.
template <class Options, class Given>
Options pretrained(const Tensor& embeddings, const Given& given) {
  checks::floating("embeddings", embeddings);
  TANDEM_CHECK(embeddings.dim() == 2, ShapeError, "embeddings is {}, but must be [num_embeddings, embedding_dim]",
               checks::show(embeddings));
  Options options(embeddings.size(0), embeddings.size(1));
  options._weight(embeddings);
  copy_table_options(given, options);
  return options;
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions o) : options(std::move(o)) { reset(); }

EmbeddingImpl::EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
    : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}

void EmbeddingImpl::reset() {
  const OpScope op("Embedding");
  const Tensor table = table_of(options);
  parameters_.clear();
  register_parameter(weight, "weight", table);
  if (!options._weight().defined()) reset_parameters();
}

void EmbeddingImpl::reset_parameters() { fill_table(weight, options.padding_idx()); }

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  functional::EmbeddingFuncOptions given;
  copy_table_options(options, given);
  return functional::embedding(indices, weight, given);
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  Description text(stream, "Embedding");
  text.field("num_embeddings", options.num_embeddings()).field("embedding_dim", options.embedding_dim());
  describe_table_options(text, options);
}

Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options) {
  const OpScope op("Embedding");
  Embedding table(pretrained<EmbeddingOptions>(embeddings, options));
  table->weight.set_requires_grad(!options.freeze());
  return table;
}

EmbeddingBagImpl::EmbeddingBagImpl(EmbeddingBagOptions o) : options(std::move(o)) { reset(); }

EmbeddingBagImpl::EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim)
    : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}

void EmbeddingBagImpl::reset() {
  const OpScope op("EmbeddingBag");
  const Tensor table = table_of(options);
  parameters_.clear();
  register_parameter(weight, "weight", table);
  if (!options._weight().defined()) reset_parameters();
}

void EmbeddingBagImpl::reset_parameters() { fill_table(weight, options.padding_idx()); }

Tensor EmbeddingBagImpl::forward(const Tensor& input, const Tensor& offsets, const Tensor& per_sample_weights) {
  functional::EmbeddingBagFuncOptions given;
  given.offsets(offsets)
      .mode(options.mode())
      .per_sample_weights(per_sample_weights)
      .include_last_offset(options.include_last_offset());
  copy_table_options(options, given);
  return functional::embedding_bag(input, weight, given);
}

void EmbeddingBagImpl::pretty_print(std::ostream& stream) const {
  const BagMode mode = options.mode().mode;
  Description text(stream, "EmbeddingBag");
  text.field("num_embeddings", options.num_embeddings()).field("embedding_dim", options.embedding_dim());
  text.field("mode", mode == BagMode::Sum ? "kSum" : mode == BagMode::Mean ? "kMean" : "kMax");
  if (options.include_last_offset()) text.field("include_last_offset", true);
  describe_table_options(text, options);
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options) {
  const OpScope op("EmbeddingBag");
  EmbeddingBag table(pretrained<EmbeddingBagOptions>(embeddings, options)
                         .mode(options.mode())
                         .include_last_offset(options.include_last_offset()));
  table->weight.set_requires_grad(!options.freeze());
  return table;
}

}  // namespace tandem::nn
