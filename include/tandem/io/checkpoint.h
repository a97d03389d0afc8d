#pragma once
// Checkpoint: saves the complete state of a training run to one file and loads it.
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/amp/grad_scaler.h"
#include "tandem/io/safetensors.h"
#include "tandem/nn/module_holder.h"
#include "tandem/tensor/generator.h"
#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem::io {

/// A type with a state: modules, optimizers, schedulers, data loaders, samplers and user-defined types. A type that can
/// check a state before loading it should also have `StateCommit prepare_load_state_dict(state)`. Without it, a
/// Checkpoint cannot check the part in advance, and an error in its load_state_dict() leaves other parts already
/// loaded.
template <class T>
concept Stateful = requires(T& object, const StateDict& state) {
  { std::as_const(object).state_dict() } -> std::same_as<StateDict>;
  object.load_state_dict(state);
};

/// The named parts of a run. The Checkpoint holds references: the parts must outlive it.
///
///   int64_t epoch = 0;
///   io::Checkpoint run;
///   run.add("model", model).add("optimizer", sgd).add("scheduler", schedule).add("scaler", scaler)
///       .add("rng", default_generator()).add("loader", *loader).add("epoch", epoch);
///   if (std::filesystem::exists(path)) run.load(path);
///   for (; epoch < 10; ++epoch) {
///     for (auto& batch : *loader) { ...; run.save(path); }
///   }
///
/// If a run is saved between two iterations and loaded by a new process that builds the same objects, it continues bit
/// for bit as if it had not stopped. The file is a safetensors file, or a PyTorch file if the path ends in .pt or .pth,
/// with keys such as "model.fc1.weight" and "optimizer.param_groups.0.lr". Gradients and cached low-precision casts of
/// weights are not saved; each weight is saved in its own dtype. A file saved on one device can be loaded on another.
class Checkpoint {
 public:
  /// Adds a part. All overloads throw StateError for a name that is empty, already used or contains a dot.
  template <Stateful T>
  Checkpoint& add(std::string name, T& object) {
    return add_part({std::move(name), [&object] { return std::as_const(object).state_dict(); },
                     [&object](const StateDict& state) -> StateCommit {
                       if constexpr (requires { StateCommit(object.prepare_load_state_dict(state)); }) {
                         return object.prepare_load_state_dict(state);
                       } else {
                         return [&object, state] { object.load_state_dict(state); };
                       }
                     }});
  }
  template <class M>
  Checkpoint& add(std::string name, nn::ModuleHolder<M>& module) {
    return add(std::move(name), *module);
  }
  template <Stateful T>
  Checkpoint& add(std::string name, const std::shared_ptr<T>& object) {
    return add(std::move(name), *object);
  }
  template <Stateful T>
  Checkpoint& add(std::string name, const std::unique_ptr<T>& object) {
    return add(std::move(name), *object);
  }
  /// Adds a scaler. A file without its state leaves the scaler unchanged, so a run without AMP, or with a disabled
  /// scaler, can continue with AMP. A disabled scaler saves nothing and ignores the state in the file, so a run with
  /// AMP can continue without.
  Checkpoint& add(std::string name, amp::GradScaler& scaler);
  /// Adds the seed and position of a random number generator: `add("rng", default_generator())`.
  Checkpoint& add(std::string name, const Generator& generator);
  /// Adds a tensor, which is loaded in place. Throws StateError if it is undefined.
  Checkpoint& add(std::string name, Tensor& tensor);
  /// Adds a variable of the program, such as an epoch counter, a best accuracy or a flag.
  Checkpoint& add(std::string name, double& number);
  Checkpoint& add(std::string name, bool& number);
  template <std::integral T>
  Checkpoint& add(std::string name, T& number) {
    // Numbers beyond i64's range are kept as the i64 with the same bits.
    constexpr bool exceeds_i64 = std::is_unsigned_v<T> && sizeof(T) == sizeof(int64_t);
    return add_integer(
        std::move(name), [&number] { return static_cast<int64_t>(number); },
        [&number](int64_t value) { number = static_cast<T>(value); },
        [](int64_t value) { return exceeds_i64 || std::in_range<T>(value); });
  }

  /// Writes all parts to a file, see io::save_file. Throws IoError, also for metadata in a PyTorch file, and for names
  /// that end in .npy or .npz.
  void save(const std::string& path, const Metadata& metadata = {}) const;
  /// Loads all parts. Checks everything before it changes anything: throws IoError for a bad file, and a StateError
  /// that lists the mismatches of all parts. Parts of the file that this Checkpoint does not have are ignored, so a
  /// program can load only the model. Returns the names of those parts (unexpected_keys) and of scalers that the file
  /// does not have (missing_keys).
  IncompatibleKeys load(const std::string& path);

  /// Like save() and load(), but in memory. The returned tensors share memory with the parts.
  StateDict state_dict() const;
  IncompatibleKeys load_state_dict(const StateDict& state);

 private:
  struct Part {
    std::string name;
    std::function<StateDict()> save;  ///< an entry with the key "" is saved under the part's name alone
    std::function<StateCommit(const StateDict&)> prepare;
    bool optional = false;
  };
  Checkpoint& add_part(Part part);
  Checkpoint& add_integer(std::string name, std::function<int64_t()> get, std::function<void(int64_t)> set,
                          std::function<bool(int64_t)> in_range);
  /// `where` begins the messages: the path and ": ", or nothing.
  IncompatibleKeys load_parts(const StateDict& state, const std::string& where);

  std::vector<Part> parts_;
};

}  // namespace tandem::io
#pragma GCC visibility pop
