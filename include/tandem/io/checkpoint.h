#pragma once
// Checkpoint: everything that a training run must keep, saved to one file and loaded from it.
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

namespace tandem::io {

/// What has a state: modules, optimizers, schedulers, data loaders, samplers, and types of one's own. One that can
/// check a state before it takes it over has `StateCommit prepare_load_state_dict(state)` too; without it a Checkpoint
/// can only load it and hope.
template <class T>
concept Stateful = requires(T& object, const StateDict& state) {
  { std::as_const(object).state_dict() } -> std::same_as<StateDict>;
  object.load_state_dict(state);
};

/// The parts of a run, by name. It refers to them: they must outlive it.
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
/// Saved between two iterations and loaded into a new process that builds the same objects, the run goes on bit for bit
/// as if it had not stopped. The file is a safetensors file with keys such as "model.fc1.weight" and
/// "optimizer.param_groups.0.lr". Gradients and low-precision copies of weights are not part of it: weights are stored
/// as they are trained. A file from one device loads on another.
class Checkpoint {
 public:
  /// These throw StateError for a name that is empty, taken or has a dot.
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
  /// A scaler may be absent from what is loaded, and then stays as it is: a run without AMP, or with a disabled scaler,
  /// goes on with AMP. A disabled scaler saves nothing and takes any state: a run with AMP goes on without.
  Checkpoint& add(std::string name, amp::GradScaler& scaler);
  /// Seed and position of a stream of random numbers: `add("rng", default_generator())`.
  Checkpoint& add(std::string name, const Generator& generator);
  /// A tensor, loaded in place; undefined ones are refused.
  Checkpoint& add(std::string name, Tensor& tensor);
  /// Numbers of the program's own: epochs, best accuracy, flags.
  Checkpoint& add(std::string name, double& number);
  Checkpoint& add(std::string name, bool& number);
  template <std::integral T>
  Checkpoint& add(std::string name, T& number) {
    return add_integer(
        std::move(name), [&number] { return static_cast<int64_t>(number); },
        [&number](int64_t value) { number = static_cast<T>(value); },
        [](int64_t value) { return std::in_range<T>(value); });
  }

  /// Writes all parts as io::save_file does. Throws IoError.
  void save(const std::string& path, const Metadata& metadata = {}) const;
  /// Loads all parts. Everything is checked before anything changes: throws IoError for a bad file, and StateError that
  /// lists what does not fit in any part. Parts of the file that this run does not have are left alone, so that a
  /// program can take just the model; returned are the names of those (unexpected_keys) and of scalers that the file
  /// does not have (missing_keys).
  IncompatibleKeys load(const std::string& path);

  /// The same in memory. The tensors share memory with the run.
  StateDict state_dict() const;
  IncompatibleKeys load_state_dict(const StateDict& state) { return load_as("load_state_dict", state); }

 private:
  struct Part {
    std::string name;
    std::function<StateDict()> save;  ///< the key "" is the part's own name
    std::function<StateCommit(const StateDict&)> prepare;
    bool optional = false;
  };
  Checkpoint& add_part(Part part);
  Checkpoint& add_integer(std::string name, std::function<int64_t()> get, std::function<void(int64_t)> set,
                          std::function<bool(int64_t)> in_range);
  IncompatibleKeys load_as(const std::string& op, const StateDict& state);

  std::vector<Part> parts_;
};

}  // namespace tandem::io
