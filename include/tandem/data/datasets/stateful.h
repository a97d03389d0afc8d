#pragma once
// StatefulDataset: base class of datasets that read their items one after another and remember the position.
#include <cstddef>
#include <optional>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/data/dataset.h"
#include "tandem/io/archive.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem::data::datasets {

/// A dataset that keeps its own position: get_batch(batch_size) returns the next items, and nullopt at the end of the
/// epoch. make_data_loader(dataset, options) gives a StatefulDataLoader, which needs no sampler and never calls the
/// dataset from two threads at a time. If items are shuffled or altered with random numbers, override is_random() to
/// return true, and draw from data::transform_generator() in get_batch(); in reset(), draw from default_generator().
template <class Self, class Batch = std::vector<Example<>>, class Request = size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, Request> {
 public:
  /// Starts a new epoch.
  virtual void reset() = 0;
  /// Returns the position in the epoch, by default nothing. Its tensors must not share memory with the dataset.
  virtual StateDict state_dict() const { return {}; }
  /// Returns a function that restores such a position. Throws StateError, and changes nothing, if it does not fit;
  /// NotImplementedError unless overridden.
  virtual StateCommit prepare_load_state_dict(const StateDict& /*state*/) {
    throw NotImplementedError("load_state_dict",
                              "this dataset has no position; override state_dict and prepare_load_state_dict in it");
  }
  /// Restores such a position.
  void load_state_dict(const StateDict& state) { prepare_load_state_dict(state)(); }
  /// Write the position to an archive, and read it.
  virtual void save(serialize::OutputArchive& archive) const { archive.write(state_dict()); }
  virtual void load(serialize::InputArchive& archive) { archive.load_into(*this); }
};

}  // namespace tandem::data::datasets
#pragma GCC visibility pop
