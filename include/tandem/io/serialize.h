#pragma once
// save() and load(), as in libtorch: `save(model, "model.safetensors")`, `load(model, "model.safetensors")`.
#include <concepts>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tandem/base/op_scope.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/safetensors.h"

#pragma GCC visibility push(default)
namespace tandem {

namespace io {

/// Writes a PyTorch file if the path ends in .pt or .pth (io::save_pt), otherwise a safetensors file (io::save_file).
/// Throws IoError for .npy and .npz, which io::save_npy and io::save_npz write.
void save_state(const StateDict& state, const std::string& path);
/// Reads a file of either format, which the contents tell: see io::load_pt and io::load_file.
StateDict load_state(const std::string& path);
/// The same with streams. Writes the safetensors format; reads all bytes up to the stream's end. Throws IoError if the
/// stream fails.
void save_state(const StateDict& state, std::ostream& stream);
StateDict load_state(std::istream& stream);

/// A path or a stream.
template <class T>
concept FileOrOutput = std::convertible_to<T, const std::string&> || std::convertible_to<T, std::ostream&>;
template <class T>
concept FileOrInput = std::convertible_to<T, const std::string&> || std::convertible_to<T, std::istream&>;

}  // namespace io

/// Writes a tensor, a list of tensors or an object's state_dict() to a path or a std::ostream. A path that ends in .pt
/// or .pth gets PyTorch's format, which torch.load(path, weights_only=True) reads; .npy and .npz are refused, see
/// io::save_npy and io::save_npz; other paths and streams get the safetensors format. The keys of a module are
/// PyTorch's, so model files can be exchanged between Python and C++.
void save(const Tensor& tensor, const std::string& path);
void save(const Tensor& tensor, std::ostream& stream);
void save(const std::vector<Tensor>& tensors, const std::string& path);
void save(const std::vector<Tensor>& tensors, std::ostream& stream);
template <io::Stateful T, io::FileOrOutput Out>
void save(const T& object, Out&& out) {
  const StateDict state = object.state_dict();
  const OpScope op("save");  // not earlier: state_dict() may be the user's
  io::save_state(state, out);
}
template <class M, io::FileOrOutput Out>
void save(const nn::ModuleHolder<M>& module, Out&& out) {
  save(*module, out);
}
template <io::Stateful T, io::FileOrOutput Out>
void save(const std::shared_ptr<T>& object, Out&& out) {
  save(*object, out);
}

/// Loads what save(), torch.save or libtorch's torch::save wrote, from a path or a std::istream; the contents tell the
/// format. A Tensor variable is replaced by the tensor in the file; an object keeps its tensors and copies the values
/// into them, see its load_state_dict(). Throws IoError for a bad file and StateError for a file that does not match
/// the object; both leave the object unchanged.
void load(Tensor& tensor, const std::string& path);
void load(Tensor& tensor, std::istream& stream);
void load(std::vector<Tensor>& tensors, const std::string& path);
void load(std::vector<Tensor>& tensors, std::istream& stream);
template <io::Stateful T, io::FileOrInput In>
void load(T& object, In&& in) {
  StateDict state;
  {
    const OpScope op("load");
    state = io::load_state(in);
  }
  object.load_state_dict(state);
}
template <class M, io::FileOrInput In>
void load(nn::ModuleHolder<M>& module, In&& in) {
  load(*module, in);
}
template <io::Stateful T, io::FileOrInput In>
void load(std::shared_ptr<T>& object, In&& in) {
  load(*object, in);
}

}  // namespace tandem
#pragma GCC visibility pop
