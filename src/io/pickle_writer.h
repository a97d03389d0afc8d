#pragma once
// Writes pickles that torch.load(weights_only=True) and libtorch's pickle_load read.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tandem/io/ivalue.h"

namespace tandem::io {

/// The storages of the tensors in a pickle. Tensors that share memory share a storage in the file, too.
class PickleStorages {
 public:
  /// The number of a tensor's storage, which is also its key in the file. Throws StateError if the storage was added
  /// with another dtype: a file has one dtype per storage.
  size_t add(const Tensor& t);
  size_t size() const { return elements_.size(); }
  /// All elements of a storage, as a tensor of rank 1.
  const Tensor& elements(size_t number) const { return elements_[number]; }

 private:
  std::vector<Tensor> elements_;
  std::map<std::tuple<const void*, size_t, DeviceType, int>, size_t> numbers_;  // by address, size and device
};

/// Returns a pickle of protocol 2. Throws StateError for an undefined tensor, a TorchScript object, text that is not
/// UTF-8, and values beyond the limits of src/io/pickle_limits.h.
std::string write_pickle(const IValue& value, PickleStorages& storages);

}  // namespace tandem::io
