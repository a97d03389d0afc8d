#include "tandem/io/serialize.h"

#include <utility>

#include "tandem/base/check.h"

namespace tandem {

void save(const Tensor& tensor, const std::string& path) { save(std::vector<Tensor>{tensor}, path); }

void save(const std::vector<Tensor>& tensors, const std::string& path) {
  const OpScope op("save");
  StateDict state;
  for (size_t i = 0; i < tensors.size(); ++i) state.insert(std::to_string(i), tensors[i]);
  io::save_file(state, path);
}

void load(Tensor& tensor, const std::string& path) {
  const OpScope op("load");
  std::vector<Tensor> tensors;
  load(tensors, path);
  TANDEM_CHECK(tensors.size() == 1, StateError,
               "{} has {} tensors, not one; load a vector of tensors, or use io::load_file", path, tensors.size());
  tensor = std::move(tensors[0]);
}

void load(std::vector<Tensor>& tensors, const std::string& path) {
  const OpScope op("load");
  const StateDict state = io::load_file(path).tensors;
  std::vector<Tensor> loaded;
  for (size_t i = 0; i < state.size(); ++i) {
    const Tensor* t = state.find(std::to_string(i));
    TANDEM_CHECK(t, StateError,
                 "{} has the tensor '{}' and is not a vector of tensors; use io::load_file, or load it into the object "
                 "that it was saved from",
                 path, state[0].key());
    loaded.push_back(*t);
  }
  tensors = std::move(loaded);
}

}  // namespace tandem
