#pragma once
// What the tables of random calls (random_*_ops.cpp) share. To have another op called, add a line to one of the tables
// and a line under the same name to the Python file of the same family (differential_*.py).
//
// Names are those of the functions; "name.form" is another form of the function `name`.
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "support/callable.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;

/// The arguments of a call by name.
class Args {
 public:
  virtual ~Args() = default;
  virtual int64_t i(const char* name) const = 0;
  virtual bool flag(const char* name) const = 0;
  virtual double real(const char* name) const = 0;
  virtual Scalar n(const char* name) const = 0;
  virtual std::string text(const char* name) const = 0;
  virtual std::vector<int64_t> list(const char* name) const = 0;
  virtual std::optional<DType> dtype() const = 0;
  virtual LossReduction reduction() const = 0;

  std::optional<int64_t> maybe_i(const char* name) const { return null(name) ? std::optional<int64_t>() : i(name); }
  std::optional<double> maybe_real(const char* name) const { return null(name) ? std::optional<double>() : real(name); }
  std::optional<Scalar> maybe_n(const char* name) const { return null(name) ? std::optional<Scalar>() : n(name); }
  std::optional<std::string> maybe_text(const char* name) const {
    return null(name) ? std::optional<std::string>() : text(name);
  }

 private:
  /// True if the argument has no value.
  virtual bool null(const char* name) const = 0;
};

using Run = Callable<Out(In, const Args&)>;
using Ops = std::map<std::string, Run>;

// Each adds the ops of one family.
void add_elementwise_ops(Ops& ops);
void add_in_place_ops(Ops& ops);
void add_geometry_ops(Ops& ops);
void add_indexing_ops(Ops& ops);
void add_everyday_ops(Ops& ops);
void add_product_ops(Ops& ops);
void add_layer_ops(Ops& ops);
void add_loss_ops(Ops& ops);
void add_convolution_ops(Ops& ops);
void add_sampling_ops(Ops& ops);
void add_recurrence_ops(Ops& ops);

/// The ops of all families.
const Ops& random_call_ops();

// ---- for the tables
inline Out results(Tensor y) { return {std::move(y)}; }
inline Out results(Out ys) { return ys; }
template <class... T>
Out results(std::tuple<T...> ys) {
  return std::apply([](auto&... y) { return Out{y...}; }, ys);
}

/// Input `i` if the call has it, or an undefined tensor.
inline Tensor maybe(In x, size_t i) { return i < x.size() ? x[i] : Tensor(); }

/// The indices of index and index_put: the inputs from `first` on choose in the dimensions `at`.
inline std::vector<std::optional<Tensor>> indices(In x, size_t first, const std::vector<int64_t>& at) {
  std::vector<std::optional<Tensor>> list(static_cast<size_t>(at.back() + 1));
  for (size_t i = 0; i < at.size(); ++i) list[static_cast<size_t>(at[i])] = x[first + i];
  return list;
}

/// A copy to write in place, because a leaf that requires grad must not be written.
inline Tensor written(const Tensor& x) { return x.requires_grad() ? x.clone() : x; }

}  // namespace tandem::testing

// A line of a table: a name, and an expression of the inputs x and the arguments a.
#define TANDEM_OP(NAME, ...) \
  ops[NAME] = []([[maybe_unused]] In x, [[maybe_unused]] const Args& a) -> Out { return results(__VA_ARGS__); }
