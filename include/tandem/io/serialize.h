#pragma once
// save() and load(), as in libtorch: `save(model, "model.safetensors")`, `load(model, "model.safetensors")`.
#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tandem/base/op_scope.h"
#include "tandem/io/archive.h"
#include "tandem/io/checkpoint.h"
#include "tandem/io/safetensors.h"

#pragma GCC visibility push(default)
namespace tandem {

namespace io {

/// Writes a PyTorch file if the path ends in .pt or .pth (io::save_pt), otherwise a safetensors file (io::save_file).
/// Throws IoError for .npy and .npz, which io::save_npy and io::save_npz write.
void save_state(const StateDict& state, const std::string& path);
/// Reads a file of either format, which the contents tell: see io::load_pt and io::load_file. Also reads a checkpoint
/// in several files, by the path of its index or of the folder with the index: model.safetensors.index.json,
/// pytorch_model.bin.index.json. An IoError says what other files are.
StateDict load_state(const std::string& path);
/// The same with streams. Writes the safetensors format; reads all bytes up to the stream's end. Throws IoError if the
/// stream fails.
void save_state(const StateDict& state, std::ostream& stream);
StateDict load_state(std::istream& stream);

namespace detail {
void write_bytes(const std::function<void(std::ostream&)>& save,
                 const std::function<size_t(const void* data, size_t bytes)>& write);
}

/// A path or a stream.
template <class T>
concept FileOrOutput = std::convertible_to<T, const std::string&> || std::convertible_to<T, std::ostream&>;

}  // namespace io

/// Writes a tensor, a list of tensors or an object to a path or a std::ostream: what the object's save() writes to an
/// archive, or its state_dict() if it has no save(). A path that ends in .pt or .pth gets PyTorch's format, which
/// torch.load(path, weights_only=True) reads; .npy and .npz are refused, see io::save_npy and io::save_npz; other paths
/// and streams get the safetensors format. The keys of a module are PyTorch's, so model files can be exchanged between
/// Python and C++.
void save(const Tensor& tensor, const std::string& path);
void save(const Tensor& tensor, std::ostream& stream);
void save(const std::vector<Tensor>& tensors, const std::string& path);
void save(const std::vector<Tensor>& tensors, std::ostream& stream);
template <io::Stateful T, io::FileOrOutput Out>
void save(const T& object, Out&& out) {
  serialize::OutputArchive archive;
  archive << object;
  const OpScope op("save");  // not earlier: save() and state_dict() may be the user's
  const std::optional<StateDict> tensors = archive.tensors();
  tensors ? io::save_state(*tensors, out) : archive.save_to(out);
}
template <class M, io::FileOrOutput Out>
void save(const nn::ModuleHolder<M>& module, Out&& out) {
  save(*module, out);
}
template <io::Stateful T, io::FileOrOutput Out>
void save(const std::shared_ptr<T>& object, Out&& out) {
  save(*object, out);
}
/// Passes the bytes that a stream would get to a function, which returns how many it has written.
template <class T>
void save(const T& value, const std::function<size_t(const void* data, size_t bytes)>& write) {
  io::detail::write_bytes([&](std::ostream& stream) { save(value, stream); }, write);
}

/// Loads what save(), torch.save or libtorch's torch::save wrote; the contents tell the format. `from` is a path or a
/// std::istream, then the device if it is to be another one: `load(model, "model.pt", kCUDA)`; or the other arguments
/// of serialize::InputArchive::load_from. A Tensor variable is replaced by the tensor in the file, which is on the CPU
/// unless a device is given. An object keeps its tensors and copies the values into them, see its load_state_dict(); if
/// a device is given, a module is moved there. Throws IoError for a bad file and StateError for a file that does not
/// match the object; both leave the object unchanged.
template <class... From>
requires serialize::Input<From...>
void load(Tensor& tensor, From&&... from) {
  const OpScope op("load");
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  tensor = archive.tensor();
}
template <class... From>
requires serialize::Input<From...>
void load(std::vector<Tensor>& tensors, From&&... from) {
  const OpScope op("load");
  serialize::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  tensors = archive.tensors();
}
template <io::Stateful T, class... From>
requires serialize::Input<From...>
void load(T& object, From&&... from) {
  serialize::InputArchive archive;
  {
    const OpScope op("load");
    archive.load_from(std::forward<From>(from)...);
  }
  if constexpr (serialize::Overridable<T> || requires { object.load(archive); }) {
    archive.load_all(object);
  } else {
    object.load_state_dict(archive.state_dict());
  }
}
template <class M, class... From>
requires serialize::Input<From...>
void load(nn::ModuleHolder<M>& module, From&&... from) { load(*module, std::forward<From>(from)...); }
template <io::Stateful T, class... From>
requires serialize::Input<From...>
void load(std::shared_ptr<T>& object, From&&... from) { load(*object, std::forward<From>(from)...); }

}  // namespace tandem
#pragma GCC visibility pop
