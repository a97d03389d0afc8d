#pragma once
// save() and load(), as in libtorch: `save(model, "model.safetensors")`, `load(model, "model.safetensors")`.
#include <memory>
#include <string>
#include <vector>

#include "tandem/base/op_scope.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/safetensors.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Writes a safetensors file, see io::save_file. The keys of a module's file are those of its state_dict(), which are
/// PyTorch's, so model files can be exchanged between Python and C++.
void save(const Tensor& tensor, const std::string& path);
void save(const std::vector<Tensor>& tensors, const std::string& path);
template <io::Stateful T>
void save(const T& object, const std::string& path) {
  const StateDict state = object.state_dict();
  const OpScope op("save");  // not earlier: state_dict() may be the user's
  io::save_file(state, path);
}
template <class M>
void save(const nn::ModuleHolder<M>& module, const std::string& path) {
  save(*module, path);
}
template <io::Stateful T>
void save(const std::shared_ptr<T>& object, const std::string& path) {
  save(*object, path);
}

/// Loads a file written by save(). A Tensor variable is replaced by the tensor in the file; an object keeps its tensors
/// and copies the values into them, see its load_state_dict(). Throws IoError for a bad file and StateError for a file
/// that does not match the object; both leave the object unchanged.
void load(Tensor& tensor, const std::string& path);
void load(std::vector<Tensor>& tensors, const std::string& path);
template <io::Stateful T>
void load(T& object, const std::string& path) {
  StateDict state;
  {
    const OpScope op("load");
    state = io::load_file(path).tensors;
  }
  object.load_state_dict(state);
}
template <class M>
void load(nn::ModuleHolder<M>& module, const std::string& path) {
  load(*module, path);
}
template <io::Stateful T>
void load(std::shared_ptr<T>& object, const std::string& path) {
  load(*object, path);
}

}  // namespace tandem
#pragma GCC visibility pop
