#pragma once
// Archives: named values, nested or not, that programs for libtorch write to a file and read from it piece by piece.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/io/checkpoint.h"
#include "tandem/nn/module.h"
#include "tandem/optim/optimizer.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem {

class GenericDict;
class IValue;

namespace serialize {

class InputArchive;

/// Classes whose save() and load() a program can override.
template <class T>
concept Overridable = std::derived_from<T, nn::Module> || std::derived_from<T, optim::Optimizer>;

/// Values by name, to be written to a file:
///
///   serialize::OutputArchive archive, nested;
///   model->save(nested);
///   archive.write("model", nested);
///   archive.write("steps", torch::tensor(7));
///   archive.save_to("agent.pt");
///
/// The value "weight" of a nested archive "model" becomes the entry "model.weight", so the file of a module's archive
/// is that of its state_dict().
class OutputArchive {
 public:
  OutputArchive();
  OutputArchive(OutputArchive&&) = default;
  OutputArchive& operator=(OutputArchive&&) = default;

  /// Adds a value, or replaces the one with this name. io/ivalue.h has IValue.
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  /// Adds the values that `nested` has now.
  void write(const std::string& key, const OutputArchive& nested);
  /// Adds the entries of a state.
  void write(const StateDict& state);
  /// Same as write(), for code that is shared with InputArchive.
  template <class... Args>
  void operator()(Args&&... args) {
    write(std::forward<Args>(args)...);
  }

  /// Writes the values to a file as save() does (io/serialize.h), or to a stream or a function as PyTorch's format.
  /// Files with other names than .pt and .pth get PyTorch's format, too, if a value is not a tensor. Throws IoError.
  void save_to(const std::string& path) const;
  void save_to(std::ostream& stream) const;
  void save_to(const std::function<size_t(const void* data, size_t bytes)>& write) const;

  /// Returns the values as a state, or nothing if one of them is not a tensor.
  std::optional<StateDict> tensors() const;

 private:
  friend class InputArchive;
  friend class nn::Module;
  friend class optim::Optimizer;

  /// In a probe: save() of a base class was called, which would write a state if `is_state`.
  void note_state(bool is_state);

  std::shared_ptr<GenericDict> values_;
  bool is_state_ = false;  // whether the values are the entries of one state
  bool is_probe_ = false;  // whether only is_state_ is wanted
};

/// Reads archives, and all other files that load() reads:
///
///   serialize::InputArchive archive, nested;
///   archive.load_from("agent.pt");
///   archive.read("model", nested);
///   model->load(nested);
class InputArchive {
 public:
  InputArchive();
  InputArchive(InputArchive&&) = default;
  InputArchive& operator=(InputArchive&&) = default;

  /// Read from a path, a stream up to its end, memory, or a function that copies `bytes` bytes from a position on.
  /// Tensors are moved to `device`, and so are modules that are loaded; by default, tensors are on the CPU and modules
  /// stay where they are. Throw IoError for a bad file, DeviceError if there is no such device.
  void load_from(const std::string& path, std::optional<Device> device = {});
  void load_from(std::istream& stream, std::optional<Device> device = {});
  void load_from(const char* data, size_t bytes, std::optional<Device> device = {});
  void load_from(const std::function<size_t(uint64_t position, void* to, size_t bytes)>& read,
                 const std::function<size_t()>& size, std::optional<Device> device = {});

  /// Returns whether there is a value, a tensor or a nested archive with this name, and sets the second argument to
  /// it. A defined tensor keeps its identity (set_data). Names of nested values are joined by dots.
  bool try_read(const std::string& key, IValue& value) const;
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  bool try_read(const std::string& key, InputArchive& nested) const;
  /// Same as try_read(). Throw StateError if there is none.
  void read(const std::string& key, IValue& value) const;
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false) const;
  void read(const std::string& key, InputArchive& nested) const;
  template <class... Args>
  void operator()(Args&&... args) const {
    read(std::forward<Args>(args)...);
  }
  /// The names of the values and of the nested archives.
  std::vector<std::string> keys() const;

  /// Returns the tensors and numbers by name (io::to_state_dict).
  StateDict state_dict() const;
  /// Return the tensors, or the only one, of a file of tensors that are named "0", "1", ... Throw StateError for
  /// others.
  std::vector<Tensor> tensors() const;
  Tensor tensor() const;
  /// Loads the part of the archive whose names begin as those of the object's state do, up to the first dot, or with
  /// one of `others`.
  template <io::Stateful T>
  void load_into(T& object, std::initializer_list<std::string> others = {}) const {
    object.load_state_dict(is_whole_ ? state_dict() : part_of(object.state_dict(), others));
    move(object);
  }
  /// Calls load() of an object to which all of the archive belongs: entries that it does not know are errors, unless
  /// its save() writes more than its state_dict().
  template <class T>
  void load_all(T& object) {
    is_whole_ = saves_state(object);
    *this >> object;
    is_whole_ = false;
  }
  /// Moves a module to the device given to load_from().
  template <class T>
  void move(T& object) const {
    if constexpr (requires { object.to(*device_); }) {
      if (device_) object.to(*device_);
    }
  }

 private:
  friend class nn::Module;

  /// Whether save() writes the state_dict() and nothing else. An Error means that the program's own save() has thrown.
  template <class T>
  static bool saves_state(const T& object) {
    OutputArchive archive;
    archive.is_probe_ = true;
    try {
      archive << object;
    } catch (const Error&) {
    }
    return archive.is_state_;
  }
  StateDict part_of(const StateDict& state, std::initializer_list<std::string> others) const;
  [[noreturn]] void throw_missing(const char* what, const std::string& key) const;
  void set(IValue value, std::string where, std::optional<Device> device);

  std::shared_ptr<const IValue> value_;  // a dictionary or object
  std::string where_;                    // in messages
  std::optional<Device> device_;
  bool is_whole_ = false;   // whether all entries belong to the object that is loaded
  bool is_loaded_ = false;  // whether the module that is loaded has its values already
};

/// The arguments of InputArchive::load_from.
template <class... From>
concept Input = requires(InputArchive& archive, From&&... from) {
  archive.load_from(std::forward<From>(from)...);
};

/// `archive << x` writes a tensor, module or optimizer, and `archive >> x` reads it.
inline OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) {
  archive.write("0", tensor);
  return archive;
}
inline InputArchive& operator>>(InputArchive& archive, Tensor& tensor) {
  archive.read("0", tensor);
  return archive;
}
template <io::Stateful T>
OutputArchive& operator<<(OutputArchive& archive, const T& object) {
  if constexpr (requires { object.save(archive); }) {
    object.save(archive);
  } else {
    archive.write(object.state_dict());
  }
  return archive;
}
template <io::Stateful T>
InputArchive& operator>>(InputArchive& archive, T& object) {
  if constexpr (requires { object.load(archive); }) {
    object.load(archive);
  } else {
    archive.load_into(object);
  }
  return archive;
}
template <io::Stateful T>
OutputArchive& operator<<(OutputArchive& archive, const std::shared_ptr<T>& object) {
  return archive << *object;
}
template <io::Stateful T>
InputArchive& operator>>(InputArchive& archive, const std::shared_ptr<T>& object) {
  return archive >> *object;
}
template <class M>
OutputArchive& operator<<(OutputArchive& archive, const nn::ModuleHolder<M>& module) {
  return archive << *module;
}
template <class M>
InputArchive& operator>>(InputArchive& archive, const nn::ModuleHolder<M>& module) {
  return archive >> *module;
}

}  // namespace serialize
}  // namespace tandem
#pragma GCC visibility pop
