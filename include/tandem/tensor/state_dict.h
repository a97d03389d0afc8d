#pragma once
// StateDict: the state of an object as tensors under names, and how objects write and read it.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/ordered_dict.h"
#include "tandem/tensor/tensor.h"

namespace tandem {

/// Tensors by name, such as "fc1.weight" or "param_groups.0.lr"; a number is a tensor of rank 0 (f64, i64 or bool), so
/// whatever has a state can be stored in a file of tensors. The tensors that `state_dict()` returns share memory with
/// the object, as in PyTorch: clone what must outlive its next change.
using StateDict = OrderedDict<std::string, Tensor>;

/// What takes over a checked state. Loading has two parts, so that several objects can be checked before any changes.
using StateCommit = std::function<void()>;

/// The keys by which a state and an object differ. Source: torch.nn.Module.load_state_dict.
struct IncompatibleKeys {
  std::vector<std::string> missing_keys;     ///< of the object, not in the state
  std::vector<std::string> unexpected_keys;  ///< in the state, not of the object
};

/// The entries of `state` below `prefix` and a dot, without them.
StateDict state_below(const StateDict& state, const std::string& prefix);
/// Adds the entries of `part` to `state`, with `prefix` and a dot in front.
void add_below(StateDict& state, const std::string& prefix, const StateDict& part);

/// Where an object names its fields, once for saving and for loading.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void number(const std::string& name, double& value) = 0;
  virtual void number(const std::string& name, int64_t& value) = 0;
  virtual void number(const std::string& name, bool& value) = 0;
  /// A number that may be absent.
  virtual void number(const std::string& name, std::optional<double>& value) = 0;
  /// A tensor. For loading, `value` has the sizes, dtype and device that are wanted, and memory of its own.
  virtual void tensor(const std::string& name, Tensor& value) = 0;
  /// A tensor that may be undefined; otherwise it has the form of `like`.
  virtual void optional_tensor(const std::string& name, Tensor& value, const Tensor& like) = 0;
};

/// Adds the fields that it visits to a state, their names behind `prefix`.
class StateWriter : public StateVisitor {
 public:
  explicit StateWriter(StateDict& state, std::string prefix = {}) : state_(state), prefix_(std::move(prefix)) {}
  void number(const std::string& name, double& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, bool& value) override;
  void number(const std::string& name, std::optional<double>& value) override;
  void tensor(const std::string& name, Tensor& value) override;
  void optional_tensor(const std::string& name, Tensor& value, const Tensor& like) override;

 private:
  StateDict& state_;
  std::string prefix_;
};

/// Sets the fields that it visits from a state, and gathers all that does not fit instead of throwing at the first
/// fault: visit objects that are not in use yet, then call finish().
class StateReader : public StateVisitor {
 public:
  /// `op` begins the message of finish().
  StateReader(std::string op, const StateDict& state) : op_(std::move(op)), state_(state) {}

  /// Fields visited from now on have this in front of their names.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  void number(const std::string& name, double& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, bool& value) override;
  void number(const std::string& name, std::optional<double>& value) override;
  void tensor(const std::string& name, Tensor& value) override;
  void optional_tensor(const std::string& name, Tensor& value, const Tensor& like) override;

  /// The tensor of that name when it is there and fits `like`: the same sizes, and the same dtype or two floating ones,
  /// between which copying converts. Null, and noted, otherwise.
  const Tensor* fitting(const std::string& name, const Tensor& like);
  /// The tensor of that name, or null, which is noted.
  const Tensor* find(const std::string& name);
  /// Whether a name is there; asking does not make it expected.
  bool contains(const std::string& name) const { return state_.contains(prefix_ + name); }
  /// Whether any name begins with `start`.
  bool contains_below(const std::string& start) const;
  /// Notes another fault.
  void add_fault(std::string fault) { faults_.push_back(std::move(fault)); }

  /// Names asked for and not there, and names there and not asked for.
  IncompatibleKeys incompatible_keys() const;
  /// Throws StateError that lists every fault and, when `strict`, all missing and unexpected keys.
  void finish(bool strict = true) const;

 private:
  template <class T>
  void read(const std::string& name, T& value);

  std::string op_, prefix_;
  const StateDict& state_;
  std::vector<std::string> missing_, faults_;
  OrderedDict<std::string, bool> asked_;
};

}  // namespace tandem
