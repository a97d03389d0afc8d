#pragma once
// StateDict: the state of an object as named tensors, and the visitors that write and read it.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/ordered_dict.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Tensors by name, such as "fc1.weight" or "param_groups.0.lr". A number is a tensor of rank 0 (f64, i64 or bool), so
/// every state can be stored in a file of tensors. The tensors that `state_dict()` returns share memory with the
/// object, as in PyTorch: clone tensors that must keep their values when the object changes.
using StateDict = OrderedDict<std::string, Tensor>;

/// Applies a state that has been checked. Loading has two parts, so that several objects can be checked before any of
/// them changes.
using StateCommit = std::function<void()>;

/// The keys in which a state and an object differ. Source: torch.nn.Module.load_state_dict.
struct IncompatibleKeys {
  std::vector<std::string> missing_keys;     ///< keys of the object that are not in the state
  std::vector<std::string> unexpected_keys;  ///< keys of the state that the object does not have
};

/// Returns the entries of `state` whose names begin with `prefix` and a dot, with these removed from the names.
StateDict state_below(const StateDict& state, const std::string& prefix);
/// Adds the entries of `part` to `state`, with `prefix` and a dot before their names.
void add_below(StateDict& state, const std::string& prefix, const StateDict& part);

/// Visitor of an object's fields. An object lists its fields once, for both saving and loading.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void number(const std::string& name, double& value) = 0;
  virtual void number(const std::string& name, int64_t& value) = 0;
  virtual void number(const std::string& name, bool& value) = 0;
  /// A number that may be absent.
  virtual void number(const std::string& name, std::optional<double>& value) = 0;
  /// A tensor. For loading, `value` must have the expected sizes, dtype and device, and its own memory.
  virtual void tensor(const std::string& name, Tensor& value) = 0;
  /// A count of steps. For loading, `value` is as for tensor(), and the number in the state must be finite and at least
  /// 0.
  virtual void count(const std::string& name, Tensor& value) { tensor(name, value); }
  /// A tensor that may be undefined; otherwise it has the sizes, dtype and device of `like`.
  virtual void optional_tensor(const std::string& name, Tensor& value, const Tensor& like) = 0;
  /// A tensor that may be kept in e4m3fn. It is then contiguous, and `scale` holds the inverse scales of its blocks of
  /// math::kStateBlock elements, in f32, saved under the name with "_scale" appended. Otherwise `scale` is undefined.
  /// For loading, both must be as for tensor(); the state may have another floating dtype.
  virtual void scaled_tensor(const std::string& name, Tensor& value, Tensor& scale) = 0;
};

/// Adds the visited fields to a state, with `prefix` before their names.
class StateWriter : public StateVisitor {
 public:
  explicit StateWriter(StateDict& state, std::string prefix = {}) : state_(state), prefix_(std::move(prefix)) {}
  void number(const std::string& name, double& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, bool& value) override;
  void number(const std::string& name, std::optional<double>& value) override;
  void tensor(const std::string& name, Tensor& value) override;
  void optional_tensor(const std::string& name, Tensor& value, const Tensor& like) override;
  void scaled_tensor(const std::string& name, Tensor& value, Tensor& scale) override;

 private:
  StateDict& state_;
  std::string prefix_;
};

/// Sets the visited fields from a state. Collects all mismatches instead of throwing at the first one: visit objects
/// that are not in use yet, then call finish().
class StateReader : public StateVisitor {
 public:
  explicit StateReader(const StateDict& state) : state_(state) {}

  /// Sets the prefix of the names of fields visited from now on.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  void number(const std::string& name, double& value) override;
  void number(const std::string& name, int64_t& value) override;
  void number(const std::string& name, bool& value) override;
  void number(const std::string& name, std::optional<double>& value) override;
  void tensor(const std::string& name, Tensor& value) override;
  void count(const std::string& name, Tensor& value) override;
  void optional_tensor(const std::string& name, Tensor& value, const Tensor& like) override;
  void scaled_tensor(const std::string& name, Tensor& value, Tensor& scale) override;

  /// Returns the tensor with this name if it exists and fits `like`: the sizes are equal, and the dtypes are equal or
  /// both floating (copying then converts). Otherwise returns null and records the mismatch.
  const Tensor* fitting(const std::string& name, const Tensor& like);
  /// Returns the tensor with this name. If there is none, returns null and records the missing key.
  const Tensor* find(const std::string& name);
  /// Returns whether the state has this name. Does not count as a use of the name.
  bool contains(const std::string& name) const { return state_.contains(prefix_ + name); }
  /// Returns whether any name in the state begins with `start`.
  bool contains_below(const std::string& start) const;
  /// Returns the tensor with this name, or null; a state without it is complete.
  const Tensor* find_if_present(const std::string& name) { return contains(name) ? find(name) : nullptr; }
  /// Records another mismatch.
  void add_fault(std::string fault) { faults_.push_back(std::move(fault)); }

  /// Returns the names that were asked for but are not in the state, and those in the state that were not asked for.
  IncompatibleKeys incompatible_keys() const;
  /// Throws StateError if there are mismatches or, when `strict`, missing or unexpected keys. The message lists them
  /// all.
  void finish(bool strict = true) const;

 private:
  template <class T>
  void read(const std::string& name, T& value);

  std::string prefix_;
  const StateDict& state_;
  std::vector<std::string> missing_, faults_;
  OrderedDict<std::string, bool> asked_;
};

}  // namespace tandem
#pragma GCC visibility pop
