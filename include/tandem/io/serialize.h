#pragma once
// save and load, as in libtorch: `save(model, "model.safetensors")`, `load(model, "model.safetensors")`.
#include <memory>
#include <string>
#include <vector>

#include "tandem/io/checkpoint.h"
#include "tandem/io/safetensors.h"

namespace tandem {

/// These write safetensors files, see io::save_file. A module's file has the keys of its state_dict(), which are
/// PyTorch's, so files of models travel between Python and C++.
void save(const Tensor& tensor, const std::string& path);
void save(const std::vector<Tensor>& tensors, const std::string& path);
template <io::Stateful T>
void save(const T& object, const std::string& path) {
  io::save_file(object.state_dict(), path);
}
template <class M>
void save(const nn::ModuleHolder<M>& module, const std::string& path) {
  save(*module, path);
}
template <io::Stateful T>
void save(const std::shared_ptr<T>& object, const std::string& path) {
  save(*object, path);
}

/// These load what `save` wrote. A tensor becomes the one in the file; objects keep theirs and take the values over,
/// see their load_state_dict(). Throw IoError for a bad file, StateError, and change nothing, for one that does not
/// fit.
void load(Tensor& tensor, const std::string& path);
void load(std::vector<Tensor>& tensors, const std::string& path);
template <io::Stateful T>
void load(T& object, const std::string& path) {
  object.load_state_dict(io::load_file(path).tensors);
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
